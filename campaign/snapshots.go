package campaign

import (
	"context"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

// observeMasters asks the masters, without using links, what they store and what their clocks
// show: often enough to see a key several times within its TTL, and at least once a second.
func (c *campaign) observeMasters(ctx context.Context) {
	for c.runtime.Sleep(ctx, c.snapshotInterval()) == nil {
		keys := c.inspectedKeys()
		for _, m := range c.masters.Masters() {
			looking, end := c.within(ctx, 200*time.Millisecond)
			asked := c.runtime.Now()
			look, err := m.Inspect(looking, keys)
			had := c.runtime.Now()
			end()
			if err != nil {
				continue // it is down or paused, which is recorded already
			}
			// The answer was true at some time between the request and the reply.
			offset := look.Time.Sub(asked.Add(had.Sub(asked) / 2)).Round(time.Microsecond)
			v := &history.Value{Expires: map[string]time.Duration{}, Offset: &offset, Took: had.Sub(asked)}
			if keys != nil && !c.storedElsewhere() { // which may have been learned meanwhile
				v.Keys = look.Tokens()
			}
			for key, end := range look.Expires {
				v.Expires[key] = end.Sub(c.start).Round(time.Microsecond)
			}
			c.recorder.RecordAt(history.Op{Process: m.Name(), Type: history.Info, F: history.FLook, Value: v}, had.Sub(c.start))
		}
	}
}

// snapshotInterval is the time between two snapshots of the masters: a quarter of the TTL, at
// most a second, and for real masters at least a minimum, so that they have little additional
// work.
func (c *campaign) snapshotInterval() time.Duration {
	every := min(time.Second, c.s.TTL/4)
	if c.world == nil {
		every = max(every, 50*time.Millisecond)
	}
	return every
}

// inspectedKeys are the keys to ask masters for: those of the locks, and the other names that votes
// have shown so far. It is nil if what they store are not tokens.
func (c *campaign) inspectedKeys() []string {
	if lockOf(&c.s, c.hello).Opaque || c.storedElsewhere() {
		return nil
	}
	return append(workload.Keys(c.s.Keys), c.redisKeyNames()...)
}

// keysToInspect is inspectedKeys for the nemesis, which asks later; nil if that would be nil. What it returns
// becomes nil when a vote shows that tokens are stored elsewhere.
func (c *campaign) keysToInspect() func() []string {
	if c.inspectedKeys() == nil {
		return nil
	}
	return c.inspectedKeys
}
