package redlock

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lockpick/redlock/protocol"
)

// Option changes a default of New: it applies to every lock of the Client. Options are checked
// when they are used: a bad value is an error of that call. Durations are on the clock of the
// client, unless an option says otherwise.
type Option interface{ apply(*settings) }

// CallOption is an Option that Lock, TryLock, LockAll and Do take, too. There it applies to that
// call and its leases.
type CallOption interface {
	Option
	call()
}

type clientOption func(*settings)

func (o clientOption) apply(s *settings) { o(s) }

type callOption func(*settings)

func (o callOption) apply(s *settings) { o(s) }
func (callOption) call()               {}

type settings struct {
	ttl         time.Duration
	timeout     time.Duration // 0: see Client.perMaster
	driftFactor float64
	driftFixed  time.Duration
	retryMin    time.Duration
	retryMax    time.Duration
	retryDelay  func(attempt int) time.Duration // nil: random, from retryMin to retryMax
	maxAttempts int                             // 0: no limit
	maxHold     time.Duration                   // 0: see holdLimit
	margin      time.Duration
	prefix      string
	recovers    bool
	sequential  bool
	fencing     bool
	wait        int
	wakeups     bool
	hooks       Hooks
	suspect     func(MasterHealth)
	runtime     protocol.Runtime
}

// DefaultRetryMax is the longest delay after a failed attempt, unless WithRetryDelay sets another.
const DefaultRetryMax = 300 * time.Millisecond

func defaults() settings {
	return settings{
		ttl:         10 * time.Second,
		driftFactor: 0.01, driftFixed: 2 * time.Millisecond,
		retryMin: 20 * time.Millisecond, retryMax: DefaultRetryMax,
		runtime: protocol.RealTime{},
	}
}

// WithTTL sets how long masters keep a lock that is neither released nor extended (distlock:
// auto-release time). A lease is valid for a shorter time: see Lease.Until. The default is
// 10 s. The TTL is truncated to whole milliseconds, the unit of PX.
func WithTTL(ttl time.Duration) CallOption { return callOption(func(s *settings) { s.ttl = ttl }) }

// WithTimeout sets how long a master may take to reply: after that, its vote is an error.
// It should be small compared to the TTL, so that a failed attempt costs little of it
// (distlock, step 2), and greater than the time that one command takes.
//
// The default, which 0 selects, is TTL/20, at most 50 ms. If the round trip to the slowest
// master is so long that four of them take longer, the default is four round trips, at
// most TTL/4. The round trip is measured; before the first reply it is not known.
//
// A command has more time in two cases. To a master that is not connected yet it may take
// 20 times the timeout, at most 2 s, because connecting is part of it (releases excepted).
// To a master that answers other commands meanwhile, and so is merely busy, it may take
// ten times the timeout.
func WithTimeout(d time.Duration) CallOption { return callOption(func(s *settings) { s.timeout = d }) }

// WithDrift sets the allowance for clocks that run at different rates, factor·TTL + fixed. It
// shortens the validity of a lease (distlock, "Safety arguments": CLOCK_DRIFT). The default
// is 0.01 and 2 ms; the 2 ms are there because Redis expires keys in whole milliseconds.
func WithDrift(factor float64, fixed time.Duration) CallOption {
	return callOption(func(s *settings) { s.driftFactor, s.driftFixed = factor, fixed })
}

// WithRetryDelay sets the bounds of the random delay after a failed attempt. Each delay is
// drawn uniformly from min to max, both included. The default is 20 to 300 ms. Equal
// bounds make the delay constant: clients that split the votes once are then likely to
// split them again (distlock, "Retry on failure").
func WithRetryDelay(min, max time.Duration) CallOption {
	return callOption(func(s *settings) { s.retryMin, s.retryMax, s.retryDelay = min, max, nil })
}

