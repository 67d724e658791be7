package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// returns judges one part of AV: every call of the lock returns within its deadline plus a
// bound. The harness records each call that does not, with the stack of the stuck goroutine.
func (r *run) returns() *judgement {
	return r.callsThat(history.FHung, "did not return", "all %s returned")
}

// noCrash judges one part of AV: no call of the lock panics.
func (r *run) noCrash() *judgement {
	return r.callsThat(history.FPanicked, "panicked", "none of %s panicked")
}

// callsThat judges the calls of the lock: each line with the operation wrong, such as FHung, is a
// violation. did says what such a call did, otherwise what all calls did if there is none.
func (r *run) callsThat(wrong, did, otherwise string) *judgement {
	var calls []time.Duration
	var found []Violation
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if !r.counts(op.Time) {
			continue
		}
		switch {
		case op.Type == history.Invoke && (op.F == history.FAcquire || op.F == history.FExtend || op.F == history.FRelease):
			calls = append(calls, op.Time)
		case op.F == wrong:
			v := Violation{Key: op.Key, At: op.Time, Until: op.Time, Ops: []int{op.Index}, Clients: []string{op.Process}}
			if op.Value != nil && op.Value.Token != "" {
				v.Tokens = []string{op.Value.Token}
			}
			found = append(found, v)
		}
	}
	if len(calls)+len(found) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(calls)}, violations: found,
		evidence: r.need("calls of the lock", calls, moreWork),
		explain:  func(v *Violation) { r.explainCall(v, r.h.Op(v.Ops[0])) },
		violated: func(t tally, first *Violation) string {
			on := ""
			if first.Key != "" { // else it was no call for a key: the lock was made, or closed
				on = " on " + first.Key
			}
			return fmt.Sprintf("%s %s: the first at %s%s", share(t.found, t.checked, "calls"), did, at(first.At), on)
		},
		holds: func(t tally) string { return fmt.Sprintf(otherwise, count(t.checked, "call", "calls")) },
	}
}
