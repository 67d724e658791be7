package checker

import (
	"fmt"
	"strings"

	"lockpick/history"
)

// explainCall explains that a call of the lock did not return, or panicked.
func (r *run) explainCall(v *Violation, op *history.Op) {
	call, stack, took := "a call", "", ""
	if op.Value != nil {
		if op.Value.Command != "" {
			call = "a call of " + op.Value.Command
		}
		if op.Value.Took > 0 {
			took = " for " + at(op.Value.Took)
		}
		stack = strings.Join(strings.Fields(op.Value.Evidence), " ")
	}
	of := op.Process
	if op.Key != "" {
		of += " on " + op.Key
	}
	n := r.narrate(v)
	e := Event{At: op.Time, Kind: EventRefused, Client: op.Process, Key: op.Key, Ops: []int{op.Index}}
	if op.Value != nil {
		e.Command = op.Value.Command
	}
	if op.F == history.FPanicked {
		v.Summary = fmt.Sprintf("%s of %s panicked at %s: %s", call, of, at(op.Time), op.Error)
		e.Word, e.Text = "panicked", fmt.Sprintf("%s of %s panicked: %s", call, op.Process, op.Error)
	} else {
		v.Summary = fmt.Sprintf("%s of %s had not returned%s at %s", call, of, took, at(op.Time))
		e.Word, e.Text = "hung", fmt.Sprintf("%s of %s had not returned%s, and nothing had cancelled it but its own deadline", call, op.Process, took)
	}
	n.add(e)
	if stack != "" {
		n.note(op.Time, "its stack was: "+stack)
	}
	n.violated(v.Summary)
}
