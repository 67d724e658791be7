package workload

import (
	"time"

	"lockpick/history"
)

// keyedLease is a lease and its key.
type keyedLease struct {
	lease Lease
	key   string
}

// releases records that the client no longer holds its lease, and keeps the lease as the last one.
func (c *client) releases() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = keyedLease{c.lease, c.key}
	c.lease, c.key = nil, ""
}

// forgets records that the client holds no lease, and forgets the last one.
func (c *client) forgets() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lease, c.key, c.released = nil, "", keyedLease{}
}

// leave records the end of the critical section: at the time at which the lock reported the end of
// the lease, or else now. The report of a process arrives late.
func (c *client) leave(key string, lease Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	op := history.Op{Process: c.name, Type: history.Info, F: history.FLeave, Key: key, Value: &history.Value{Token: lease.Token()}}
	if !c.leaseLost {
		c.w.record(op)
		return
	}
	c.w.recordAt(op, c.lost)
}

// hasLost records that the lock has reported the end of the client's lease, or of the lease that
// the client released last: a process may have sent the report before it received the release. A client that has
// acquired a re-entrant lock again has two leases.
func (c *client) hasLost(key, token string, cause error, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.outer; o.lease != nil && o.key == key && !c.outerLost && (token == "" || token == o.lease.Token()) {
		c.outerLost = true
		c.recordLost(o, cause, at)
	}
	held := keyedLease{c.lease, c.key}
	if held.lease == nil {
		held = c.released
	}
	if held.lease == nil || c.leaseLost || !includes(held.key, key) || token != "" && held.lease.Token() != token || held == c.outer {
		return
	}
	c.leaseLost = true
	c.recordLost(held, cause, at)
}

// recordLost records that a lease was over at a time.
func (c *client) recordLost(of keyedLease, cause error, at time.Time) {
	c.lost = c.trueTime(at)
	op := history.Op{Process: c.name, Type: history.Info, F: history.FLost, Key: of.key, Value: &history.Value{Token: of.lease.Token()}, Error: cause.Error()}
	c.w.recordAt(op, c.lost)
}
