package nemesis

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// lease is a lease that a client holds, according to the history.
type lease struct {
	client, key, token string
	until              time.Duration
	since              time.Duration
}

// watch evaluates the running history for the nemesis.
type watch struct {
	runtime cluster.Runtime
	mu      sync.Mutex
	held    map[string]*lease   // by token
	voters  map[string][]string // masters that voted yes on the SET of a token
	refused map[string]int      // per master: number of lock commands refused for lack of memory
	waiting []*waiter

	heard          bool                   // there was a vote
	granted        int                    // number of leases
	shownByClients []*clientEvidence      // faults whose effect only clients can show
	disturbed      map[string]disturbance // by master and client
	replies        replies
}

type waiter struct {
	match func(history.Op) bool
	wake  context.CancelCauseFunc
	op    history.Op
	seen  bool
}

func newWatch(r cluster.Runtime, ttl time.Duration) *watch {
	return &watch{
		runtime: r, held: map[string]*lease{}, voters: map[string][]string{}, refused: map[string]int{},
		disturbed: map[string]disturbance{}, replies: replies{ttl: ttl, took: map[[2]string]*recent{}},
	}
}

// observe is called with each operation, in order, before any process continues.
func (w *watch) observe(op history.Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := op.Value; v != nil {
		switch {
		case op.F == history.FVote:
			w.hear(op)
		case op.Process == history.Nemesis:
			w.disturb(op)
		}
		switch {
		case op.F == history.FAcquire && op.Type == history.OK:
			w.granted++
			w.held[v.Token] = &lease{client: op.Process, key: op.Key, token: v.Token, until: v.ValidUntil, since: op.Time}
		case op.F == history.FExtend && op.Type == history.OK && w.held[v.Token] != nil:
			w.held[v.Token].until = v.ValidUntil
		case op.F == history.FRelease && op.Type == history.Invoke:
			delete(w.held, v.Token)
			delete(w.voters, v.Token)
		case op.F == history.FVote && strings.Contains(op.Error, "OOM command not allowed"):
			w.refused[op.Process]++
		case op.F == history.FVote && v.Command == history.CommandSet && v.Yes:
			w.voters[v.Token] = append(w.voters[v.Token], op.Process)
		case op.F == history.FVote && v.Command == history.CommandRelease:
			// the attempt is over, and its token is not needed any more unless it got a lease
			if w.held[v.Token] == nil {
				delete(w.voters, v.Token)
			}
		}
	}
	if len(w.waiting) == 0 {
		return
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(x *waiter) bool {
		if !x.match(op) {
			return false
		}
		x.op, x.seen = op, true
		x.wake(errSeen)
		return true
	})
}

var errSeen = errors.New("seen")

// expect starts to wait for an operation that matches. wait sleeps until there was one, and
// returns false if ctx ended before.
func (w *watch) expect(ctx context.Context, match func(history.Op) bool) (wait func() bool) {
	x, seen := w.enlist(ctx, match)
	return func() bool {
		for w.runtime.Sleep(seen, time.Hour) == nil {
		}
		return w.delist(x)
	}
}

// await sleeps until an operation matches. ok is false if ctx ended or d passed before. Only
// operations after the call count.
func (w *watch) await(ctx context.Context, d time.Duration, match func(history.Op) bool) (op history.Op, ok bool) {
	x, seen := w.enlist(ctx, match)
	_ = w.runtime.Sleep(seen, d)
	ok = w.delist(x)
	return x.op, ok
}

func (w *watch) enlist(ctx context.Context, match func(history.Op) bool) (*waiter, context.Context) {
	seen, wake := w.runtime.WithCancelCause(ctx)
	x := &waiter{match: match, wake: wake}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, x)
	return x, seen
}

func (w *watch) delist(x *waiter) (seen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.wake(nil)
	w.waiting = slices.DeleteFunc(w.waiting, func(y *waiter) bool { return y == x })
	return x.seen
}

// latest returns the held lease that was granted last, and the masters that voted for it.
func (w *watch) latest(now time.Duration) (l lease, voters []string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var best *lease
	for token, x := range w.held {
		if x.until <= now {
			delete(w.held, token)
			delete(w.voters, token)
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(x.since, best.since), cmp.Compare(x.token, best.token)) > 0 {
			best = x
		}
	}
	if best == nil {
		return lease{}, nil, false
	}
	return *best, slices.Sorted(slices.Values(w.voters[best.token])), true
}

// votersOf returns the masters that voted for a token, as far as the history shows them.
func (w *watch) votersOf(token string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.voters[token]))
}

// blind reports whether so many leases were granted without a single vote that no votes can be
// expected.
func (w *watch) blind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.heard && w.granted >= grantsWithoutVotes
}

// grantsWithoutVotes is the number of leases that may come before the first vote: if votes are
// recorded at all, the first vote comes before the first lease.
const grantsWithoutVotes = 3

// refusals returns the number of lock commands that the masters refused because their memory
// was full.
func (w *watch) refusals(masters []string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range masters {
		n += w.refused[m]
	}
	return n
}

// trigger returns a function that reports whether an operation is the event of a trigger.
// CheckTrigger must have accepted the trigger. The names of keys in the history begin with prefix.
func trigger(s, prefix string) func(history.Op) bool {
	if m := stepPattern.FindStringSubmatch(s); m != nil {
		phase, ended := history.PhaseInstall, []history.Type{history.OK}
		if m[2] != "" { // the window is over, even if a master did not come back
			phase, ended = history.PhaseHeal, []history.Type{history.OK, history.Info}
		}
		return func(op history.Op) bool {
			return op.Process == history.Nemesis && op.Value != nil && op.Value.Params["step"] == m[1] && op.Value.Phase == phase && slices.Contains(ended, op.Type)
		}
	}
	m := eventPattern.FindStringSubmatch(s)
	f, typ := map[string]string{"acquires": history.FAcquire, "enters": history.FEnter, "writes": history.FWrite, "extends": history.FExtend, "releases": history.FRelease}[m[2]], history.OK
	if f == history.FEnter {
		typ = history.Info
	}
	return func(op history.Op) bool {
		return op.F == f && op.Type == typ && (m[1] == Any || op.Process == m[1]) && (m[3] == Any || op.Key == prefix+m[3])
	}
}
