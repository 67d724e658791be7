package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// Lock is a lock under test, as one client uses it.
type Lock interface {
	// Acquire waits until the lock is granted or ctx ends.
	Acquire(ctx context.Context, key string) (Lease, error)
	Close() error
}

// Lease is a lease that a client holds.
type Lease interface {
	Token() string
	Until() time.Time // the end of its validity, on the Env's clock
	Fence() int64     // the fencing token; 0: none
	// Context returns a context that ends when the lease is known to be over.
	Context() context.Context
	// Extend returns the extended lease. An error that wraps redlock.ErrNotHeld, ErrLost,
	// ErrExpired or ErrExtensionLimit means that the lease was not extended; after any other error
	// it may or may not have been.
	Extend(ctx context.Context) (Lease, error)
	// Release releases the lock. An error that wraps redlock.ErrNotHeld, ErrLost or ErrExpired
	// means that the lock was no longer held; after any other error it may or may not be released.
	Release(ctx context.Context) error
}

// Writer is a lease whose holder writes to the guarded resource by itself: it checks the lease,
// writes its token into the resource if mark is set, and then sends the write. An error that wraps
// redlock.ErrExpired means that the write was not sent; ErrMarked means that the resource refused
// it.
type Writer interface {
	Write(value int64, mark bool) error
}

// Validator is a lease with a method of its own that reports whether it is valid. The client calls
// that method instead of reading a clock.
type Validator interface{ Valid() bool }

// Fixed is a lease whose end nobody can move: if Fixed is true, the lock has no extend, and no client calls it.
type Fixed interface{ Fixed() bool }

// AtLeast is a lease that may be valid for longer than Until says, if AtLeast is true.
type AtLeast interface{ AtLeast() bool }

// ErrGone says that a client has ended. Its current operation may or may not have happened.
var ErrGone = errors.New("the client has ended")

// Env is the environment of one client's lock.
type Env struct {
	Client  string         // c1, c2, …
	Process string         // name of the client's process: Client, unless several clients share one
	Start   int            // how many times the client has been started: 1, and one more after each crash
	Addrs   []string       // addresses of this client's links to the masters
	Access  cluster.Access // what it needs to use them
	// Dial connects to Addrs; nil: through the network.
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	Masters protocol.Masters // used instead of Addrs if the masters are simulated
	Runtime protocol.Runtime
	TTL     time.Duration
	Timeout time.Duration // per master; 0: the lock's default
	Fencing bool
	Kind    history.LockKind // which holds may overlap; empty: the lock's own kind
	Permits int              // how many a semaphore has
	Wait    int              // number of replicas that must have a key before a master's vote counts
	Hooks   redlock.Hooks    // for locks that run here

	// Pass is called at the points where the client may be stopped. It returns false if the client
	// was ended there. If it is nil, the client is not stopped.
	//
	// A lock without hooks calls Renewed when it has extended a lease without a call, and Ended
	// when it knows that a lease is over. Both may be nil.
	Pass    func(point, key string) bool
	Renewed func(key string, l Lease)
	Ended   func(key, token string, cause error)
	// Lost records that the lock has reported the end of a lease at a time (without a token: of
	// the lease on the key). It is for locks whose leases last until they report the end. It may
	// be nil.
	Lost func(key, token string, cause error, at time.Time)

	// Refuse ends the run, because the lock is used or adapted in a way that proves nothing; says is what to change. It
	// may be nil.
	Refuse func(says string)

	// These functions report messages of clients that are processes.
	Record func(op history.Op, ago time.Duration)            // the operation happened that long ago
	Skewed func(cluster.Clock)                               // the process uses that clock now, and its leases end by it
	Mark   func(key, token string)                           // the process writes its token into the resource
	Apply  func(key, token string, fence, value int64) error // the process writes to the resource; may return ErrMarked
	// Observe makes the client's links call vote with each vote that they see, and with the time at which
	// the reply was there, instead of the function given before. If Observe is nil, the links observe no votes.
	Observe func(vote func(op history.Op, at time.Time))
	// Settle waits, not for long, until all votes are known whose replies have arrived, and reports whether the votes
	// describe the lock. It is nil if Observe is.
	Settle         func() bool
	Env            []string // NAME=value, in addition to the harness's environment, for a process
	AcquireTimeout time.Duration
	Margin         time.Duration // time before the end of a lease at which a client stops relying on it
}

// Wall returns the time of day at the client, which may step. It is for incorrect locks that
// measure with it.
func (s Env) Wall() time.Time {
	if w, ok := s.Runtime.(WallClock); ok {
		return w.Wall()
	}
	return s.Runtime.Now()
}

// Implementation is a lock under test that can be selected by name: what is known of it, and how to make it.
type Implementation struct {
	Name    string
	Summary string           // one line
	Kind    history.LockKind // which holds may overlap; empty: a mutex
	Fencing bool             // it can give fencing tokens
	Masters Masters          // the masters that it says that it uses
	// Connects reports whether the lock reaches masters only by connections (Env.Addrs, Env.Dial), and
	// waits and reads the time by itself: it cannot use simulated masters that only answer calls.
	Connects  bool
	Reentrant bool // its documentation says that its holder can acquire it again
	Opaque    bool // masters do not store the token itself, so snapshots of them are not evidence
	Fair      bool // its documentation says that it serves waiters in the order of their calls
	Permits   int  // the most permits of a semaphore that one acquire can take; 0: all of them
	// Retry is the longest time for which a waiter, according to the lock's documentation, sends nothing although nobody
	// holds the key, at most MaxStated; 0: it states none.
	Retry time.Duration
	// DeadWaiter is how long the lock, according to its documentation, waits for each waiter that
	// has ended before it serves the next one, at most MaxStated; 0: it has no queue, or states no such time.
	DeadWaiter time.Duration
	// Renewals is how many times the lock, according to its documentation, extends a lease without
	// a call, each time after a third of the TTL. For that long it keeps the lock for a holder
	// that hangs. 0: it does not renew.
	Renewals int
	// Twin is the name of the same lock without the bug of this one; "" for a lock that is meant
	// to be correct.
	Twin   string
	Bug    string // the planted bug: b1 to b56
	Claims []int  // the claims of the catalogue about the lock
	New    func(Env) (Lock, error)
}

