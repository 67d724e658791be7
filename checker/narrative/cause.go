package narrative

import (
	"slices"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Cause is what a violation comes from, as far as its narrative shows. Violations of one cause are one thing to look at.
type Cause struct {
	How    string   `json:"how"`              // the name of a Mechanism, or of the violated property
	Faults []string `json:"faults,omitempty"` // the kinds of faults by which it came about
}

// Mechanism is a way in which a client loses a lease, or relies on one that is over.
type Mechanism struct {
	Name string
	Says string // a clause

	shows func(*Event) bool
	by    func(fault.Kind) bool // the kinds of faults that do it; nil: it needs none
}

// causes returns whether an event has one of these causes.
func causes(all ...string) func(*Event) bool {
	return func(e *Event) bool { return e.Cause != "" && slices.Contains(all, e.Cause) }
}

func ofKind(kind EventKind) func(*Event) bool {
	return func(e *Event) bool { return e.Kind == kind }
}

func anyFault(fault.Kind) bool { return true }

// Mechanisms has all mechanisms, those first that say most: of several in one narrative, the first counts.
var Mechanisms = []Mechanism{
	{"deleted", "a command of another client deleted or replaced the key", causes(CauseDeleted, CauseTaken), nil},
	{"left", "a master kept a key of the lock that nobody held", causes(CauseLeft), anyFault},
	{"restart", "a master came back without the key", causes(CauseRestart), fault.Kind.EndsMaster},
	{"clock", "the clock of a master was wrong, and the key expired early", causes(CauseClock), func(k fault.Kind) bool { return k.Clock == fault.MasterClock }},
	{"memory", "a master evicted the key", causes(CauseMemory), func(k fault.Kind) bool { return k.Evicts }},
	{"client-clock", "the clock of a client was wrong, and its lease lasted longer than the key", func(e *Event) bool {
		return e.Kind == EventSkewed || e.Kind == EventFault && fault.Of(e.Name).Clock == fault.ClientClock
	}, func(k fault.Kind) bool { return k.Clock == fault.ClientClock }},
	{"stopped", "a client stood still while its lease ended", ofKind(EventPaused), func(k fault.Kind) bool { return k.Client == fault.ClientStops }},
	{"waited", "a client waited for a call while its lease ended", func(e *Event) bool {
		return e.Kind == EventCalled && e.Command != history.FAcquire // without a lease there is nothing to lose
	}, anyFault},
	{"stalled", "the machine stood still while a lease ended", ofKind(EventStalled), nil},
	{"untold", "the lock did not tell its client that the lease was over", causes(CauseUntold), nil},
	{"late-release", "a late release of an earlier attempt deleted the key", causes(CauseReleased, CauseUnanswered), anyFault},
	{"expired", "the key expired before the lease ended", causes(CauseExpired, CauseMayExpired), anyFault},
	{"isolated", "a client was cut off from all servers, and relied on its lease when it was over", func(e *Event) bool {
		return e.Kind == EventFault && fault.Of(e.Name).Isolates
	}, func(k fault.Kind) bool { return k.Isolates }},
	{"failover", "another server took over meanwhile", ofKind(EventElected), anyFault},
	{"unexplained", "no recorded event explains it", ofKind(EventUnexplained), anyFault},
}

// Cause returns what the violation comes from. A narrative that shows no mechanism is about the property alone.
func (v *Violation) Cause() Cause {
	c, cause := Cause{How: v.Property}, anyFault
	for _, m := range Mechanisms {
		if slices.ContainsFunc(v.Events, func(e Event) bool { return !e.Detail && m.shows(&e) }) {
			c.How, cause = m.Name, m.by
			break
		}
	}
	for i := range v.Events {
		if e := &v.Events[i]; !e.Detail && e.Name != "" && cause != nil && cause(fault.Of(e.Name)) {
			c.Faults = append(c.Faults, e.Name)
		}
	}
	c.Faults = facts.Distinct(c.Faults)
	return c
}

// Says returns the cause as a clause, or "" if no mechanism is known.
func (c Cause) Says() string {
	for _, m := range Mechanisms {
		if m.Name == c.How {
			return m.Says
		}
	}
	return ""
}
