package checker

import (
	"time"

	"lockpick/history"
)

// healing is the end of all faults. From then on a free lock must be granted within a
// bound; before it, DF and AV promise nothing.
type healing struct {
	at, bound time.Duration
	index     int
	gone      []string // masters that did not come back
	problem   string   // why nothing can be judged after it
}

// healed finds the last healing of a history.
func (r *run) healed() healing {
	for i := len(r.h.Ops) - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F != history.FHealed {
			continue
		}
		h := healing{at: op.Time, index: op.Index}
		if op.Value != nil {
			h.bound, h.gone = op.Value.Bound, op.Value.Masters
		}
		switch {
		case op.Error != "":
			h.problem = "the faults did not heal: " + op.Error
		case op.Type == history.Fail:
			h.problem = "the faults did not heal"
		case h.bound <= 0:
			h.problem = "the history names no bound within which a free lock must be granted"
		}
		return h
	}
	return healing{problem: "the run ended before its faults had healed, so nothing was acquired after them"}
}
