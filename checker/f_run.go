package checker

import (
	"cmp"
	"fmt"
	"iter"
	"sort"
	"time"

	"lockpick/history"
)

// run is a history with the derived data that several properties need.
type run struct {
	second      func([]history.Op) linearizability // decides mutual exclusion a second time
	h           *history.Packed
	law         law             // which holds and sections may overlap
	seen        *history.Packed // with the votes that h leaves out, because they do not describe the lock; nil: h has all
	leases      []*history.Lease
	leaseOf     []int32 // by position in h.Ops: the index in leases of the lease that the line is about, or -1
	faults      []*history.Fault
	pauses      map[string][]pause
	end         time.Duration // time of the last operation
	ended       bool          // the history has its end mark
	interrupted interruption
	died        death
	window      history.Span  // only events in it are judged; the rest is context
	slack       time.Duration // how late an event may have been recorded

	// What the methods with these names compute.
	faulty        lazy[[]history.Span]
	competed      lazy[map[*history.Lease]bool]
	evidence      lazy[*evidence]
	logs          lazy[*commandLogs]
	calls         lazy[*history.Calls]
	acquires      lazy[[]attempt]
	byKey         lazy[map[string][]*history.Lease]
	starving      lazy[[]starvation]
	used          lazy[[]string]
	asks          lazyBy[requester, []*asked]
	answered      lazyBy[string, map[string]votes]
	names         lazy[[]string]
	stood         lazy[intervals]
	selfExtending lazyBy[*history.Lease, bool]
	extends       lazy[map[leaseName][]history.Span]
	faulted       lazy[intervals]
	effective     lazyBy[*history.Fault, bool]
	reached       lazyBy[string, reach]
	byMaster      lazyBy[string, *masterFaults]
	stopped       lazyBy[string, intervals]
	troubles      lazyBy[link, intervals]
	attemptsOn    lazy[map[string]*keyAttempts]
	effects       lazy[map[*history.Lease][]storedWrite]
	lines         lazy[map[string][]int32]
}

func newRun(h *history.Packed) *run {
	r := &run{h: h, law: lawOf(&h.Header), faults: history.Faults(h.Ops), pauses: pauses(h.Ops),
		window: history.Span{From: -1 << 62, To: 1 << 62}, interrupted: interrupted(h.Ops), died: foreignDeath(h.Ops), slack: slackOf(h)}
	r.leases, r.leaseOf = history.LeasesByLine(h.Ops)
	if n := len(h.Ops); n > 0 {
		r.end = h.Ops[n-1].Time
		r.ended = h.Ops[n-1].F == history.FEnd
	}
	return r
}

// counts reports whether the time t is in the judged window.
func (r *run) counts(t time.Duration) bool { return r.window.From <= t && t < r.window.To }

// final reports whether the judged window reaches to the end of the history.
func (r *run) final() bool { return r.end < r.window.To }

// leaseAt returns the lease that the line at a position of h.Ops is about, or nil.
func (r *run) leaseAt(position int) *history.Lease {
	if n := r.leaseOf[position]; n >= 0 {
		return r.leases[n]
	}
	return nil
}

// deadOnArrival reports whether a lease was over when its acquire returned. This
// is not the same as an empty hold: a client may release a lease the moment it acquires it.
func deadOnArrival(l *history.Lease) bool {
	return l.Grants[0].Until <= l.Grants[0].At
}

// linesOf returns the positions in h.Ops of a process's lines.
func (r *run) linesOf(process string) []int32 {
	return r.lines.get(func() map[string][]int32 {
		lines := map[string][]int32{}
		for i := range r.h.Ops {
			p := r.h.Ops[i].Process
			lines[p] = append(lines[p], int32(i))
		}
		return lines
	})[process]
}

// following yields the operations of a process after a line.
func (r *run) following(process string, index int) iter.Seq[*history.Op] {
	return func(yield func(*history.Op) bool) {
		lines := r.linesOf(process)
		first := sort.Search(len(lines), func(i int) bool { return r.h.Ops[lines[i]].Index > index })
		for _, i := range lines[first:] {
			if !yield(&r.h.Ops[i]) {
				return
			}
		}
	}
}

// quorum returns how many votes a grant needs; 0 if the header does not say.
func (r *run) quorum() int {
	h := &r.h.Header
	switch {
	case h.Quorum > 0:
		return h.Quorum
	case h.Masters > 0:
		return h.Masters/2 + 1
	}
	return 0
}

// masterNames returns m1, m2, …, as many as the header says.
func (r *run) masterNames() []string {
	return r.names.get(func() (names []string) {
		for i := range r.h.Header.Masters {
			names = append(names, fmt.Sprintf("m%d", i+1))
		}
		return names
	})
}

// imported reports whether the history was made from logs.
func (r *run) imported() bool { return r.h.Header.Driver == history.Imported }

// interruption is the moment at which the user interrupted the harness. Operations that it
// cancelled from then on are no evidence.
type interruption struct {
	at  time.Duration // after the run, if there was none
	why string
}

func interrupted(ops []history.Op) interruption {
	for i := range ops {
		if op := &ops[i]; op.F == history.FInterrupted {
			return interruption{at: op.Time, why: cmp.Or(op.Error, "nobody said why")}
		}
	}
	return interruption{at: 1<<63 - 1}
}

// The slack of a history is the longest time from an event to its recording.
const (
	// simulatedSlack is the slack of the simulator, which records without delay.
	simulatedSlack = time.Millisecond
	// realSlack is the slack of real runs: twice the longest stall of its machine that a harness
	// does not record.
	realSlack = 100 * time.Millisecond
)

// slackOf returns the slack of a history: the slack of its driver plus the longest delay that the
// recorder noted.
func slackOf(h *history.Packed) time.Duration {
	if h.Header.Driver == "sim" {
		return simulatedSlack + h.LongestDelay()
	}
	return realSlack + h.LongestDelay()
}

// NoFaults is the value of a header's Faults for a campaign without faults.
const NoFaults = "none"
