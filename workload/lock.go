package workload

import (
	"context"
	"errors"
	"fmt"
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
	Fence() int64     // 0: none
	// Context ends when the lease is known to be over.
	Context() context.Context
	// Extend returns the prolonged lease. An error that wraps redlock.ErrNotHeld,
	// ErrLost, ErrExpired or ErrExtensionLimit says that it was not prolonged; any
	// other, that the outcome is not known.
	Extend(ctx context.Context) (Lease, error)
	// Release gives the lock back. An error that wraps redlock.ErrNotHeld, ErrLost
	// or ErrExpired says that it was no longer held; any other, that the outcome is
	// not known.
	Release(ctx context.Context) error
}

// Writer is a lease whose holder writes to the guarded resource by itself: it checks the
// lease, puts its token into the resource if it is to mark that, and then sends the write.
// An error that wraps redlock.ErrExpired says that it was not sent; ErrMarked, that the
// resource refused it.
type Writer interface {
	Write(value int64, mark bool) error
}

// Validator is a lease that says of itself whether it is valid. Its client asks that, and
// not what time it is.
type Validator interface{ Valid() bool }

// ErrGone says that a client has ended: its current operation may or may not have happened.
var ErrGone = errors.New("the client has ended")

// Env is where one client's lock lives.
type Env struct {
	Client string   // c1, c2, …
	Addrs  []string // of the masters, through this client's links
	// Dial connects to them; nil: the network does.
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	Masters protocol.Masters // instead of Addrs, where masters are simulated
	Runtime protocol.Runtime
	TTL     time.Duration
	Timeout time.Duration // per master; 0: the lock's default
	Fencing bool
	Wait    int           // replicas that must have a key before a master's vote counts
	Hooks   redlock.Hooks // for locks that run here

	// Pass is where the client may be stopped, and false if it was ended there; nil: it is
	// not. Renewed tells of a lease that the lock has extended by itself, Ended of one that is
	// known to be over, if the lock has no hook for it; both may be nil.
	Pass    func(point, key string) bool
	Renewed func(key string, l Lease)
	Ended   func(key, token string, cause error)

	// For clients that are processes: what they report.
	Record func(op history.Op, ago time.Duration)            // it happened so long ago
	Bent   func(cluster.Clock)                               // the process goes by that clock now; its leases' ends are those by it
	Mark   func(key, token string)                           // it puts its token into the resource
	Apply  func(key, token string, fence, value int64) error // it writes to the resource, which may refuse (ErrMarked)
	// Observe has vote called with what the client's links see of masters' votes; nil: they see nothing. It replaces
	// what was called before.
	Observe        func(vote func(history.Op))
	Env            []string // of the process, beside the harness's own: NAME=value
	AcquireTimeout time.Duration
	Margin         time.Duration // how long before its end a lease is not relied on
}

// Wall is the time of day where the client is, which may step: for locks that measure
// with it, as no lock should.
func (s Env) Wall() time.Time {
	if w, ok := s.Runtime.(WallClock); ok {
		return w.Wall()
	}
	return s.Runtime.Now()
}

// Kind is a lock under test that can be selected by name.
type Kind struct {
	Name    string
	Summary string // one line
	Fencing bool   // it can give fencing tokens
	First   bool   // it lives on the first master alone
	Opaque  bool   // masters do not store the token itself: snapshots of them are not evidence
	// DeadWaiter is how long the lock, as documented, waits for each waiter that is gone before
	// it serves the next one; 0: it has no queue.
	DeadWaiter time.Duration
	// Renewals is how often the lock, as documented, extends a lease by itself, each third of a
	// TTL: so long it keeps the lock for a holder that hangs. 0: it does not.
	Renewals int
	// Twin is the same lock without the bug of this one, which passes the same test; ""
	// for a lock that is meant to be right.
	Twin   string
	Bug    string // the planted bug: b1 to b22
	Claims []int  // of the catalogue that are about it
	New    func(Env) (Lock, error)
}

// HungHolder is for how long at most the lock, as documented, may be kept for a holder that
// hangs, each renewal taking no longer than a master's timeout; 0: for no longer than a TTL.
func (k Kind) HungHolder(ttl, timeout time.Duration) time.Duration {
	if k.Renewals == 0 {
		return 0
	}
	return ttl + time.Duration(k.Renewals)*(ttl/3+timeout)
}

// Shows is what a lock with a bug demonstrates: "b4", "claim 6", "b14, claims 13 and 50".
func (k Kind) Shows() string {
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

// Quorum is how many of n masters a correct lock of this kind needs.
func (k Kind) Quorum(n int) int {
	if k.First {
		return 1
	}
	return n/2 + 1
}

// Locks are the locks under test: those that are meant to be right first, then the folklore
// and those with a planted bug.
var Locks = slices.Concat(correct, folklore, redissons, planted)

// correct are the locks that are meant to be right.
var correct = slices.Concat(redlocks, textbooks, fairs)

// registered are locks of programs that use this project as a library.
var registered = struct {
	sync.RWMutex
	kinds map[string]Kind
}{kinds: map[string]Kind{}}

// RegisterLock has a lock known by its name, for as long as the program runs. The name of a lock
// that exists is refused.
func RegisterLock(k Kind) error {
	registered.Lock()
	defer registered.Unlock()
	_, taken := registered.kinds[k.Name]
	if taken || slices.ContainsFunc(Locks, func(o Kind) bool { return o.Name == k.Name }) {
		return fmt.Errorf("there is a lock %q already", k.Name)
	}
	registered.kinds[k.Name] = k
	return nil
}

// LockNamed finds a lock under test.
func LockNamed(name string) (Kind, bool) {
	if i := slices.IndexFunc(Locks, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return Locks[i], true
	}
	registered.RLock()
	defer registered.RUnlock()
	k, ok := registered.kinds[name]
	return k, ok
}

// CorrectNames lists the names of the locks that are meant to be correct.
func CorrectNames() []string { return named(correct) }

// LockNames lists the names of all.
func LockNames() []string { return named(Locks) }

func named(kinds []Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}
