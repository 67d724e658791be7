package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// client is one user of the lock.
type client struct {
	w             *Workload
	name          string
	number        int
	env           Env
	program       *program // the program that the client is part of; nil: it is a process of its own
	clock         *Clock
	random        *rand.Rand
	written       int64         // number of its writes
	sectionLength time.Duration // length of the current critical section, if it has arrivals

	mu             sync.Mutex // for callers that change the clock; the client itself reads lock without it
	lock           Lock       // a new one after each restart of the client
	lease          Lease      // the lease that it holds; nil: none
	key            string
	outer          keyedLease // the lease that it holds beside, of a re-entrant lock that it has acquired again
	outerLost      bool       // the lock said that the outer lease is over, at the time lost
	released       keyedLease // the lease that it released last, since it was started
	leaseLost      bool       // the lock said, at the time lost, that the lease is over
	lost           time.Duration
	requestedClock *cluster.Clock          // the latest setting that was ordered; nil if there was none
	confirmedClock cluster.Clock           // the setting that it certainly uses
	wake           context.CancelCauseFunc // ends its current sleep; may be nil

	calls calls
	redis RedisKeys
	out   bool // it has no lock, because making the lock panicked

	answered bool // an acquire has returned
}

// work acquires and uses the lock until ctx ends.
func (c *client) work(ctx context.Context) {
	if len(c.w.config.Arrivals) > 0 {
		c.arrive(ctx)
		return
	}
	for ctx.Err() == nil {
		if !c.use(ctx, c.drawKeys()) {
			return
		}
		_ = c.clock.Sleep(ctx, c.upTo(c.w.config.Think))
	}
}

// use acquires a key, works in its critical section, and releases it. It returns false if the client
// has ended permanently.
func (c *client) use(ctx context.Context, key string) bool {
	share := c.share()
	lease, alive := c.acquire(ctx, key, share, c.patience())
	if lease != nil {
		if lease, alive = c.section(ctx, key, lease, share); alive {
			alive = c.release(key, lease) && c.afterRelease(ctx, key, lease)
		}
	}
	return alive || c.startAnew(ctx)
}

// finalCheck acquires and releases each key, and waits at most bound for each. It asks again if it is refused earlier: some
// locks do not wait, and some notice only by a failed command that a fault has broken their connection. Its pauses are so short that the
// checkers count them as waiting.
func (c *client) finalCheck(ctx context.Context, bound time.Duration) {
	if _, absent := c.lock.(noProcess); absent && !c.startAnew(ctx) {
		return
	}
	for i := range c.w.keys {
		if ctx.Err() != nil {
			return
		}
		key := c.finalKeys(i)
		end, pause := c.w.runtime.Now().Add(bound), history.AskingGapWithin(bound)/5
		lease, alive := c.acquire(ctx, key, c.share(), bound)
		for lease == nil && alive {
			rest := end.Sub(c.w.runtime.Now())
			if rest <= 0 || c.w.runtime.Sleep(ctx, min(pause, rest)) != nil {
				break
			}
			lease, alive = c.acquire(ctx, key, c.share(), max(pause, rest-pause))
		}
		if lease != nil {
			alive = c.release(key, lease)
		}
		if !alive && !c.startAnew(ctx) {
			return
		}
	}
}

// died records that the client, and with it its lease, has ended without an order of the nemesis.
func (c *client) died(err error) {
	v := &history.Value{}
	key, token := c.w.lease(c.name)
	v.Token = token
	if l, ok := c.lock.(interface{ LastRequest() string }); ok && l.LastRequest() != "" {
		err = fmt.Errorf("%w after it was sent %s", err, l.LastRequest())
	}
	if l, ok := c.lock.(interface{ LastWords() string }); ok && l.LastWords() != "" {
		err = fmt.Errorf("%w, and had said: %s", err, l.LastWords())
	}
	c.record(history.Info, history.FCrash, key, v, err)
	if !c.answered && errors.Is(err, errDied) && c.env.Refuse != nil {
		c.env.Refuse(fmt.Sprintf("the client %s has never answered an acquire: %v", c.name, err))
	}
}

var errDied = errors.New("its process ended by itself")

// StartWithin is the additional time that the start of a process may take, compared to other calls:
// loading an interpreter and a library takes seconds on a busy machine, and the lock is not the
// cause.
const StartWithin = 50 * time.Second

