package checker

import (
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// ends reports whether a fault ends a master's process.
func ends(name string) bool { return fault.Of(name).EndsMaster() }

// strike returns when a fault struck a master, and the line that shows it. A fault that ends the
// master's process struck when the process was recorded to be down, any other fault when it was
// installed. Masters that go down within a moment of each other were struck at one time, that of
// the first.
func (r *run) strike(f *history.Fault, master string) (when time.Duration, line int) {
	when, line = f.From, f.Index
	if !ends(f.Name) {
		return when, line
	}
	down := func(master string) (state, bool) {
		for _, s := range r.statesOf(master, f.Began, f.To) {
			if s.is == "down" {
				return s, true
			}
		}
		return state{}, false
	}
	own, seen := down(master)
	if !seen {
		return when, line
	}
	when, line = own.at, own.line
	for _, m := range f.Masters {
		if s, seen := down(m); seen && s.line < line && own.at-s.at <= moment {
			when, line = s.at, s.line
		}
	}
	return when, line
}

// tookEffect reports whether a fault is known to have had an effect. If a client recorded that it
// stood still within a client-pause, that proves the effect of the fault.
func (r *run) tookEffect(f *history.Fault) bool {
	if f.TookEffect || !f.Installed || fault.Of(f.Name).Client != fault.ClientStops {
		return f.TookEffect && f.Installed
	}
	return r.effective.get(f, r.stoppedSomebody)
}

// stoppedSomebody reports whether a client recorded that it stood still within a client-pause.
func (r *run) stoppedSomebody(f *history.Fault) bool {
	for client, all := range r.pauses {
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, client) {
			continue
		}
		for _, p := range all {
			if p.ended && p.from < f.To && p.to > f.Began {
				return true
			}
		}
	}
	return false
}

// faultyPeriod returns the times of the faults that took effect, each with a TTL after it.
func (r *run) faultyPeriod() []history.Span {
	return r.faulty.get(func() (faulty []history.Span) {
		for _, f := range r.faults {
			if r.tookEffect(f) {
				faulty = append(faulty, history.Span{From: f.From, To: f.To + r.h.Header.TTL + 1})
			}
		}
		return union(faulty, 0)
	})
}

// expectsFaults reports whether the run was to have faults, or had some.
func (r *run) expectsFaults() bool {
	return len(r.asksFor()) > 0 || slices.ContainsFunc(r.faults, func(f *history.Fault) bool { return f.Installed })
}

// asksFor returns the kinds of faults that the campaign was to inject.
func (r *run) asksFor() []string {
	var names []string
	for _, name := range r.h.Header.Faults {
		if name != NoFaults && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// silences reports whether a fault may be why a master did not answer.
func silences(f *history.Fault, v history.Vote) bool {
	if !v.Unknown || !f.Installed || f.From > v.At || f.To < sent(v) || !slices.Contains(f.Masters, v.Master) {
		return false
	}
	if len(f.Clients) > 0 && !slices.Contains(f.Clients, v.Client) {
		return false
	}
	return fault.Of(f.Name).Silences()
}

// stopsRequests reports whether a fault keeps a command from its master.
func stopsRequests(f *history.Fault) bool {
	return !fault.Of(f.Name).Delays() && f.Params["direction"] != "replies"
}

// disrupts reports whether a fault may keep masters from answering a client.
func disrupts(f *history.Fault) bool {
	return f.Installed && fault.Of(f.Name).Disrupts()
}

// reaches reports whether a fault strikes a vote's master, or its client's link to that master.
func reaches(f *history.Fault, v history.Vote) bool {
	return slices.Contains(f.Masters, v.Master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, v.Client))
}

// clockBent reports whether a fault changed a client's clock between two times.
func (r *run) clockBent(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f *history.Fault) bool {
		return fault.Of(f.Name).Clock == fault.ClientClock && f.Installed && slices.Contains(f.Clients, client) && overlaps(f.Began, f.To, from, to)
	})
}

// moment is the longest time between events that the narrative reports as one: a fault's strikes on
// several masters, the masters' restarts, and their answers to one request.
const moment = 10 * time.Millisecond

// did describes the effect of a fault on masters or clients, as a text and as one word.
func (r *run) did(f *history.Fault, masters []string) (text, word string) {
	return fault.Of(f.Name).Did(&fault.Scene{
		Masters: masters, Clients: set(f.Clients), Params: f.Params, Persistence: fault.Persistence(r.h.Header.Persistence), AtPoint: fault.AtPoint(f.Params["point"]),
	})
}
