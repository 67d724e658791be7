package exhaust

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// client is one client of an execution.
type client struct {
	x       *execution
	number  int
	name    string
	calling calling
	runtime *world.Client
	drawn   uint64 // number of draws of random bytes
}

// work runs the client: it begins at a chosen tick, acquires and releases the lock, and closes it.
func (c *client) work(kind workload.Implementation) error {
	x, b := c.x, c.x.b
	name := c.name
	rt := fixedDelays{c.runtime, c}
	if c.number > 1 && b.Stagger > 0 {
		begin := x.choose(b.Stagger+1, askBegin, false)
		_ = rt.Sleep(context.Background(), time.Duration(begin)*b.Tick)
	}
	env := workload.Env{
		Client: name, Masters: x.masters.ClientMasters(name), Runtime: rt,
		TTL: time.Duration(b.TTL) * b.Tick, Timeout: time.Duration(b.Timeout)*b.Tick + b.Tick/2,
		Hooks: redlock.Hooks{Vote: func(v redlock.Vote) {
			if x.recorder != nil {
				x.record(workload.VoteOp(name, v, false))
			}
			if x.continueAfterViolation {
				x.outcome[c.number-1] += fmt.Sprintf(" %s %s %v %v at %v", v.Purpose, v.Name, v.Yes, v.Err, x.now())
			}
		}},
		Pass: func(string, string) bool { return true }, Record: func(history.Op, time.Duration) {}, Apply: func(string, string, int64, int64) error { return nil },
	}
	var lock workload.Lock
	var err error
	c.call("new", func() { lock, err = kind.New(env) })
	if x.stopped || err != nil {
		return err
	}
	for range b.Acquires {
		if !c.acquire(name, lock, rt) {
			break
		}
	}
	c.call("close", func() { err = lock.Close() })
	return err
}

// acquire acquires the lock, holds it and releases it. It returns false if the lock was not granted.
func (c *client) acquire(name string, lock workload.Lock, rt protocol.Runtime) bool {
	x, b := c.x, c.x.b
	record := func(t history.Type, f string, v *history.Value, err error) {
		op := history.Op{Process: name, Type: t, F: f, Key: theKey, Value: v}
		if err != nil {
			op.Error = err.Error()
		}
		x.record(op)
	}
	trying, end := rt.WithCancelCause(context.Background())
	defer end(nil)
	left := time.Duration(b.Horizon)*b.Tick + b.Tick/4 - x.now() // ends between ticks, when nothing else happens
	if left <= 0 {
		return false
	}
	defer rt.AfterFunc(left, func() { end(errHorizon) })()
	record(history.Invoke, history.FAcquire, nil, nil)
	var lease workload.Lease
	var err error
	c.call(history.FAcquire, func() { lease, err = lock.Acquire(trying, theKey) })
	if x.failed.Load() != nil {
		return false
	}
	if err != nil {
		record(history.Fail, history.FAcquire, nil, err)
		x.outcome[c.number-1] += fmt.Sprintf(" refused at %v", x.now())
		return false
	}
	x.outcome[c.number-1] += fmt.Sprintf(" granted at %v", x.now())
	until := lease.Until().Sub(world.Epoch)
	record(history.OK, history.FAcquire, &history.Value{Token: lease.Token(), ValidUntil: until, Fence: lease.Fence()}, nil)
	record(history.Info, history.FEnter, &history.Value{Token: lease.Token()}, nil)
	x.granted(c.number-1, until)
	hold := b.Tick
	if x.choose(2, askHold, false) == 1 {
		hold = max(until-x.now(), 0) + time.Millisecond
	}
	_ = rt.Sleep(context.Background(), hold)
	x.holds[c.number-1].released = true
	record(history.Info, history.FLeave, &history.Value{Token: lease.Token()}, nil)
	record(history.Invoke, history.FRelease, &history.Value{Token: lease.Token()}, nil)
	c.call(history.FRelease, func() { err = lease.Release(context.Background()) })
	record(workload.Outcome(err), history.FRelease, &history.Value{Token: lease.Token()}, err)
	return true
}

// granted stores a client's new grant, and records a violation if another client holds the lock now.
func (x *execution) granted(client int, until time.Duration) {
	now := x.now()
	x.holds[client] = grant{until: until, acquired: true}
	if x.holds[client].over(x.b, now) {
		return
	}
	for i, h := range x.holds {
		if i != client && !h.over(x.b, now) && x.found == nil && !x.stopped {
			x.found = &Found{At: now, Faults: x.faults, Path: slices.Clone(x.taken)}
			if x.known != nil && !x.continueAfterViolation {
				x.stop()
			}
		}
	}
}

// fixedDelays is a client's runtime whose random bytes do not depend on the draws of other clients. Redlock's
// locks draw eight bytes for a delay between attempts; these bytes make that delay one tick.
type fixedDelays struct {
	*world.Client
	c *client
}

// redlockDelay is the least delay between two attempts of Redlock, to which it adds a random part.
const redlockDelay = 20 * time.Millisecond

// Read fills b with bytes that depend only on the client and its number of draws.
func (s fixedDelays) Read(b []byte) {
	if len(b) == 8 {
		binary.LittleEndian.PutUint64(b, uint64(max(s.c.x.b.Tick-redlockDelay, 0)))
		return
	}
	clear(b)
	s.c.drawn++
	copy(b, fmt.Appendf(nil, "%d%03d", s.c.number, s.c.drawn))
}
