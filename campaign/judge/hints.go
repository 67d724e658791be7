package judge

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/history"
	"lockpick/watch"
)

// The title of a list of hints, and what hints are worth.
const (
	HintsTitle = "Rules that the lock's commands break"
	HintsMean  = "Hints, from the rules of lockpick watch: they may explain a violation, and no verdict rests on them."
)

// Hint is a rule of lockpick watch that the lock's commands broke. It may explain a violation, and proves none.
type Hint struct {
	watch.Rule
	Count    int    `json:"count"`
	Evidence string `json:"evidence"` // the commands of the first time
}

// String words a hint for people.
// Label returns the severity of the broken rule in capitals.
func (h Hint) Label() string { return strings.ToUpper(string(h.Severity)) }

func (h Hint) String() string {
	return fmt.Sprintf("%s: %s (seen %s: %s.) Instead: %s", h.ID, h.What, times(h.Count), h.Evidence, h.Fix)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times, first", n)
}

// hints returns the broken rules that a history records.
func hints(ops []history.Op) (all []Hint) {
	for i := range ops {
		op := &ops[i]
		if op.F != history.FRule || op.Value == nil {
			continue
		}
		if rule, known := watch.RuleByID(op.Value.Command); known {
			all = append(all, Hint{Rule: rule, Count: int(op.Value.Value), Evidence: op.Value.Evidence})
		}
	}
	return all
}

// AddHints adds hints of another run of the same lock to some, in the order of the rules.
func AddHints(to, more []Hint) []Hint {
	for _, h := range more {
		i := slices.IndexFunc(to, func(x Hint) bool { return x.ID == h.ID })
		if i < 0 {
			to = append(to, h)
			continue
		}
		to[i].Count += h.Count
	}
	order := func(id string) int {
		return slices.IndexFunc(watch.Rules, func(r watch.Rule) bool { return r.ID == id })
	}
	slices.SortStableFunc(to, func(a, b Hint) int { return order(a.ID) - order(b.ID) })
	return to
}

// Explaining returns the hints that may explain why properties of a level are violated.
func Explaining(all []Hint, level string) []Hint {
	return slices.DeleteFunc(slices.Clone(all), func(h Hint) bool { return !slices.Contains(h.Explains, level) })
}