// WithRetryDelayFunc sets a function that returns the delay after a failed attempt, and
// replaces WithRetryDelay. The first attempt is 1. A negative delay counts as 0, and a nil
// f restores WithRetryDelay. Several goroutines may call f at the same time. Its result
// should be random (see WithRetryDelay), for example
// rand.N(min(20<<attempt, 1000)) milliseconds.
func WithRetryDelayFunc(f func(attempt int) time.Duration) CallOption {
	return callOption(func(s *settings) { s.retryDelay = f })
}

// WithMaxHold limits how long a lock can be held by extending its lease, counted from the
// start of the attempt that acquired it: without a limit a holder that hangs keeps the
// lock forever (distlock, "Extending the lock"). At the limit the lease ends with
// ErrExtensionLimit. The limit does not shorten the first lease. The default, which 0
// selects, is ten times the TTL.
func WithMaxHold(d time.Duration) CallOption { return callOption(func(s *settings) { s.maxHold = d }) }

// WithMaxAttempts limits the attempts of one Lock. After the last one, its error wraps
// ErrRetryLimit. Waiting in the queue behind other callers of the same Client is not an
// attempt. The default, which 0 selects, is no limit.
func WithMaxAttempts(n int) CallOption { return callOption(func(s *settings) { s.maxAttempts = n }) }

// WithMargin ends leases earlier than safety requires (Lease.Until and Lease.Context), so
// that the work has time to stop before another client can acquire the lock. The default
// is 0. The margin must be shorter than the validity that remains after the drift
// allowance.
func WithMargin(d time.Duration) CallOption { return callOption(func(s *settings) { s.margin = d }) }

// WithPrefix adds a prefix to every key on the masters. Errors and hooks name keys without
// it, except that Vote.Key is the key on the masters.
func WithPrefix(prefix string) Option { return clientOption(func(s *settings) { s.prefix = prefix }) }

// WithVoteRecovery makes Extend win back lost votes: after a quorum that still stored the
// token has prolonged it, Extend also sends a SET NX to the masters that did not. A lease
// that is extended over hours then survives masters that restart one after the other
// without persistence. The votes count from the next extension on. The SET NX costs
// nothing if all masters prolonged the key.
func WithVoteRecovery() CallOption { return callOption(func(s *settings) { s.recovers = true }) }

// WithSequential sends SET to one master after the other, as distlock's step 2 describes,
// instead of to all at once. It exists for comparison: it is slower, and clients split the
// votes more often.
func WithSequential() CallOption { return callOption(func(s *settings) { s.sequential = true }) }

// WithWait makes a master's vote on a SET or an extension count only if the given number of
// its replicas have confirmed the command (WAIT, for up to three quarters of the timeout
// per master). A failover then loses fewer locks, but it can still lose some: it may
// promote a replica that has not received the key. The default is 0.
func WithWait(replicas int) CallOption { return callOption(func(s *settings) { s.wait = replicas }) }

// WithFencing gives each lease a fencing token (Lease.Fence): a number that is greater
// than the numbers of all earlier leases on the same key. Each master increments a counter
// when it sets the key. The highest counter is the token, and is written back to a quorum
// of the masters that store the lease's key, which costs one more round trip (see
// docs/performance.md). Tokens increase as long as masters keep their data when they
// restart, and all clients that lock the key use this option. The counter's key is the
// lock's key on the masters with ":fence" appended. It never expires.
func WithFencing() CallOption { return callOption(func(s *settings) { s.fencing = true }) }

// WithWakeups makes Unlock publish that the lock is free, and makes a waiting Lock
// subscribe to these messages. On average one waiter tries at once, so a hand-off between
// processes takes about a millisecond, and rarely 10 ms or a retry delay. A waiter polls less
// often the longer it waits.
//
// All clients that lock the key should use this option: waiters notice a release without a
// message only after a retry delay. Each release costs each master a PUBLISH, and each
// process with a waiter keeps a second connection to some of the masters. The channel is the
// lock's key on the masters with ":released" appended. If a master does not permit publishing
// or subscribing (ACLs), or is down, the waiters poll. Masters that do not come from New
// ignore the option unless they implement protocol.Listener.
func WithWakeups() CallOption { return callOption(func(s *settings) { s.wakeups = true }) }

