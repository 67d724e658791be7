package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// Retold returns the first violation in a report whose narrative contradicts itself, as an error:
// times go back, or a master by whose vote a lease was granted or extended is not among those that
// said yes to its client before, or is told to have said something else at the same time.
func Retold(rep Report) error {
	for _, r := range rep.Results {
		for _, v := range r.Violations {
			if err := v.consistent(); err != nil {
				return fmt.Errorf("%s: %w in\n%s", v.Property, err, v.told())
			}
		}
	}
	return nil
}

func (v *Violation) consistent() error {
	last := time.Duration(-1)
	for i, e := range v.Events {
		if e.Kind == EventViolated {
			if i != len(v.Events)-1 {
				return fmt.Errorf("%q is not the last event", e.Text)
			}
			continue
		}
		if e.At < last {
			return fmt.Errorf("%q is told after an event of %v", e.Text, last)
		}
		last = e.At
		command := map[EventKind]string{EventGranted: history.CommandSet, EventExtended: history.CommandExtend}[e.Kind]
		if command == "" {
			continue
		}
		for _, m := range e.Yes {
			if !slices.ContainsFunc(v.Events, func(x Event) bool {
				return x.Kind == EventAnswered && x.Client == e.Client && x.Token == e.Token && x.Command == command && slices.Contains(x.Yes, m)
			}) {
				return fmt.Errorf("%q names %s, which said yes in no event", e.Text, m)
			}
			if x := v.lastAnswer(i, m, command); x != nil && x.At == e.At && !slices.Contains(x.Yes, m) {
				return fmt.Errorf("%q names %s, of which the same step says %q", e.Text, m, x.Text)
			}
		}
	}
	return nil
}

// lastAnswer returns the last event before the event i that tells what a master answered to its client, or nil.
func (v *Violation) lastAnswer(i int, master, command string) *Event {
	e := &v.Events[i]
	for j := i - 1; j >= 0; j-- {
		x := &v.Events[j]
		if x.Kind == EventAnswered && x.Client == e.Client && x.Token == e.Token && x.Command == command && slices.Contains(slices.Concat(x.Yes, x.No, x.Silent), master) {
			return x
		}
	}
	return nil
}

func (v *Violation) told() (s string) {
	for _, e := range v.Events {
		s += fmt.Sprintf("%v %s %v %s\n", e.At, e.Kind, e.Detail, e.Text)
	}
	return s
}
