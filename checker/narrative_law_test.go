package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// Retold returns the first violation in a report whose narrative contradicts itself, as an error:
// times go back, or a master by whose vote a lease was granted or extended is not among those that
// said yes to its client before, or said so before the grant before it.
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
			if e.Kind == EventExtended && !v.answeredSince(i, m) {
				return fmt.Errorf("%q names %s, which said yes before the grant before it", e.Text, m)
			}
		}
	}
	return nil
}

// answeredSince reports whether a master said yes no earlier than the grant or extension of the same lease before the
// event i. An answer may be recorded after the lock knew it.
func (v *Violation) answeredSince(i int, master string) bool {
	e, since := &v.Events[i], time.Duration(0)
	for _, x := range v.Events[:i] {
		if x.Client == e.Client && x.Token == e.Token && (x.Kind == EventGranted || x.Kind == EventExtended) && x.At < e.At {
			since = x.At
		}
	}
	return slices.ContainsFunc(v.Events, func(x Event) bool {
		return x.Kind == EventAnswered && x.Client == e.Client && x.Token == e.Token && slices.Contains(x.Yes, master) && x.At >= since
	})
}

func (v *Violation) told() (s string) {
	for _, e := range v.Events {
		s += fmt.Sprintf("%v %s %v %s\n", e.At, e.Kind, e.Detail, e.Text)
	}
	return s
}
