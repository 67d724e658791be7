package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// faultsWithin returns the faults that were being installed, in force or being healed between two
// times, in the order in which they began.
func (r *run) faultsWithin(from, to time.Duration) []*history.Fault {
	faulted := r.faulted.get(func() intervals {
		spans := make([]history.Span, 0, len(r.faults))
		for _, f := range r.faults {
			spans = append(spans, history.Span{From: f.Began, To: f.To})
		}
		return intervalsOf(spans) // keeps the order: r.faults is sorted by Began
	})
	var found []*history.Fault
	faulted.each(from, to, func(i int) bool {
		found = append(found, r.faults[i])
		return true
	})
	slices.Reverse(found)
	return found
}

// statesOf returns the recorded states of a master in [from, to].
func (r *run) statesOf(master string, from, to time.Duration) []state {
	all := r.lookup().states[master]
	first := sort.Search(len(all), func(i int) bool { return all[i].at >= from })
	last := first + sort.Search(len(all)-first, func(i int) bool { return all[first+i].at > to })
	return all[first:last]
}

// masterFaults holds the faults of one master, and when its process was seen down.
type masterFaults struct {
	ends  []*history.Fault // the faults that end its process
	ended intervals        // the time of each fault in ends, in the same order
	bent  intervals        // the times of faults of its clock or memory
	down  moments
}

func (r *run) faultsOf(master string) *masterFaults {
	return r.byMaster.get(master, r.findFaultsOf)
}

func (r *run) findFaultsOf(master string) *masterFaults {
	x := &masterFaults{}
	var ended, bent []history.Span
	for _, f := range r.faults {
		if !f.Installed || !slices.Contains(f.Masters, master) {
			continue
		}
		if ends(f.Name) {
			x.ends = append(x.ends, f)
			ended = append(ended, history.Span{From: f.Began, To: f.To})
		}
		if kind := fault.Of(f.Name); kind.Clock == fault.MasterClock || kind.Evicts {
			bent = append(bent, history.Span{From: f.Began, To: f.To})
		}
	}
	for _, s := range r.lookup().states[master] {
		if s.is == "down" {
			x.down = append(x.down, s.at)
		}
	}
	slices.SortStableFunc(x.ends, func(a, b *history.Fault) int { return cmp.Compare(a.Began, b.Began) })
	x.ended, x.bent = intervalsOf(ended), intervalsOf(bent)
	return x
}

// restartedIn reports whether a master's process may have ended between two times: after that, it
// may store keys that are older than its answers.
func (r *run) restartedIn(master string, from, to time.Duration) bool {
	x := r.faultsOf(master)
	return x.ended.touch(from, to) || x.down.in(from, to)
}

// endedAfter reports whether the process of a master that answered at from may have ended after
// that and by to. A fault does not count if it was already in force at from, or if the master was
// seen down between the fault's beginning and from.
func (r *run) endedAfter(master string, from, to time.Duration) bool {
	x := r.faultsOf(master)
	found := x.down.in(from+1, to)
	x.ended.each(from, to, func(i int) bool { // a fault ends after it was installed
		f := x.ends[i]
		found = found || f.From > from && !x.down.in(f.Began, from)
		return !found
	})
	return found
}

// bentIn reports whether a fault changed a master's clock or memory between two times.
func (r *run) bentIn(master string, from, to time.Duration) bool {
	return r.faultsOf(master).bent.touch(from, to)
}

// stalls returns the times in which the harness stood still.
func (r *run) stalls() intervals {
	return r.stood.get(func() intervals {
		var spans []history.Span
		for i := range r.h.Ops {
			if op := &r.h.Ops[i]; op.F == history.FStall && op.Value != nil {
				spans = append(spans, history.Span{From: op.Time - op.Value.Took, To: op.Time})
			}
		}
		return intervalsOf(spans)
	})
}

// stalledIn reports whether the harness stood still between two times, so that the lines that it
// recorded then may be late.
func (r *run) stalledIn(from, to time.Duration) bool { return r.stalls().touch(from, to) }

// goneIn reports whether a client's process ended between two times: its commands that had no
// answer by then were never recorded.
func (r *run) goneIn(client string, from, to time.Duration) bool {
	return r.commandLogs().crashes[client].in(from, to)
}

// stoppedIn reports whether a client stood still between two times.
func (r *run) stoppedIn(client string, from, to time.Duration) bool {
	return r.stopped.get(client, func(client string) intervals { return intervalsOf(r.stops(client)) }).touch(from, to)
}

// stalled returns the fraction of the time after from for which the machine stood still.
func (r *run) stalled(from time.Duration) float64 {
	return r.stalledFor(from, r.end)
}

// stalledFor returns the fraction of a time for which the harness's machine stood still.
func (r *run) stalledFor(from, to time.Duration) float64 {
	return float64(r.stalledTime(from, to)) / float64(max(to-from, 1))
}

// stalledTime returns how long the harness's machine stood still between two times.
func (r *run) stalledTime(from, to time.Duration) (total time.Duration) {
	for _, s := range r.stalls().spans {
		total += max(0, min(s.To, to)-max(s.From, from))
	}
	return total
}
