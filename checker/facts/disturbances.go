package facts

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// FaultsWithin returns the faults that were being installed, in force or being healed between two
// times, in the order in which they began.
func (r *Run) FaultsWithin(from, to time.Duration) []*history.Fault {
	faulted := r.faulted.get(func() intervals {
		spans := make([]history.Span, 0, len(r.Faults))
		for _, f := range r.Faults {
			spans = append(spans, history.Span{From: f.Began, To: f.To})
		}
		return intervalsOf(spans) // keeps the order: r.faults is sorted by Began
	})
	var found []*history.Fault
	faulted.each(from, to, func(i int) bool {
		found = append(found, r.Faults[i])
		return true
	})
	slices.Reverse(found)
	return found
}

// StatesOf returns the recorded states of a master in [from, to].
func (r *Run) StatesOf(master string, from, to time.Duration) []State {
	all := r.VoteIndex().states[master]
	first := sort.Search(len(all), func(i int) bool { return all[i].At >= from })
	last := first + sort.Search(len(all)-first, func(i int) bool { return all[first+i].At > to })
	return all[first:last]
}

// masterFaults holds the faults of one master, and when its process was seen down.
type masterFaults struct {
	ends   []*history.Fault // the faults that end its process
	ended  intervals        // the time of each fault in ends, in the same order
	skewed intervals        // the times of faults of its clock or memory
	down   moments
}

func (r *Run) faultsOf(master string) *masterFaults {
	return r.byMaster.get(master, r.findFaultsOf)
}

func (r *Run) findFaultsOf(master string) *masterFaults {
	x := &masterFaults{}
	var ended, skewed []history.Span
	for _, f := range r.Faults {
		if !f.Installed || !slices.Contains(f.Masters, master) {
			continue
		}
		if fault.Of(f.Name).EndsMaster() {
			x.ends = append(x.ends, f)
			ended = append(ended, history.Span{From: f.Began, To: f.To})
		}
		if kind := fault.Of(f.Name); kind.Clock == fault.MasterClock || kind.Evicts {
			skewed = append(skewed, history.Span{From: f.Began, To: f.To})
		}
	}
	for _, s := range r.VoteIndex().states[master] {
		if s.Status == "down" {
			x.down = append(x.down, s.At)
		}
	}
	slices.SortStableFunc(x.ends, func(a, b *history.Fault) int { return cmp.Compare(a.Began, b.Began) })
	x.ended, x.skewed = intervalsOf(ended), intervalsOf(skewed)
	return x
}

// RestartedIn reports whether a master's process may have ended between two times: after that, it
// may store keys that are older than its answers.
func (r *Run) RestartedIn(master string, from, to time.Duration) bool {
	x := r.faultsOf(master)
	return x.ended.touch(from, to) || x.down.in(from, to)
}

// EndedAfter reports whether the process of a master that answered at from may have ended after
// that and by to. A fault does not count if it was already in force at from, or if the master was
// seen down between the fault's beginning and from.
func (r *Run) EndedAfter(master string, from, to time.Duration) bool {
	x := r.faultsOf(master)
	found := x.down.in(from+1, to)
	x.ended.each(from, to, func(i int) bool { // a fault ends after it was installed
		f := x.ends[i]
		found = found || f.From > from && !x.down.in(f.Began, from)
		return !found
	})
	return found
}

// DisturbedIn reports whether a fault changed a master's clock or memory between two times.
func (r *Run) DisturbedIn(master string, from, to time.Duration) bool {
	return r.faultsOf(master).skewed.touch(from, to)
}

// Elections returns the lines by which servers of a service took over from others, in order.
func (r *Run) Elections() []*history.Op {
	return r.elections.get(func() []*history.Op { return r.linesWith(history.FElected) })
}

// linesWith returns the lines of one kind, in order.
func (r *Run) linesWith(f string) (all []*history.Op) {
	for i := range r.History.Ops {
		if op := &r.History.Ops[i]; op.F == f {
			all = append(all, op)
		}
	}
	return all
}

// Stalls returns the times in which the harness stood still, in order.
func (r *Run) Stalls() []history.Span { return r.stalls().spans }

func (r *Run) stalls() intervals {
	return r.stood.get(func() intervals {
		var spans []history.Span
		for i := range r.History.Ops {
			if op := &r.History.Ops[i]; op.F == history.FStall && op.Value != nil {
				spans = append(spans, history.Span{From: op.Time - op.Value.Took, To: op.Time})
			}
		}
		return intervalsOf(spans)
	})
}

// StalledIn reports whether the harness stood still between two times, so that the lines that it
// recorded then may be late.
func (r *Run) StalledIn(from, to time.Duration) bool { return r.stalls().touch(from, to) }

// CrashedIn reports whether a client's process ended between two times: its commands that had no
// answer by then were never recorded.
func (r *Run) CrashedIn(client string, from, to time.Duration) bool {
	return r.CommandLogs().crashes[client].in(from, to)
}

// PausedIn reports whether a client stood still between two times.
func (r *Run) PausedIn(client string, from, to time.Duration) bool {
	return r.stopped.get(client, func(client string) intervals { return intervalsOf(r.PausesOf(client)) }).touch(from, to)
}

// StalledSince returns the fraction of the time after from for which the machine stood still.
func (r *Run) StalledSince(from time.Duration) float64 {
	return r.StalledShare(from, r.End)
}

// StalledShare returns the fraction of a time for which the harness's machine stood still.
func (r *Run) StalledShare(from, to time.Duration) float64 {
	return float64(r.stalledTime(from, to)) / float64(max(to-from, 1))
}

// stalledTime returns how long the harness's machine stood still between two times.
func (r *Run) stalledTime(from, to time.Duration) (total time.Duration) {
	for _, s := range r.Stalls() {
		total += max(0, min(s.To, to)-max(s.From, from))
	}
	return total
}

// Pause is a time in which a client stood still.
type Pause struct {
	From, To time.Duration
	Point    string // where in the client's loop it was stopped
	Line     int    // the line that shows its beginning
	EndLine  int    // the line that shows its end
	Ended    bool   // a line shows that its client continued
	cut      bool   // its client crashed or was stopped again first. If neither ended nor cut, to is the end of the history
}

// pauses returns the pauses of each client, in order.
func pauses(ops []history.Op) map[string][]Pause {
	all := map[string][]Pause{}
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		if op.F != history.FPaused && op.F != history.FCrash {
			continue
		}
		mine := all[op.Process]
		if n := len(mine); n > 0 && !mine[n-1].Ended && !mine[n-1].cut && (op.F == history.FCrash || op.Type == history.Invoke) {
			mine[n-1].To, mine[n-1].cut = op.Time, true // its client crashed, or continued without a line that shows it
		}
		if op.F == history.FCrash {
			continue
		}
		if op.Type == history.Invoke {
			p := Pause{From: op.Time, Line: op.Index}
			if op.Value != nil {
				p.Point = op.Value.Point
			}
			all[op.Process] = append(mine, p)
			continue
		}
		if n := len(mine); n > 0 && !mine[n-1].Ended && !mine[n-1].cut {
			mine[n-1].To, mine[n-1].EndLine, mine[n-1].Ended = op.Time, op.Index, true
		}
	}
	for _, mine := range all {
		for i := range mine {
			if !mine[i].Ended && !mine[i].cut {
				mine[i].To = end
			}
		}
	}
	return all
}

// PausesOf returns when a client stood still.
func (r *Run) PausesOf(client string) []history.Span {
	var spans []history.Span
	for _, p := range r.Pauses[client] {
		spans = append(spans, history.Span{From: p.From, To: p.To})
	}
	return spans
}
