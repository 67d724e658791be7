package checker

import (
	"fmt"
	"strings"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

var Returns = Property{
	Name: "returns", Level: "AV", Says: "every call of the lock returns within its deadline and a bound",
	rules: &rules{judge: (*run).returns},
}

// returns judges one part of AV: every call of the lock returns within its deadline plus a
// bound. The harness records each call that does not, with the stack of the stuck goroutine.
func (r *run) returns() *judgement {
	return r.callsThat(history.FHung, "did not return", "all %s returned", r.unserved)
}

// unserved reports whether the servers of a service may not have served a client at some time during a call that did not return.
// Clients of masters that do not know each other have a timeout for each.
func (r *run) unserved(op *history.Op) bool {
	return r.History.Header.Service != "" && op.Value != nil && r.ReachOf(op.Process).Weakened(op.Time-op.Value.Took, op.Time)
}

// callsThat judges the calls of the lock: each line with the operation wrong, such as FHung, is a
// violation unless it is excused. did says what such a call did, otherwise what all calls did if there is none.
func (r *run) callsThat(wrong, did, otherwise string, excused func(*history.Op) bool) *judgement {
	var calls []time.Duration
	var found []proven
	for i, op := range r.History.All() {
		if !r.InWindow(op.Time) {
			continue
		}
		switch {
		case op.Type == history.Invoke && (op.F == history.FAcquire || op.F == history.FExtend || op.F == history.FRelease):
			calls = append(calls, op.Time)
		case op.F == wrong:
			op := r.History.OpAt(i)
			if excused(op) {
				continue
			}
			v := narrative.Violation{Key: op.Key, At: op.Time, Until: op.Time, Ops: []int{op.Index}, Clients: []string{op.Process}}
			if op.Value != nil && op.Value.Token != "" {
				v.Tokens = []string{op.Value.Token}
			}
			found = append(found, proven{v, func(n *narrative.Narrative) { r.explainCall(n, op) }})
		}
	}
	if len(calls)+len(found) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(calls)}, violations: found,
		evidence: r.need("calls of the lock", calls, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			on := ""
			if first.Key != "" { // else it was not a call for a key: the lock was made, or closed
				on = " on " + first.Key
			}
			return fmt.Sprintf("%s %s: the first at %s%s", narrative.Share(t.found, t.checked, "calls"), did, narrative.At(first.At), on)
		},
		holds: allOf(otherwise, "call", "calls"),
	}
}

// explainCall explains that a call of the lock did not return, or panicked.
func (r *run) explainCall(n *narrative.Narrative, op *history.Op) {
	v := n.Violation
	call, stack, took := "a call", "", ""
	if op.Value != nil {
		if op.Value.Command != "" {
			call = "a call of " + op.Value.Command
		}
		if op.Value.Took > 0 {
			took = " for " + narrative.At(op.Value.Took)
		}
		stack = strings.Join(strings.Fields(op.Value.Evidence), " ")
	}
	subject := op.Process
	if op.Key != "" {
		subject += " on " + op.Key
	}
	e := narrative.Event{At: op.Time, Kind: narrative.EventRefused, Client: op.Process, Key: op.Key, Ops: []int{op.Index}}
	if op.Value != nil {
		e.Command = op.Value.Command
	}
	if op.F == history.FPanicked {
		v.Summary = fmt.Sprintf("%s of %s panicked at %s: %s", call, subject, narrative.At(op.Time), op.Error)
		e.Word, e.Text = "panicked", fmt.Sprintf("%s of %s panicked: %s", call, op.Process, op.Error)
	} else {
		v.Summary = fmt.Sprintf("%s of %s had not returned%s at %s", call, subject, took, narrative.At(op.Time))
		e.Word, e.Text = "hung", fmt.Sprintf("%s of %s had not returned%s, and nothing had cancelled it but its own deadline", call, op.Process, took)
	}
	n.Add(e)
	if stack != "" {
		n.Note(op.Time, "its stack was: "+stack)
	}
	n.Violated(v.Summary)
}
