package workload

import (
	"context"
	"fmt"
	"time"
)

// A client that is a process connects to its masters when it starts, and may not survive that they
// cannot be reached. So it is started again for as long as that may last.
const (
	restartFor   = 30 * time.Second
	restartPause = 200 * time.Millisecond
)

// startAnew waits until a client that has ended may restart, and makes a new lock for it: its
// memory is lost. It returns false if the client has none when ctx ends, and can be called again
// then, or never will have one.
func (c *client) startAnew(ctx context.Context) bool {
	_, absent := c.lock.(noProcess) // that it ended is recorded
	if _, ok := c.lock.(Process); !absent && !c.w.Pauses.ended(c.name) {
		if err := c.crashed(); err != nil {
			c.died(err)
		} else if ok {
			c.died(errDied)
		}
	}
	c.forgets()
	_, process := c.lock.(Process)
	if l, ok := c.lock.(interface{ Kill() }); ok && !process { // while it is down, no background work of it extends a lease
		l.Kill()
	}
	c.w.Pauses.awaitRestart(c.name)
	_ = c.closeLock()
	lock, err := c.another()
	for until := c.w.runtime.Now().Add(restartFor); err != nil && process && c.w.runtime.Now().Before(until); {
		if c.w.runtime.Sleep(ctx, restartPause) != nil {
			_ = c.renew(noProcess{})
			return false
		}
		lock, err = c.another()
	}
	if err == nil {
		err = c.renew(lock)
	}
	if err != nil {
		c.w.fail(fmt.Errorf("client %s: start anew: %w", c.name, err))
		_ = c.renew(noLock{})
		return false
	}
	c.registered()
	return !c.out
}

// noProcess stands in for a lock whose process could not be started yet.
type noProcess struct{ noLock }

func (noProcess) Stop()     {}
func (noProcess) Continue() {}
func (noProcess) Kill()     {}

// another makes a new lock for the client with new links to the masters, because the old links
// ended with the old lock.
func (c *client) another() (Lock, error) {
	if c.program != nil { // which goes on
		return c.newLock()
	}
	s, err := c.w.env(c.name)
	if err != nil {
		return nil, err
	}
	c.env.Addrs, c.env.Dial, c.env.Masters = s.Addrs, s.Dial, s.Masters
	return c.newLock()
}
