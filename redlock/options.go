package redlock

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lockpick/redlock/protocol"
)

// Option changes a default. Given to New it holds for every lock of the client,
// given to Lock, TryLock or Do for that one lock.
type Option func(*settings)

type settings struct {
	ttl         time.Duration
	timeout     time.Duration // 0: from the TTL, see perMaster
	driftFactor float64
	driftFixed  time.Duration
	retryMin    time.Duration
	retryMax    time.Duration
	retryDelay  func(attempt int) time.Duration // nil: between the two
	maxAttempts int                             // 0: no limit
	maxHold     time.Duration                   // 0: from the TTL, see longest
	margin      time.Duration
	prefix      string
	recovers    bool
	sequential  bool
	fencing     bool
	wait        int
	wakeups     bool
	hooks       Hooks
	runtime     protocol.Runtime
}

func defaults() settings {
	return settings{
		ttl:         10 * time.Second,
		driftFactor: 0.01, driftFixed: 2 * time.Millisecond,
		retryMin: 20 * time.Millisecond, retryMax: 300 * time.Millisecond,
		runtime: protocol.RealTime{},
	}
}

// WithTTL sets for how long masters keep the lock of a client that does not
// release it: the auto-release time, and the most that a lease is valid for. The
// default is 10 s. Redis counts it in milliseconds, parts of one are cut off.
func WithTTL(ttl time.Duration) Option { return func(s *settings) { s.ttl = ttl } }

// WithTimeout sets for how long a master may be silent: one that has not answered
// anything for so long votes with an error. One that goes on answering others may take
// up to ten times as long. It should be small against the TTL (distlock, step 2), and
// above the time that connecting to a master and one command take together. The
// default, which 0 stands for, is TTL/20, at most 50 ms.
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// WithDrift sets the allowance for clocks that run at different rates: validity
// is TTL − elapsed − (factor·TTL + fixed) (distlock, "Safety arguments":
// CLOCK_DRIFT). The default is 0.01 and 2 ms; the 2 ms cover that Redis counts
// expiry in whole milliseconds.
func WithDrift(factor float64, fixed time.Duration) Option {
	return func(s *settings) { s.driftFactor, s.driftFixed = factor, fixed }
}

// WithRetryDelay sets the bounds of the random delay between attempts, which
// keeps contenders from splitting the votes again and again (distlock, "Retry on
// failure"). Each delay is drawn from the whole range, bounds included. The
// default is 20 to 300 ms. Equal bounds make the delay fixed, which invites what
// the randomness prevents.
func WithRetryDelay(min, max time.Duration) Option {
	return func(s *settings) { s.retryMin, s.retryMax, s.retryDelay = min, max, nil }
}

// WithRetryDelayFunc has f say how long to wait after an attempt that failed, the first
// being 1, instead of WithRetryDelay; below 0 is 0, and a nil f stands for WithRetryDelay. f is called by all who wait, at the same
// time. Let it return a random part of what it might (see WithRetryDelay), such as
// rand.N(min(20<<attempt, 1000)) milliseconds.
func WithRetryDelayFunc(f func(attempt int) time.Duration) Option {
	return func(s *settings) { s.retryDelay = f }
}

// WithMaxHold sets for how long after it was acquired a lease may be extended: without a
// bound a hung holder would keep the lock for ever (distlock, "Extending the lock"). Then
// it ends with ErrExtensionLimit. The default, which 0 stands for, is ten times the TTL.
func WithMaxHold(d time.Duration) Option { return func(s *settings) { s.maxHold = d } }

// WithMaxAttempts sets how often one Lock tries. Its error then wraps ErrRetryLimit. To
// wait in line for a key, behind others of the same Client, is no attempt. The default,
// which 0 stands for, is to try until the context ends.
func WithMaxAttempts(n int) Option { return func(s *settings) { s.maxAttempts = n } }

// WithMargin ends leases so long before they could be taken over (Lease.Until, and so its
// Context): time for the work to stop. The default is 0.
func WithMargin(d time.Duration) Option { return func(s *settings) { s.margin = d } }

// WithPrefix puts a prefix before every key on the masters. Errors and hooks name keys
// without it; a Vote names what the masters store. It is an option of New.
func WithPrefix(prefix string) Option { return func(s *settings) { s.prefix = prefix } }

// WithVoteRecovery has Extend win back votes that a lease has lost: it sets the key again
// on masters that have forgotten it, or never had it, once a quorum that still had it
// has prolonged it. A lease that is extended over hours then survives that its masters
// restart one after the other without persistence. It costs a SET on those masters.
func WithVoteRecovery() Option { return func(s *settings) { s.recovers = true } }

// WithSequential asks the masters one after the other, as the first text of the
// algorithm has it, instead of all at once. It is slower, and a larger window for
// split votes: there for comparison.
func WithSequential() Option { return func(s *settings) { s.sequential = true } }

// WithWait counts a master's vote only once so many of its replicas have the key (WAIT). It
// narrows what a failover can lose and does not close it: another replica may be
// promoted than the one that has heard of the key. The default is 0.
func WithWait(replicas int) Option { return func(s *settings) { s.wait = replicas } }

// WithFencing gives each lease a fencing token (Lease.Fence): a number that is
// higher than that of every lease before it on the same key. Every master counts
// while the lock is acquired, and the maximum is written back to a quorum of those
// that hold the lock, which costs one more round trip (see docs/performance.md). It grows monotonically as
// long as masters keep their data over restarts, and as long as all who lock the
// key use this option. A master counts under the key with ":fence" added, without
// expiry.
func WithFencing() Option { return func(s *settings) { s.fencing = true } }

// WithWakeups has Unlock publish that the lock is free, and waiting Lock calls listen for
// it, instead of trying now and then: hand-offs between processes take about a
// millisecond instead of a retry delay, and a waiter asks the less often the longer it
// waits. It needs all who lock the key to use this option; others are found out after a
// retry delay, as without it. It costs each master a PUBLISH per release, and each
// process that waits a second connection per master. The channel is the key with
// ":released" added. Where a master does not allow it (ACLs), or is down, nothing is
// lost but the wake-up. Masters made by other means than New ignore it, unless they are
// a Listener.
func WithWakeups() Option { return func(s *settings) { s.wakeups = true } }

// WithHooks has h told of every attempt, vote, extension and end. It replaces the
// hooks that were set before.
func WithHooks(h Hooks) Option { return func(s *settings) { s.hooks = h } }

// WithRuntime replaces real time. New and NewWithMasters take it; Lock, TryLock and
// Do ignore it, because a lease's times are comparable only on one clock.
func WithRuntime(r protocol.Runtime) Option { return func(s *settings) { s.runtime = r } }

// with applies options and checks the whole.
func (s settings) with(opts []Option) (settings, error) {
	for _, o := range opts {
		o(&s)
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

// perMaster is the timeout for one master's reply. It follows the TTL, also one
// that is given to a single Lock.
func (s *settings) perMaster() time.Duration {
	if s.timeout > 0 {
		return s.timeout
	}
	return min(s.ttl/20, 50*time.Millisecond)
}

// drift is what a lease is shortened by, because clocks run at different rates.
func (s *settings) drift() time.Duration {
	return time.Duration(s.driftFactor*float64(s.ttl)) + s.driftFixed
}

// validity is for how long a lease is valid from its start on.
func (s *settings) validity() time.Duration { return s.ttl - s.drift() - s.margin }

// longest is for how long a lease may be extended.
func (s *settings) longest() time.Duration {
	if s.maxHold > 0 {
		return s.maxHold
	}
	return 10 * min(s.ttl, math.MaxInt64/10)
}