// newLock makes the client's lock. If that panics, the client ends permanently.
func (c *client) newLock() (lock Lock, err error) {
	limit := c.limit()
	if c.w.config.Processes {
		limit += StartWithin
	}
	if !c.in(commandNew, "", limit, func() { lock, err = c.makeLock() }) {
		c.out = true
		return noLock{}, nil
	}
	return lock, err
}

func (c *client) makeLock() (Lock, error) {
	if c.program != nil {
		return c.program.open(c)
	}
	c.env.Start++
	return c.w.config.Lock.New(c.env)
}

// closeLock closes the client's lock.
func (c *client) closeLock() (err error) {
	lock := c.lock
	c.in(commandClose, "", c.limit(), func() { err = lock.Close() })
	return err
}

// renew gives the client its new lock. If the lock has a clock of its own, renew sets it like the
// client's machine.
func (c *client) renew(lock Lock) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lock = lock
	c.confirmedClock = cluster.Clock{}
	if c.requestedClock == nil {
		return nil
	}
	b, ok := lock.(skewable)
	if !ok {
		c.confirmedClock = *c.requestedClock
		return nil
	}
	now, err := b.SetClock(*c.requestedClock)
	if now {
		c.confirmedClock = *c.requestedClock
	}
	if errors.Is(err, ErrGone) || errors.Is(err, ErrNoSkew) { // its next call reports that it has ended again
		return nil
	}
	return err
}

// noLock replaces a lock that could not be made.
type noLock struct{}

func (noLock) Acquire(context.Context, string) (Lease, error) { return nil, ErrGone }
func (noLock) Close() error                                   { return nil }

// registered announces the lock of a client that is a process.
func (c *client) registered() {
	if p, ok := c.lock.(Process); ok {
		c.w.Pauses.register(c.name, p)
	}
}

// acquire returns the lease, or nil; alive is false if the client has ended.
func (c *client) acquire(ctx context.Context, key string, share Share, timeout time.Duration) (lease Lease, alive bool) {
	c.record(history.Invoke, history.FAcquire, key, share.asks(), nil)
	waiting, end := c.w.runtime.WithCancelCause(c.calling(ctx))
	if _, ok := c.lock.(Process); ok { // a process needs the timeout in the request
		waiting = bounded{waiting, c.w.runtime.Now().Add(timeout)}
	}
	var err error
	giveUp := func() { end(fmt.Errorf("not acquired within %v", timeout)) }
	alive = c.inUntil(commandAcquire, key, timeout, giveUp, func() {
		if lease, err = AcquireShare(waiting, c.lock, key, share); lease == nil && err == nil {
			err = errNeither
		}
	})
	end(nil)
	if !alive || errors.Is(err, ErrGone) {
		return nil, false // the call did not return in time, so it promises nothing
	}
	c.answered = true
	if err != nil {
		c.record(history.Fail, history.FAcquire, key, nil, err)
		return nil, true
	}
	c.granted(history.FAcquire, key, lease, history.Value{Fence: lease.Fence(), Fixed: fixed(lease), AtLeast: atLeast(lease), Mode: share.Mode, Permits: share.Permits})
	return lease, true
}

// bounded is a context that states its deadline. The runtime ends it.
type bounded struct {
	context.Context
	end time.Time
}

func (b bounded) Deadline() (time.Time, bool) { return b.end, true }

// granted keeps a lease and records the end of its validity, with what else v says. It does both at once, so that a
// change of the clock is recorded either before or after the lease.
func (c *client) granted(f, key string, l Lease, v history.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lease, c.key, c.leaseLost = l, key, false
	v.Token, v.ValidUntil = l.Token(), c.until(l)
	c.record(history.OK, f, key, &v, nil)
}

// renewed records that the lock has extended the client's lease without a call.
func (c *client) renewed(key string, l Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil && includes(c.key, key) && c.lease.Token() == l.Token() {
		c.record(history.OK, history.FExtend, c.key, &history.Value{Token: l.Token(), ValidUntil: c.until(l)}, nil)
	}
}

// until converts the end of a lease's validity to a time of the run. A lease without an end has none on any clock.
func (c *client) until(l Lease) time.Duration {
	if c.w.since(l.Until()) > history.Endless/2 {
		return history.Endless
	}
	return c.trueTime(l.Until())
}

