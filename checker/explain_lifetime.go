package checker

import (
	"fmt"
	"slices"
)

// explainOverrun looks for what bent the master's clock.
func (r *run) explainOverrun(s *stored) []reason {
	last := r.h.Ops[s.ops[1]].Time
	first := &r.h.Ops[s.ops[0]]
	when := "it had no expiry"
	if s.mortal {
		when = "it was to end at " + at(s.end) + " by the master's own clock"
		if first.Value.Offset != nil {
			when = fmt.Sprintf("it was to end %s later by the master's own clock", at(s.end-first.Time-*first.Value.Offset))
		}
	}
	steps := []reason{
		{at: s.since, text: fmt.Sprintf("At %s %s stored the key of %s: %s.", at(s.since), s.master, s.key, when)},
		{at: last, text: fmt.Sprintf("At %s it still stored it, and nobody had set or extended it: its end had not moved.", at(last))},
	}
	explained := !s.mortal
	for _, f := range r.faults {
		if f.Name != "clock" || !f.Installed || !slices.Contains(f.Masters, s.master) || f.Began > s.seen {
			continue
		}
		explained = true
		steps = append(steps, reason{at: f.From, faults: []int{f.ID}, text: fmt.Sprintf("From %s to %s the clock of %s was off%s (clock #%d).", at(f.From), at(f.To), s.master, by(f.Params["clock"]), f.ID)})
	}
	if !explained {
		steps = append(steps, reason{at: s.seen, text: "No recorded fault of its clock explains it."})
	}
	return steps
}
