package workload

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Arrival is one use of the lock at a given time: the client acquires the key, stays in its critical
// section for Hold, and releases. With arrivals the load is open, as queueing theory calls it: how often
// clients come does not depend on how long they wait. A client that is still busy comes late.
type Arrival struct {
	Client string        `yaml:"client"`
	At     time.Duration `yaml:"at"`            // since the run began
	Hold   time.Duration `yaml:"hold"`          // how long it wants to stay in its critical section
	Key    string        `yaml:"key,omitempty"` // empty: the first
}

// arrive uses the lock at the client's times, and no more.
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
		c.stays = a.Hold
		if !c.use(ctx, cmp.Or(a.Key, c.w.keys[0])) {
			return
		}
	}
}
