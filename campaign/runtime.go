package campaign

import (
	"fmt"
	"runtime/debug"
	"time"

	"lockpick/redlock/protocol"
)

// realTime is the runtime of runs in real time. A panic of the harness in a goroutine ends the run with an
// error instead of ending the program, so that the history is kept and the masters are removed.
type realTime struct {
	protocol.RealTime
	panicked func(error)
}

// Go runs f in a goroutine.
func (r realTime) Go(f func()) {
	go func() {
		defer r.recover()
		f()
	}()
}

// AfterFunc runs f in a goroutine after d.
func (r realTime) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, func() {
		defer r.recover()
		f()
	}).Stop
}

func (r realTime) recover() {
	if value := recover(); value != nil {
		r.panicked(fmt.Errorf("this is a bug of Lockpick: %v\n%s", value, debug.Stack()))
	}
}

// fail ends the run because of an error of the harness.
func (c *campaign) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
	}
	if c.cancel != nil {
		c.cancel(err)
	}
	if w := c.work.Load(); w != nil {
		w.Abandon()
	}
}

// failed returns why the harness ended the run, or nil.
func (c *campaign) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}