// WithHooks sets the functions to call on every attempt, vote, extension and end of a
// lease. They replace all hooks that were set before: an option of Lock replaces those of
// New.
func WithHooks(h Hooks) CallOption { return callOption(func(s *settings) { s.hooks = h }) }

// WithSuspect sets the function to call when a master becomes suspect (Err is the reason), and
// when it recovers (Err is nil). Calls may be concurrent, and f should return quickly. Masters
// that are not protocol.Monitor do not call it.
func WithSuspect(f func(MasterHealth)) Option {
	return clientOption(func(s *settings) { s.suspect = f })
}

// WithRuntime replaces real time, for simulations. All leases of a Client are on one clock.
func WithRuntime(r protocol.Runtime) Option { return clientOption(func(s *settings) { s.runtime = r }) }

// with returns settings with options applied, after it has checked them.
func with[O Option](s settings, opts []O) (settings, error) {
	for _, o := range opts {
		o.apply(&s)
	}
	s.ttl = s.ttl.Truncate(time.Millisecond)
	switch {
	case s.ttl <= 0:
		return s, errors.New("redlock: the TTL must be at least 1ms")
	case s.timeout < 0:
		return s, fmt.Errorf("redlock: the timeout per master is %v: it must be positive, or 0 for the default", s.timeout)
	case !(s.driftFactor >= 0 && s.driftFactor < 1) || s.driftFixed < 0: // also NaN
		return s, fmt.Errorf("redlock: the drift allowance is a factor of %v and %v: the factor must be from 0 to below 1, the time not negative", s.driftFactor, s.driftFixed)
	case s.ttl-s.driftFixed <= s.drift()-s.driftFixed:
		return s, fmt.Errorf("redlock: a TTL of %v leaves no validity after the drift allowance of %v: choose a longer TTL", s.ttl, s.drift())
	case s.retryMin < 0 || s.retryMax < s.retryMin:
		return s, fmt.Errorf("redlock: a retry delay between %v and %v: the first must not be negative, nor above the second", s.retryMin, s.retryMax)
	case s.wait < 0:
		return s, fmt.Errorf("redlock: wait for %d replicas: it must not be negative", s.wait)
	case s.maxHold < 0:
		return s, fmt.Errorf("redlock: a lease may be extended for %v: it must be positive, or 0 for the default", s.maxHold)
	case s.maxAttempts < 0:
		return s, fmt.Errorf("redlock: at most %d attempts: it must be positive, or 0 for no limit", s.maxAttempts)
	case s.margin < 0 || s.margin >= s.ttl-s.drift():
		return s, fmt.Errorf("redlock: a margin of %v: it must not be negative, and below the validity of %v", s.margin, s.ttl-s.drift())
	case s.runtime == nil:
		return s, errors.New("redlock: the runtime is nil")
	}
	return s, nil
}

// perMaster returns the timeout for one master's reply, without regard to round trips (see
// Client.perMaster). The default depends on the TTL of the call.
func (s *settings) perMaster() time.Duration {
	if s.timeout > 0 {
		return s.timeout
	}
	return min(s.ttl/20, 50*time.Millisecond)
}

// drift returns the allowance for clocks that run at different rates, by which a lease is
// shorter.
func (s *settings) drift() time.Duration {
	return time.Duration(s.driftFactor*float64(s.ttl)) + s.driftFixed
}

// validity returns how long a lease is valid, from the time before its first command.
func (s *settings) validity() time.Duration { return s.ttl - s.drift() - s.margin }

// holdLimit returns how long a lock can be held by extending its lease.
func (s *settings) holdLimit() time.Duration {
	if s.maxHold > 0 {
		return s.maxHold
	}
	return 10 * min(s.ttl, math.MaxInt64/10)
}
