package narrative

import (
	"encoding/json"
	"time"
)

// Violation is one proof that a property does not hold.
type Violation struct {
	Property string        `json:"property,omitempty"` // the property's name; empty in older results
	Level    string        `json:"level"`
	Key      string        `json:"key"`
	At       time.Duration `json:"at"`      // ns: when it began
	Until    time.Duration `json:"until"`   // ns: when it ended; equals At if it has no duration
	Ops      []int         `json:"ops"`     // indices of the operations that prove it
	Tokens   []string      `json:"tokens"`  // the tokens of the leases involved, the earlier one first
	Clients  []string      `json:"clients"` // the clients with these tokens, in the same order
	Faults   []int         `json:"faults"`  // ids of the faults that explain it
	Summary  string        `json:"summary"` // one sentence
	Reason   []string      `json:"reason"`  // the result of Steps when the violation was found
	Events   []Event       `json:"events,omitempty"`
}

// Steps returns the violation's reason: one sentence for each event that is no detail, in order of
// time. Violations in older results have no events, only the sentences.
func (v *Violation) Steps() []string {
	if len(v.Events) == 0 {
		return v.Reason
	}
	var steps []string
	for i := range v.Events {
		if e := &v.Events[i]; !e.Detail {
			steps = append(steps, e.timed())
		}
	}
	return steps
}

// MarshalJSON encodes the violation with the reason made from its events.
func (v Violation) MarshalJSON() ([]byte, error) {
	type plain Violation
	p := plain(v)
	p.Reason = v.Steps()
	return json.Marshal(p)
}