// trueTime converts a time that the lock stated to a time of the run. A lock that is a process
// states true times, all other locks state times on the client's clock.
func (c *client) trueTime(t time.Time) time.Duration {
	if _, ok := c.lock.(Process); ok {
		return c.w.since(t)
	}
	return c.w.since(c.clock.True(t))
}

// section is the critical section: the client enters, reads and writes a few times as the Protocol
// requires, and leaves. It returns the lease after its last extension; alive is false if the client
// has ended.
func (c *client) section(ctx context.Context, key string, lease Lease, share Share) (_ Lease, alive bool) {
	if !c.valid(lease) {
		return lease, true
	}
	if !c.pass(BeforeEnter, key, lease) {
		return lease, false
	}
	c.record(history.Info, history.FEnter, key, &history.Value{Token: lease.Token()}, nil)

	if !c.acquireAgain(ctx, key, lease) || !c.nest(ctx, key, lease) {
		return lease, false
	}
	hold := c.stretch()
	guarded := KeysOf(key)[0] // the key whose resource the client uses
	writes := 1 + c.random.IntN(3)
	for i := range writes {
		if lease, share, alive = c.changeMode(key, lease, share); !alive {
			return lease, false
		}
		stayInside, alive := c.begin(guarded, lease, share, i == 0)
		if !alive {
			return lease, false
		}
		if !stayInside {
			break
		}
		step := hold / time.Duration(writes)
		if lease, alive = c.stay(ctx, key, lease, step, step*time.Duration(writes-i)); !alive {
			return lease, false
		}
		if !c.awake(lease) {
			return lease, false
		}
		if !c.valid(lease) {
			break
		}
		if c.writes(share) {
			stayInside, alive = c.write(guarded, lease)
		} else {
			alive = c.pass(BeforeWrite, key, lease) // it can be stopped in its section as others are
		}
		if !alive {
			return lease, false
		}
		if !stayInside || ctx.Err() != nil {
			break
		}
	}
	if !c.awake(lease) {
		return lease, false
	}
	c.leave(key, lease)
	return lease, true
}

// awake waits until the client is not stopped, and reports whether it is alive. Only a process can
// be stopped without noticing it.
func (c *client) awake(lease Lease) bool {
	c.w.Pauses.awake(c.name)
	return !gone(lease)
}

// stay works for d, but only while the lease is valid and not known to be lost. If the lease is too
// short for the rest of the section, it may be extended; occasionally it is extended although it is
// long enough.
func (c *client) stay(ctx context.Context, key string, lease Lease, d, rest time.Duration) (_ Lease, alive bool) {
	chance := c.w.config.Extend
	if c.left(lease) >= rest {
		chance /= 5
	}
	if c.random.Float64() < chance {
		if lease, alive = c.extend(key, lease); !alive {
			return lease, false
		}
	}
	end := c.leaseClock().Now().Add(d)
	for c.sleep(ctx, lease, end) { // the clock was skewed, so compute the remaining time again
	}
	return lease, true
}

// leaseClock returns the clock on which the client reads the ends of its leases: its own, or true time
// if the client is a process.
func (c *client) leaseClock() protocol.Runtime {
	if _, ok := c.lock.(Process); ok {
		return c.w.runtime
	}
	return c.clock
}

// left returns how long a client may still rely on a lease.
func (c *client) left(lease Lease) time.Duration {
	if v, ok := lease.(Validator); ok {
		if v.Valid() {
			return c.w.config.TTL // stay calls left again after that time
		}
		return 0
	}
	return lease.Until().Sub(c.leaseClock().Now()) - c.w.config.margin()
}

// sleep sleeps until the given time, but only while the client may rely on the lease, ctx has not
// ended and the lease is not known to be over. skewed reports whether the clock was skewed meanwhile.
func (c *client) sleep(ctx context.Context, lease Lease, until time.Time) (clockChanged bool) {
	over, end := c.w.runtime.WithCancelCause(lease.Context())
	defer end(nil)
	c.wakes(end) // set before the clock is read, so that no later change is missed
	defer c.wakes(nil)
	d := min(until.Sub(c.leaseClock().Now()), c.left(lease))
	if d <= 0 {
		return false
	}
	stopping, stop := c.w.runtime.WithCancelCause(ctx)
	defer stop(nil)
	c.w.runtime.Go(func() {
		for c.w.runtime.Sleep(stopping, sleepStep) == nil {
		}
		end(errStopping)
	})
	return errors.Is(c.leaseClock().Sleep(over, d), errClockChanged)
}

