package facts

import (
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// StruckAt returns when a fault struck a master, and the line that shows it. A fault that ends the
// master's process struck when the process was recorded to be down, any other fault when it was
// installed. Masters that go down within a moment of each other were struck at one time, that of
// the first.
func (r *Run) StruckAt(f *history.Fault, master string) (when time.Duration, line int) {
	when, line = f.From, f.Index
	if !fault.Of(f.Name).EndsMaster() {
		return when, line
	}
	down := func(master string) (State, bool) {
		for _, s := range r.StatesOf(master, f.Began, f.To) {
			if s.Status == "down" {
				return s, true
			}
		}
		return State{}, false
	}
	own, seen := down(master)
	if !seen {
		return when, line
	}
	when, line = own.At, own.Line
	for _, m := range f.Masters {
		if s, seen := down(m); seen && s.Line < line && own.At-s.At <= Moment {
			when, line = s.At, s.Line
		}
	}
	return when, line
}

// TookEffect reports whether a fault is known to have had an effect. If a client recorded that it
// stood still within a client-pause, that proves the effect of the fault.
func (r *Run) TookEffect(f *history.Fault) bool {
	if f.TookEffect || !f.Installed || fault.Of(f.Name).Client != fault.ClientStops {
		return f.TookEffect && f.Installed
	}
	return r.effective.get(f, r.stoppedSomebody)
}

// stoppedSomebody reports whether a client recorded that it stood still within a client-pause.
func (r *Run) stoppedSomebody(f *history.Fault) bool {
	for client, all := range r.Pauses {
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, client) {
			continue
		}
		for _, p := range all {
			if p.Ended && p.From < f.To && p.To > f.Began {
				return true
			}
		}
	}
	return false
}

// FaultyPeriod returns the times of the faults that took effect, each with a TTL after it.
func (r *Run) FaultyPeriod() []history.Span {
	return r.faulty.get(func() (faulty []history.Span) {
		for _, f := range r.Faults {
			if r.TookEffect(f) {
				faulty = append(faulty, history.Span{From: f.From, To: f.To + r.History.Header.TTL + 1})
			}
		}
		return Union(faulty, 0)
	})
}

// ExpectsFaults reports whether the run was to have faults, or had some.
func (r *Run) ExpectsFaults() bool {
	return len(r.RequestedFaults()) > 0 || slices.ContainsFunc(r.Faults, func(f *history.Fault) bool { return f.Installed })
}

// RequestedFaults returns the kinds of faults that the campaign was to inject.
func (r *Run) RequestedFaults() []string {
	var names []string
	for _, name := range r.History.Header.Faults {
		if name != NoFaults && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Silences reports whether a fault may be why a master did not answer.
func Silences(f *history.Fault, v history.Vote) bool {
	return v.Unknown && meets(f, v) && fault.Of(f.Name).Silences()
}

// Delays reports whether a fault may have delayed a master's answer.
func Delays(f *history.Fault, v history.Vote) bool { return meets(f, v) && fault.Of(f.Name).Disrupts() }

// meets reports whether a fault was in force on a vote's master, or on its client's link to that master, between the
// command and the answer.
func meets(f *history.Fault, v history.Vote) bool {
	return f.Installed && f.From <= v.At && f.To >= Sent(v) && slices.Contains(f.Masters, v.Master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, v.Client))
}

// Disrupts reports whether a fault may keep masters from answering a client.
func Disrupts(f *history.Fault) bool {
	return f.Installed && fault.Of(f.Name).Disrupts()
}

// ClientClockSkewed reports whether a fault changed a client's clock between two times.
func (r *Run) ClientClockSkewed(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.Faults, func(f *history.Fault) bool {
		return fault.Of(f.Name).Clock == fault.ClientClock && f.Installed && slices.Contains(f.Clients, client) && Overlap(f.Began, f.To, from, to)
	})
}

// Moment is the longest time between events that the narrative reports as one: a fault's strikes on
// several masters, the masters' restarts, and their answers to one request.
const Moment = 10 * time.Millisecond
