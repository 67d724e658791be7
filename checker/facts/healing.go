package facts

import (
	"time"

	"lockpick/history"
)

// Healing is the end of all faults. From then on a free lock must be granted within a
// bound; before it, DF and AV promise nothing.
type Healing struct {
	At, Bound time.Duration
	Line      int
	Gone      []string // masters that did not come back
	Problem   string   // why nothing can be judged after it
}

// Healed finds the last healing of a history.
func (r *Run) Healed() Healing {
	for i := len(r.History.Ops) - 1; i >= 0; i-- {
		op := &r.History.Ops[i]
		if op.F != history.FHealed {
			continue
		}
		h := Healing{At: op.Time, Line: op.Index}
		if op.Value != nil {
			h.Bound, h.Gone = op.Value.Bound, op.Value.Masters
		}
		switch {
		case op.Error != "":
			h.Problem = "the faults did not heal: " + op.Error
		case op.Type == history.Fail:
			h.Problem = "the faults did not heal"
		case h.Bound <= 0:
			h.Problem = "the history names no bound within which a free lock must be granted"
		}
		return h
	}
	return Healing{Problem: "the run ended before its faults had healed, so nothing was acquired after them"}
}