var errStopping = errors.New("the work is to end")

// wakes sets the function that wakes the client.
func (c *client) wakes(end context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = end
}

// fixed reports whether a lock has no extend.
func fixed(lease Lease) bool {
	f, ok := lease.(Fixed)
	return ok && f.Fixed()
}

// atLeast reports whether a lease may be valid for longer than it says.
func atLeast(lease Lease) bool {
	a, ok := lease.(AtLeast)
	return ok && a.AtLeast()
}

// extend returns the lease after its extension. Without an extension it is the same.
func (c *client) extend(key string, lease Lease) (_ Lease, alive bool) {
	if fixed(lease) {
		return lease, true
	}
	if longer, alive := c.extendBy(key, lease, "", lease.Extend); longer != nil || !alive {
		return longer, alive
	}
	return lease, true
}

// extendBy extends a lease by a call, which may change its mode. It returns nil if that did not happen.
func (c *client) extendBy(key string, lease Lease, mode string, call func(context.Context) (Lease, error)) (longer Lease, alive bool) {
	asks := &history.Value{Token: lease.Token(), Mode: mode}
	c.record(history.Invoke, history.FExtend, key, asks, nil)
	var err error
	alive = c.in(history.CommandExtend, key, c.limit(), func() {
		if longer, err = call(c.calling(context.Background())); longer == nil && err == nil { // limited per master
			err = errNeither
		}
	})
	if !alive {
		return nil, false
	}
	if err != nil {
		c.record(Outcome(err), history.FExtend, key, asks, err)
		return nil, !errors.Is(err, ErrGone)
	}
	c.granted(history.FExtend, key, longer, history.Value{Mode: mode})
	return longer, true
}

func (c *client) release(key string, lease Lease) (alive bool) {
	token := &history.Value{Token: lease.Token()}
	if gone(lease) {
		return false
	}
	c.releases()
	c.record(history.Invoke, history.FRelease, key, token, nil)
	ctx, stop := c.releaseContext()
	defer stop()
	var err error
	if !c.in(history.CommandRelease, key, c.limit(), func() { err = lease.Release(ctx) }) { // limited per master
		return false
	}
	c.record(Outcome(err), history.FRelease, key, token, err)
	return !errors.Is(err, ErrGone)
}

// Outcome returns the client's knowledge about an operation that returned err: it happened (nil), it
// did not happen, or it may have happened.
func Outcome(err error) history.Type {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, redlock.ErrNotHeld), errors.Is(err, redlock.ErrLost), errors.Is(err, redlock.ErrExpired), errors.Is(err, redlock.ErrExtensionLimit), errors.Is(err, ErrMarked):
		return history.Fail
	default:
		return history.Info
	}
}

// gone reports whether the lease's holder has certainly ended.
func gone(lease Lease) bool { return errors.Is(context.Cause(lease.Context()), ErrGone) }

// valid reports whether the client may still rely on the lease for a moment.
func (c *client) valid(lease Lease) bool {
	return c.left(lease) > 0 && lease.Context().Err() == nil
}

// stretch draws the length of a critical section. A fraction of the sections lasts about as long as
// the TTL or longer, so that leases expire in use.
func (c *client) stretch() time.Duration {
	cfg := c.w.config
	if len(cfg.Arrivals) > 0 {
		return c.sectionLength
	}
	if c.random.Float64() < cfg.LongHolds {
		return cfg.TTL*4/5 + c.upTo(cfg.TTL*7/10)
	}
	return cfg.HoldMin + c.upTo(cfg.HoldMax-cfg.HoldMin)
}

func (c *client) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(c.random.Int64N(int64(d) + 1))
}

func (c *client) record(t history.Type, f, key string, v *history.Value, err error) {
	op := history.Op{Process: c.name, Type: t, F: f, Key: key, Value: v}
	if err != nil {
		op.Error = err.Error()
	}
	c.w.record(op)
}
