package workload

import (
	"context"
	"errors"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
)

// Lock is a lock under test, as one client uses it.
type Lock interface {
	// Acquire waits until the lock is granted or ctx ends.
	Acquire(ctx context.Context, key string) (Lease, error)
	Close() error
}

// Lease is what a client holds.
type Lease interface {
	Token() string
	Until() time.Time // the end of its validity, on the Site's clock
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
// lease, and then sends the write. An error that wraps redlock.ErrExpired says that it
// was not sent.
type Writer interface {
	Write(value int64) error
}

// ErrGone says that a client has ended: what it was about may or may not have happened.
var ErrGone = errors.New("the client has ended")

// Site is where one client's lock lives.
type Site struct {
	Client  string          // c1, c2, …
	Addrs   []string        // of the masters, through this client's links
	Masters redlock.Masters // instead of Addrs, where masters are simulated
	Runtime redlock.Runtime
	TTL     time.Duration
	Timeout time.Duration // per master; 0: the lock's default
	Fencing bool
	Wait    int           // replicas that must have a key before a master's vote counts
	Hooks   redlock.Hooks // for locks that run here

	// For clients that are processes: what they tell, and where they are. Pass is false
	// if the client was ended there.
	Record         func(history.Op)
	Pass           func(point, key string) bool
	Bent           func(cluster.Clock) // the process goes by that clock now; its leases' ends are those by it
	Apply          func(key, token string, fence, value int64)
	AcquireTimeout time.Duration
	Margin         time.Duration // how long before its end a lease is not relied on
}

// Wall is the time of day where the client is, which may step: for locks that measure
// with it, as no lock should.
func (s Site) Wall() time.Time {
	if w, ok := s.Runtime.(WallClock); ok {
		return w.Wall()
	}
	return s.Runtime.Now()
}

// Kind is a lock under test that can be asked for by name.
type Kind struct {
	Name    string
	Summary string // one line
	Fencing bool   // it can give fencing tokens
	New     func(Site) (Lock, error)
}

// Locks are the locks under test.
var Locks = []Kind{
	{
		Name: "redlock", Fencing: true,
		Summary: "Redlock: all masters at once, a majority, validity checked",
		New:     func(s Site) (Lock, error) { return newRedlock(s) },
	},
	{
		Name: "redlock-sequential", Fencing: true,
		Summary: "Redlock as its first text has it: one master after the other",
		New:     func(s Site) (Lock, error) { return newRedlock(s, redlock.WithSequential()) },
	},
	{
		Name: "single", Fencing: true,
		Summary: "SET NX PX and a compare-and-delete script on the first master alone",
		New:     func(s Site) (Lock, error) { return newRedlock(s.first()) },
	},
}

// LockNamed finds a lock under test.
func LockNamed(name string) (Kind, bool) {
	for _, k := range Locks {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// LockNames lists the names.
func LockNames() []string {
	var names []string
	for _, k := range Locks {
		names = append(names, k.Name)
	}
	return names
}
