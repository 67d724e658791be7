package facts

import (
	"cmp"
	"fmt"
	"iter"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/history"
)

// Run is a history with what follows from it about the run that it records. Several goroutines may ask it
// for facts at once if the history's votes are packed (see history.Packed).
type Run struct {
	History     *history.Packed
	Lock        Lock            // which holds and sections may overlap
	Unfiltered  *history.Packed // with the votes that History leaves out, because they do not describe the lock; nil: History has all
	Asked       []string        // the masters that clients asked, if no lease asked as many as a quorum has: they count as all that the lock uses
	MostAsked   int             // how many of them a lease asked, at most
	Leases      []*history.Lease
	calls       *history.Calls
	leaseByLine []int32 // by position in History: the index in Leases of the lease that the line is about, or -1
	Faults      []*history.Fault
	Pauses      map[string][]Pause
	End         time.Duration // time of the last operation
	Complete    bool          // the history has its end mark
	Interrupted Interruption
	Window      history.Span  // only events in it are judged; the rest is context
	Slack       time.Duration // how late an event may have been recorded

	// What methods compute when somebody first asks.
	faulty        lazy[[]history.Span]
	contended     lazy[map[*history.Lease]bool]
	voteIndex     lazy[*VoteIndex]
	logs          lazy[*CommandLogs]
	acquires      lazy[[]Acquire]
	acquiresOf    lazy[map[keyClient][]Acquire]
	byKey         lazy[map[string][]*history.Lease]
	waits         lazy[[]Wait]
	used          lazy[[]string]
	requestsOf    lazyBy[requester, []*Request]
	answered      lazyBy[string, map[string]Votes]
	masters       lazy[[]string]
	stood         lazy[intervals]
	elections     lazy[[]*history.Op]
	changes       lazy[[]*history.Op]
	selfExtending lazyBy[*history.Lease, bool]
	extends       lazy[map[leaseName][]history.Span]
	faulted       lazy[intervals]
	effective     lazyBy[*history.Fault, bool]
	reached       lazyBy[string, Reach]
	byMaster      lazyBy[string, *masterFaults]
	stopped       lazyBy[string, intervals]
	troubles      lazyBy[link, intervals]
	acquiresOn    lazy[map[string]*keyAcquires]
	storedUnder   lazy[map[*history.Lease][]storedWrite]
	linesOf       lazy[map[string][]int32]
}

// New returns the facts about a history, all of which are judged: see Window.
func New(h *history.Packed) *Run {
	r := &Run{History: h, Lock: LockOf(&h.Header), Faults: history.Faults(h.Ops), Pauses: pauses(h.Ops),
		Window: history.Span{From: -1 << 62, To: 1 << 62}, Interrupted: interrupted(h.Ops), Slack: slackOf(h), calls: h.Calls()}
	r.Leases, r.leaseByLine = h.Leases(r.calls)
	if n := len(h.Ops); n > 0 {
		r.End = h.Ops[n-1].Time
		r.Complete = h.Ops[n-1].F == history.FEnd
	}
	return r
}

// InWindow reports whether the time t is in the judged window.
func (r *Run) InWindow(t time.Duration) bool { return r.Window.From <= t && t < r.Window.To }

// ReachesEnd reports whether the judged window reaches to the end of the history.
func (r *Run) ReachesEnd() bool { return r.End < r.Window.To }

// LeaseAt returns the lease that the line at a position of History is about, or nil.
func (r *Run) LeaseAt(position int) *history.Lease {
	if n := r.leaseByLine[position]; n >= 0 {
		return r.Leases[n]
	}
	return nil
}

// ExpiredOnArrival reports whether a lease was over when its acquire returned. This
// is not the same as an empty hold: a client may release a lease the moment it acquires it.
func ExpiredOnArrival(l *history.Lease) bool {
	return l.Grants[0].Until <= l.Grants[0].At
}

// linesBy returns the positions in History of a process's lines.
func (r *Run) linesBy(process string) []int32 {
	return r.linesOf.get(func() map[string][]int32 {
		lines := map[string][]int32{}
		for i, op := range r.History.All() {
			lines[op.Process] = append(lines[op.Process], int32(i))
		}
		return lines
	})[process]
}

// LinesSince yields the operations of a process from a time on; the next one may overwrite each.
func (r *Run) LinesSince(process string, from time.Duration) iter.Seq[*history.Op] {
	lines := r.linesBy(process)
	first := sort.Search(len(lines), func(i int) bool { return r.History.TimeAt(int(lines[i])) >= from })
	return r.History.Some(lines[first:])
}

// following yields the operations of a process after a line; the next one may overwrite each.
func (r *Run) following(process string, index int) iter.Seq[*history.Op] {
	lines := r.linesBy(process)
	first := sort.Search(len(lines), func(i int) bool { return r.History.IndexAt(int(lines[i])) > index })
	return r.History.Some(lines[first:])
}

// Quorum returns how many votes a grant needs, at least; 0 if that is not known.
func (r *Run) Quorum() int {
	if r.Asked != nil {
		return r.MostAsked
	}
	return r.History.Header.LeastVotes()
}

// canSpare returns how many of n masters a client can do without and still be granted the lock. If the votes do not describe
// the lock, or it asks fewer than a quorum, and it does not say that it needs one, that is not known, and all count as needed. A service needs a majority of its servers.
func (r *Run) canSpare(n int) int {
	if r.Asked != nil || r.Unfiltered != nil && r.History.Header.Service == "" && r.History.Header.Quorum <= 1 {
		return 0
	}
	return n - r.Quorum()
}

// Masters returns m1, m2, …, as many as the header says.
func (r *Run) Masters() []string {
	return r.masters.get(func() (names []string) {
		for i := range r.History.Header.Masters {
			names = append(names, fmt.Sprintf("m%d", i+1))
		}
		return names
	})
}

// Imported reports whether the history was made from logs.
func (r *Run) Imported() bool { return r.History.Header.Driver == history.Imported }

// Interruption is the moment at which the user interrupted the harness. Operations that it
// cancelled from then on are not evidence.
type Interruption struct {
	At  time.Duration // after the run, if there was none
	Why string
}

func interrupted(ops []history.Op) Interruption {
	for i := range ops {
		if op := &ops[i]; op.F == history.FInterrupted {
			return Interruption{At: op.Time, Why: cmp.Or(op.Error, "nobody said why")}
		}
	}
	return Interruption{At: 1<<63 - 1}
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

// lazy is a fact that is computed when somebody first asks for it. Several goroutines may ask at once.
type lazy[T any] struct {
	known atomic.Bool
	mu    sync.Mutex
	value T
}

func (l *lazy[T]) get(compute func() T) T {
	if !l.known.Load() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.known.Load() {
			l.value = compute()
			l.known.Store(true)
		}
	}
	return l.value
}

// lazyBy holds a fact about each key, computed when somebody first asks for that key. Several goroutines may ask at
// once; they all get the same value.
type lazyBy[K comparable, T any] struct {
	mu    sync.Mutex
	known map[K]T
}

func (l *lazyBy[K, T]) get(key K, compute func(K) T) T {
	if value, known := l.find(key); known {
		return value
	}
	value := compute(key) // it may ask for the same fact about other keys
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, known := l.known[key]; known {
		return first
	}
	if l.known == nil {
		l.known = map[K]T{}
	}
	l.known[key] = value
	return value
}

func (l *lazyBy[K, T]) find(key K) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, known := l.known[key]
	return value, known
}
