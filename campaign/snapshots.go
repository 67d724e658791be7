package campaign

import (
	"context"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

// observeMasters asks the masters, past all links, what they store and what their clocks show: so
// often that a key is seen several times within its TTL, and at least once a second.
func (c *campaign) observeMasters(ctx context.Context) {
	for c.runtime.Sleep(ctx, c.snapshotInterval()) == nil {
		keys := c.inspectedKeys()
		if keys != nil {
			keys = append(keys, c.redisKeyNames()...)
		}
		for _, m := range c.masters.Masters() {
			looking, end := c.within(ctx, 200*time.Millisecond)
			asked := c.runtime.Now()
			look, err := m.Inspect(looking, keys)
			had := c.runtime.Now()
			end()
			if err != nil {
				continue // it is down or paused: its state is recorded by who made it so
			}
			// The answer was true somewhere between asking and hearing.
			offset := look.Time.Sub(asked.Add(had.Sub(asked) / 2)).Round(time.Microsecond)
			v := &history.Value{Expires: map[string]time.Duration{}, Offset: &offset, Took: had.Sub(asked)}
			if keys != nil {
				v.Keys = look.Keys
			}
			for key, end := range look.Expires {
				v.Expires[key] = end.Sub(c.start).Round(time.Microsecond)
			}
			c.recorder.RecordAt(history.Op{Process: m.Name(), Type: history.Info, F: history.FLook, Value: v}, had.Sub(c.start))
		}
	}
}

// snapshotInterval is the time between two snapshots of the masters: a quarter of the TTL, at most a
// second. Real masters have other things to do, too.
func (c *campaign) snapshotInterval() time.Duration {
	every := min(time.Second, c.s.TTL/4)
	if c.world == nil {
		every = max(every, 50*time.Millisecond)
	}
	return every
}

// inspectedKeys are the keys whose tokens masters can be asked for; nil: what they store is none.
func (c *campaign) inspectedKeys() []string {
	if c.s.kind(c.hello).Opaque {
		return nil
	}
	return workload.Keys(c.s.Keys)
}
