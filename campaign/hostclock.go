package campaign

import (
	"fmt"
	"time"

	"lockpick/history"
)

// hostClock detects steps of the machine's clock. Masters measure the lifetime of their keys with it, and the
// history uses a monotonic clock. After a step, or when the machine was suspended, keys end at other times
// than a lock may expect, and that is not a fault of this run.
type hostClock struct {
	ahead func() time.Duration // how far the machine's clock is ahead of the monotonic one
	was   time.Duration
}

// leastStep is the smallest step that is recorded: Redlock's drift allowance for a TTL of a second is larger.
const leastStep = 10 * time.Millisecond

// clockReads is the number of readings in a row that must show a step. A single one may be wrong, because
// this program may wait for a processor between its readings of the two clocks.
const clockReads = 5

// wallAhead returns the default for hostClock.ahead.
func wallAhead() func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began) // Round(0) removes the monotonic reading
	}
}

func newHostClock(ahead func() time.Duration) *hostClock {
	if ahead == nil {
		ahead = wallAhead()
	}
	return &hostClock{ahead: ahead, was: ahead()}
}

// stepped returns by how much the clock was stepped since the last call, or 0.
func (k *hostClock) stepped() time.Duration {
	var least time.Duration
	for i := range clockReads {
		step := k.ahead() - k.was
		if step.Abs() < leastStep {
			return 0
		}
		if i == 0 || step.Abs() < least.Abs() {
			least = step
		}
	}
	k.was += least
	return least
}

// recordStep records a step of the machine's clock. since is the time of the previous check.
func (c *campaign) recordStep(k *hostClock, since time.Duration) {
	step := k.stepped()
	if step == 0 {
		return
	}
	way := "forward"
	if step < 0 {
		way = "back"
	}
	c.recorder.Record(history.Op{
		Process: history.Harness, Type: history.Info, F: history.FStepped, Value: &history.Value{Took: max(c.now()-since, 1)},
		Error: fmt.Sprintf("it was set %s by %v, or the machine was suspended", way, step.Abs().Round(time.Millisecond)),
	})
}