// MaxStated is the longest Retry and DeadWaiter of an Implementation, as no run waits for longer.
const MaxStated = time.Hour

// Can reports whether the lock can be used as one of a kind: its own, or a mutex if one of its clients can have it alone, or a re-entrant
// lock if its documentation says so.
func (k Implementation) Can(kind history.LockKind) bool {
	switch own := cmp.Or(k.Kind, history.Mutex); kind {
	case own:
		return true
	case history.Mutex:
		return own != history.Semaphore
	case history.Reentrant:
		return k.Reentrant
	}
	return false
}

// NamesOfKind lists the locks of a kind that are meant to be correct.
func NamesOfKind(kind history.LockKind) []string {
	return named(slices.DeleteFunc(slices.Clone(correct), func(k Implementation) bool { return cmp.Or(k.Kind, history.Mutex) != kind }))
}

// HungHolder returns the longest time for which the lock, according to its documentation, may be
// kept for a holder that hangs, if each renewal takes at most the timeout of a master; 0: not
// longer than a TTL.
func (k Implementation) HungHolder(ttl, timeout time.Duration) time.Duration {
	if k.Renewals == 0 {
		return 0
	}
	return ttl + time.Duration(k.Renewals)*(ttl/3+timeout)
}

// Shows names the bug and the claims that a lock demonstrates: "b4", "claim 6", "b14, claims 13
// and 50".
func (k Implementation) Shows() string {
	var claims []string
	for _, n := range k.Claims {
		claims = append(claims, strconv.Itoa(n))
	}
	what := k.Bug
	if len(claims) > 0 && what != "" {
		what += ", "
	}
	switch len(claims) {
	case 0:
		return what
	case 1:
		return what + "claim " + claims[0]
	}
	last := len(claims) - 1
	return what + "claims " + strings.Join(claims[:last], ", ") + " and " + claims[last]
}

// Quorum returns how many of n masters a lease of a lock of this kind needs; 0: the lock does not say.
func (k Implementation) Quorum(n int) int {
	switch {
	case n == 1 || k.Masters == OneMaster:
		return 1
	case k.Masters == AllMasters:
		return n/2 + 1
	}
	return 0
}

// Locks lists the locks under test: first those that are meant to be correct, then the folklore
// and the planted bugs.
var Locks = ownLocks(correct, folklore, redissons, planted, plantedShared, plantedMulti)

// ownLocks joins lists of locks. Each of them uses all masters, unless it says that it uses one.
func ownLocks(lists ...[]Implementation) []Implementation {
	all := slices.Concat(lists...)
	for i := range all {
		all[i].Masters = cmp.Or(all[i].Masters, AllMasters)
	}
	return all
}

// correct lists the locks that are meant to be correct.
var correct = slices.Concat(redlocks, textbooks, fairs, shareds, multis)

// registered holds the locks of programs that use this project as a library.
var registered = struct {
	sync.RWMutex
	kinds map[string]Implementation
}{kinds: map[string]Implementation{}}

// RegisterLock makes a lock available by its name until the program ends. It returns an error if
// the name exists.
func RegisterLock(k Implementation) error {
	if k.Retry < 0 || k.Retry > MaxStated {
		return fmt.Errorf("the lock %q states a longest pause of %v between two attempts: it is from 0 to %v", k.Name, k.Retry, MaxStated)
	}
	if k.DeadWaiter < 0 || k.DeadWaiter > MaxStated {
		return fmt.Errorf("the lock %q states that it waits %v for a waiter that is gone: it is from 0 to %v", k.Name, k.DeadWaiter, MaxStated)
	}
	registered.Lock()
	defer registered.Unlock()
	_, taken := registered.kinds[k.Name]
	if taken || slices.ContainsFunc(Locks, func(o Implementation) bool { return o.Name == k.Name }) {
		return fmt.Errorf("there is a lock %q already", k.Name)
	}
	registered.kinds[k.Name] = k
	return nil
}

// Registered lists the locks of programs that use this project as a library, by name.
func Registered() []Implementation {
	registered.RLock()
	defer registered.RUnlock()
	return slices.SortedFunc(maps.Values(registered.kinds), func(a, b Implementation) int { return strings.Compare(a.Name, b.Name) })
}

// LockNamed finds a lock under test.
func LockNamed(name string) (Implementation, bool) {
	if i := slices.IndexFunc(Locks, func(k Implementation) bool { return k.Name == name }); i >= 0 {
		return Locks[i], true
	}
	registered.RLock()
	defer registered.RUnlock()
	k, ok := registered.kinds[name]
	return k, ok
}

// CorrectNames lists the names of the locks that are meant to be correct, the user's own first.
func CorrectNames() []string { return append(named(Registered()), named(correct)...) }

// LockNames lists the names of all locks.
func LockNames() []string { return named(Locks) }

func named(kinds []Implementation) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}
