package campaign

import (
	"fmt"
	"time"

	"lockpick/history"
)

// hostClock watches for steps of the machine's clock. Masters count the lifetime of their keys by it,
// and the history by a monotonic one: after a step, or when the machine was suspended, keys end at
// other times than a lock may expect, and that is no fault of this run.
type hostClock struct {
	ahead func() time.Duration // how far the machine's clock is ahead of the monotonic one
	was   time.Duration
}

// leastStep is the smallest step that is noticed: Redlock allows for more drift of a TTL of a second.
const leastStep = 10 * time.Millisecond

// clockReads is how often a step must be seen: between its reading of both clocks this program
// may have to wait for a processor.
const clockReads = 5

// wallAhead returns a function for hostClock.
func wallAhead() func() time.Duration {
	began := time.Now()
	return func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began) // Round takes the monotonic reading away
	}
}

func newHostClock(ahead func() time.Duration) *hostClock {
	if ahead == nil {
		ahead = wallAhead()
	}
	return &hostClock{ahead: ahead, was: ahead()}
}

// stepped returns by how much the clock was set since the last call; 0: it was not.
func (k *hostClock) stepped() time.Duration {
	var least time.Duration
	for i := range clockReads {
		by := k.ahead() - k.was
		if by.Abs() < leastStep {
			return 0
		}
		if i == 0 || by.Abs() < least.Abs() {
			least = by
		}
	}
	k.was += least
	return least
}

// recordStep records that the machine's clock was set, within the time that has passed since it was
// looked at before.
func (c *campaign) recordStep(k *hostClock, since time.Duration) {
	by := k.stepped()
	if by == 0 {
		return
	}
	way := "forward"
	if by < 0 {
		way = "back"
	}
	c.recorder.Record(history.Op{
		Process: history.Harness, Type: history.Info, F: history.FStepped, Value: &history.Value{Took: max(c.now()-since, 1)},
		Error: fmt.Sprintf("it was set %s by %v, or the machine was suspended", way, by.Abs().Round(time.Millisecond)),
	})
}
