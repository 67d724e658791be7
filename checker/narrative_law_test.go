package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// Retold returns the first violation in a report whose narrative contradicts itself, as an error:
// times go back, or a master by whose vote a lease was granted or extended is not among those that
// said yes to its client before, or said so before the grant before it.
func Retold(rep Report) error {
	for _, r := range rep.Results {
		for _, v := range r.Violations {
			if err := consistent(&v); err != nil {
				return fmt.Errorf("%s: %w in\n%s", v.Property, err, told(&v))
			}
		}
	}
	return nil
}

func consistent(v *narrative.Violation) error {
	last := time.Duration(-1)
	for i, e := range v.Events {
		if e.Kind == narrative.EventViolated {
			if i != len(v.Events)-1 {
				return fmt.Errorf("%q is not the last event", e.Text)
			}
			continue
		}
		if e.At < last {
			return fmt.Errorf("%q is told after an event of %v", e.Text, last)
		}
		last = e.At
		command := map[narrative.EventKind]string{narrative.EventGranted: history.CommandSet, narrative.EventExtended: history.CommandExtend}[e.Kind]
		if command == "" {
			continue
		}
		for _, m := range e.Yes {
			if !slices.ContainsFunc(v.Events, func(x narrative.Event) bool {
				return x.Kind == narrative.EventAnswered && x.Client == e.Client && x.Token == e.Token && x.Command == command && slices.Contains(x.Yes, m)
			}) {
				return fmt.Errorf("%q names %s, which said yes in no event", e.Text, m)
			}
			if e.Kind == narrative.EventExtended && !answeredSince(v, i, m) {
				return fmt.Errorf("%q names %s, which said yes before the grant before it", e.Text, m)
			}
		}
	}
	return nil
}

// answeredSince reports whether a master said yes no earlier than the grant or extension of the same lease before the
// event i. An answer may be recorded after the lock knew it.
func answeredSince(v *narrative.Violation, i int, master string) bool {
	e, since := &v.Events[i], time.Duration(0)
	for _, x := range v.Events[:i] {
		if x.Client == e.Client && x.Token == e.Token && (x.Kind == narrative.EventGranted || x.Kind == narrative.EventExtended) && x.At < e.At {
			since = x.At
		}
	}
	return slices.ContainsFunc(v.Events, func(x narrative.Event) bool {
		return x.Kind == narrative.EventAnswered && x.Client == e.Client && x.Token == e.Token && slices.Contains(x.Yes, master) && x.At >= since
	})
}

func told(v *narrative.Violation) (s string) {
	for _, e := range v.Events {
		s += fmt.Sprintf("%v %s %v %s\n", e.At, e.Kind, e.Detail, e.Text)
	}
	return s
}
