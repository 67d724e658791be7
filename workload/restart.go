package workload

import (
	"context"
	"fmt"
	"time"
)

// A client that is a process connects to its masters when it starts, and may end if it cannot
// reach them. So its start is retried for as long as an outage of the masters may last.
const (
	restartFor   = 30 * time.Second
	restartPause = 200 * time.Millisecond
)

// startAnew waits until a client that has ended may restart, and makes a new lock for it: its
// memory is lost. It returns false if the client has no lock when ctx ends, and can be called
// again then, or if the client can never get one.
func (c *client) startAnew(ctx context.Context) bool {
	_, absent := c.lock.(noProcess) // its end is already recorded
	if _, ok := c.lock.(Process); !absent && !c.w.Pauses.ended(c.name) {
		if err := c.crashed(); err != nil {
			c.died(err)
		} else if ok {
			c.died(errDied)
		}
	}
	c.forgets()
	_, process := c.lock.(Process)
	if l, ok := c.lock.(interface{ Kill() }); ok && !process { // after its end, no background work extends a lease
		l.Kill()
	}
	c.w.Pauses.awaitRestart(c.name)
	_ = c.closeLock()
	if c.closing() {
		_ = c.renew(noProcess{})
		return false
	}
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

// noProcess replaces a lock whose process could not be started yet.
type noProcess struct{ noLock }

func (noProcess) Stop()     {}
func (noProcess) Continue() {}
func (noProcess) Kill()     {}

// another makes a new lock for the client with new links to the masters, because the old links
// ended with the old lock.
func (c *client) another() (Lock, error) {
	if c.program != nil { // the program and its links continue
		return c.newLock()
	}
	s, err := c.w.env(c.name)
	if err != nil {
		return nil, err
	}
	c.env.Addrs, c.env.Dial, c.env.Masters = s.Addrs, s.Dial, s.Masters
	return c.newLock()
}
