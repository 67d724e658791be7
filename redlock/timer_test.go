package redlock

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/redlock/protocol"
)

// agreeing is a set of masters that vote yes on everything.
type agreeing int

func (a agreeing) Names() []string                        { return make([]string, a) }
func (a agreeing) Begin(func(Vote)) protocol.Conversation { return a }
func (a agreeing) Ask(_ context.Context, cmd protocol.Command, _ []int, _ time.Duration) iter.Seq[Vote] {
	return func(yield func(Vote) bool) {
		for i := range int(a) {
			if !yield(Vote{Master: i, Purpose: cmd.Purpose, Key: cmd.Key, Token: cmd.Token, Yes: true, Reply: 1}) {
				return
			}
		}
	}
}

// timed is real time that counts the timers it starts.
type timed struct {
	protocol.RealTime
	timers int
}

func (r *timed) AfterFunc(d time.Duration, f func()) func() bool {
	r.timers++
	return r.RealTime.AfterFunc(d, f)
}

func agreed(t *testing.T, opts ...Option) (*Client, *timed) {
	t.Helper()
	r := &timed{}
	c, err := NewWithMasters(agreeing(3), append([]Option{WithRuntime(r), WithTTL(time.Second)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, r
}

func take(t *testing.T, c *Client, key string) *Lease {
	t.Helper()
	lease, err := c.Lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// A lease has a timer for its end only if somebody would notice the end.
func TestTimerOnlyIfSomebodyNoticesTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []Option
		notice func(c *Client, lease *Lease)
		want   int
	}{
		"nobody":      {nil, func(*Client, *Lease) {}, 0},
		"its context": {nil, func(_ *Client, lease *Lease) { lease.Context(); lease.Context() }, 1},
		"a hook":      {[]Option{WithHooks(Hooks{Ended: func(*Lease, error) {}})}, func(*Client, *Lease) {}, 1},
		"the next waiter": {nil, func(c *Client, _ *Lease) {
			go func() {
				if lease, err := c.Lock(context.Background(), "k"); err == nil {
					lease.Unlock(context.Background())
				}
			}()
			synctest.Wait()
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, r := agreed(t, test.opts...)
				lease := take(t, c, "k")
				test.notice(c, lease)
				if r.timers != test.want {
					t.Errorf("%d timers, want %d", r.timers, test.want)
				}
				lease.Unlock(t.Context())
				synctest.Wait()
			})
		})
	}
}

// The context of a lease whose validity is over has ended, even if it is made only then.
func TestContextOfAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := agreed(t)
		lease := take(t, c, "k")
		time.Sleep(time.Second)
		if lease.Context().Err() == nil {
			t.Error("the context has not ended")
		}
	})
}

// The queues of expired leases that nobody releases or waits for are removed.
func TestQueuesOfExpiredLeasesAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := agreed(t, WithMaxHold(time.Hour))
		held := take(t, c, "held")
		for i := range 100 * minSweep {
			take(t, c, fmt.Sprintf("k%d", i))
			if i%minSweep == 0 {
				time.Sleep(time.Second / 2)
				longer, err := held.Extend(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				held = longer
			}
		}
		if n := len(c.queues); n > 6*minSweep { // twice those of the last second, which are three times as many
			t.Errorf("%d queues are kept", n)
		}
		if c.queues["held"] == nil {
			t.Error("the queue of a valid lease was removed")
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
