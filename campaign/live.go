package campaign

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// lookEach is the time, in runs on real masters, between two checks whether enough was recorded to judge the
// history again.
const lookEach = 250 * time.Millisecond

// stopLag is the time after which a run stops because of an operation. When the run stops, a client releases its lease; in
// virtual time that would otherwise happen at the very instant at which a violation began.
const stopLag = 100 * time.Millisecond

// stopOnViolation calls stop soon after the first violation of a property that was asked for, or of mutual
// exclusion if none was. The complete run is judged again after its end.
func (c *campaign) stopOnViolation(ctx context.Context, stop func()) {
	asked := []checker.Property{checker.MutualExclusion}
	if len(c.s.Properties) > 0 {
		asked = checker.PropertiesOf(c.s.Properties)
	}
	watched := func(p checker.Property) bool { return p.Watched }
	var once sync.Once
	soon := func() {
		once.Do(func() { c.runtime.AfterFunc(stopLag, stop) })
	}
	if slices.ContainsFunc(asked, watched) {
		c.recorder.Observe(func(history.Op) {
			if c.watch.Violations() > 0 {
				soon()
			}
		})
	}
	if !slices.ContainsFunc(asked, func(p checker.Property) bool { return !watched(p) }) {
		return
	}
	live := checker.NewLive(headerOf(&c.s, c.masters, c.hello, "", time.Time{}), asked...)
	look := func() (found bool) {
		if !live.Due() || live.Judge() == nil {
			return false
		}
		c.stopping.Store(true)
		soon()
		return true
	}
	if c.virtual { // so that every run with this seed stops at the same operation
		found := false
		c.recorder.Observe(func(op history.Op) {
			if live.Observe(op); !found {
				found = look()
			}
		})
		return
	}
	c.recorder.Observe(live.Observe)
	c.runtime.Go(func() {
		for c.runtime.Sleep(ctx, lookEach) == nil && !look() {
		}
	})
}

// observe registers the observers that count grants and violations during the run.
func (c *campaign) observe() {
	c.watch.Header = headerOf(&c.s, c.masters, c.hello, "", time.Time{})
	c.recorder.Observe(c.watch.Observe)
	c.recorder.Observe(func(op history.Op) {
		if op.F == history.FAcquire && op.Type == history.OK {
			c.granted.Add(1)
		}
	})
}
