package campaign

import (
	"context"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// observeMasters records snapshots of the masters' keys and clocks, without using links: often enough to see
// a key several times within its TTL, and at least once a second. A real master that gives no answer although no fault is, or was
// a moment ago, in force has no processor or waits for its disk: that is recorded as a stall of the machine, because clients get no
// answers either.
func (c *campaign) observeMasters(ctx context.Context, real bool) {
	quiet := 0 // times in a row that no fault was in force
	for c.runtime.Sleep(ctx, c.snapshotInterval()) == nil {
		if quiet++; len(c.nemesis.Active()) > 0 {
			quiet = 0
		}
		keys := c.inspectedKeys()
		for _, m := range c.masters.Masters() {
			looking, end := c.within(ctx, 200*time.Millisecond)
			asked := c.runtime.Now()
			look, err := m.Inspect(looking, keys)
			had := c.runtime.Now()
			end()
			if err != nil {
				if real && quiet > 1 && m.State() == cluster.Up && len(c.nemesis.Active()) == 0 && ctx.Err() == nil {
					c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FStall, Error: m.Name() + " gave no answer, and no fault was in force", Value: &history.Value{Took: had.Sub(asked)}})
				}
				continue // otherwise the master is down or paused, which is recorded elsewhere
			}
			// The reply was true at some time between the request and its return.
			offset := look.Time.Sub(asked.Add(had.Sub(asked) / 2)).Round(time.Microsecond)
			v := &history.Value{Expires: map[string]time.Duration{}, Offset: &offset, Took: had.Sub(asked)}
			if keys != nil && c.seesTokens() { // a change may have shown meanwhile that it does not
				v.Keys = look.Tokens()
			}
			for key, end := range look.Expires {
				v.Expires[key] = end.Sub(c.start).Round(time.Microsecond)
			}
			c.recorder.RecordAt(history.Op{Process: m.Name(), Type: history.Info, F: history.FSnapshot, Value: v}, had.Sub(c.start))
		}
	}
}

// snapshotInterval returns the time between two snapshots of the masters: a quarter of the TTL, at most a
// second, and for real masters at least 50 ms, so that they cause little load.
func (c *campaign) snapshotInterval() time.Duration {
	every := min(time.Second, c.s.TTL/4)
	if c.sim == nil {
		every = max(every, 50*time.Millisecond)
	}
	return every
}

// inspectedKeys returns the keys to inspect: those of the locks, and the other names that votes have shown so
// far. It returns nil if the masters store no tokens there.
func (c *campaign) inspectedKeys() []string {
	if lockOf(&c.s, c.hello).Opaque || !c.seesTokens() {
		return nil
	}
	if c.session != nil {
		return append(c.session.keyNames(), c.redisKeyNames()...)
	}
	return append(c.work.Load().KeyNames(), c.redisKeyNames()...)
}

// keysToInspect returns inspectedKeys for the nemesis, which calls it later, or nil if it would return nil
// now. The returned function returns nil once a change shows that the keys store no tokens.
func (c *campaign) keysToInspect() func() []string {
	if c.inspectedKeys() == nil {
		return nil
	}
	return c.inspectedKeys
}
