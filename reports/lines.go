package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lockpick/history"
)

// The page contains the lines of the history around those that prove violations, so that readers
// without the history have the evidence. Lines of the violation that the page explains go first.
const (
	linesAround = 10   // lines before and after each line
	maxLines    = 1500 // limit for a page, about 300 kB
)

// packedLines are lines of the history as they were recorded.
type packedLines struct {
	Run   string   `json:"run"` // name of the run, for the command that prints other lines
	Index []int    `json:"index"`
	Text  []string `json:"text"`
}

// linesOf chooses the lines around the violations, in the order of the history.
func linesOf(h *history.History, run string, violations []listed) (packedLines, error) {
	first := slices.Clone(violations)
	slices.SortStableFunc(first, func(a, b listed) int {
		rank := map[bool]int{true: 0, false: 1}
		return cmp.Compare(rank[a.First], rank[b.First])
	})
	chosen := map[int]bool{}
	for _, v := range first {
		for _, index := range v.Ops {
			from, _ := h.At(index - linesAround)
			to, _ := h.At(index + linesAround + 1)
			if index < 0 || len(chosen)+to-from > maxLines {
				continue
			}
			for i := from; i < to; i++ {
				chosen[i] = true
			}
		}
	}
	p := packedLines{Run: run, Index: []int{}, Text: []string{}}
	for _, i := range slices.Sorted(maps.Keys(chosen)) {
		op := &h.Ops[i]
		b, err := json.Marshal(op)
		if err != nil {
			return p, fmt.Errorf("line %d of the history: %w", op.Index, err)
		}
		p.Index = append(p.Index, op.Index)
		p.Text = append(p.Text, string(b))
	}
	return p, nil
}
