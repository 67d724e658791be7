package workload

import (
	"errors"

	"lockpick/cluster"
	"lockpick/history"
)

// skewable is a lock with clocks of its own. If it does not use a new setting at once (now), it calls
// the Env's Skewed from another goroutine when it does. That may take a while, because a stopped
// client receives nothing.
type skewable interface {
	SetClock(to cluster.Clock) (now bool, err error)
}

// ErrNoSkew says that a client's clocks cannot be skewed.
var ErrNoSkew = errors.New("the clients' clocks cannot be skewed")

// setClock skews the client's clocks.
func (c *client) setClock(to cluster.Clock) error {
	now, err := c.applyClock(to)
	if now {
		c.recordClock(to)
	}
	return err
}

// applyClock gives the client's clocks a setting, and reports whether they use it at once.
func (c *client) applyClock(to cluster.Clock) (now bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.requestedClock
	c.requestedClock = &to
	b, ok := c.lock.(skewable)
	if !ok {
		c.clock.Set(to)
		return true, nil
	}
	switch now, err = b.SetClock(to); {
	case errors.Is(err, ErrGone): // a client that has ended restarts with the new setting
		return false, nil
	case errors.Is(err, ErrNoSkew):
		c.requestedClock = before
	}
	return now, err
}

// recordClock records the client's current clocks. If the end of its lease thereby changes, skewed records
// that, too.
func (c *client) recordClock(to cluster.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmedClock = to
	v := &history.Value{Rate: rateOf(to)}
	if to.Offset != 0 {
		v.Offset = &to.Offset
	}
	if c.lease != nil {
		v.Token, v.ValidUntil = c.lease.Token(), c.until(c.lease)
	}
	c.record(history.Info, history.FClock, c.key, v, nil)
	if l := c.outer.lease; l != nil && c.lease != nil {
		c.record(history.Info, history.FClock, c.outer.key, &history.Value{Rate: v.Rate, Token: l.Token(), ValidUntil: c.until(l)}, nil)
	}
	if c.wake != nil {
		c.wake(errClockChanged)
	}
}

var errClockChanged = errors.New("the clock was skewed")
