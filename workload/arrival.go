package workload

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Arrival is one use of the lock at a given time: the client acquires the key, stays in its critical
// section for Hold, and releases. With arrivals the load is open, as queueing theory calls it: the rate
// of arrivals does not depend on waiting times. A client that is still busy at an arrival comes late.
type Arrival struct {
	Client string        `yaml:"client"`
	At     time.Duration `yaml:"at"`            // time since the beginning of the run
	Hold   time.Duration `yaml:"hold"`          // length of the critical section
	Key    string        `yaml:"key,omitempty"` // empty: the first key
}

// arrive uses the lock once at each arrival of the client.
func (c *client) arrive(ctx context.Context) {
	mine := slices.DeleteFunc(slices.Clone(c.w.config.Arrivals), func(a Arrival) bool { return a.Client != c.name })
	slices.SortStableFunc(mine, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	for _, a := range mine {
		if wait := a.At - c.w.since(c.w.runtime.Now()); wait > 0 {
			_ = c.clock.Sleep(ctx, wait)
		}
		if ctx.Err() != nil {
			return
		}
		c.sectionLength = a.Hold
		key := c.w.keys[0]
		if a.Key != "" {
			key = c.w.config.KeyPrefix + a.Key
		}
		if !c.use(ctx, key) {
			return
		}
	}
}
