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

// agreeing are masters that say yes to everything.
type agreeing int

func (a agreeing) Names() []string                        { return make([]string, a) }
func (a agreeing) Begin(func(Vote)) protocol.Conversation { return a }
func (a agreeing) Ask(_ context.Context, cmd protocol.Command, _ []int, _ time.Duration) iter.Seq[Vote] {
	return func(yield func(Vote) bool) {
		for i := range int(a) {
			if !yield(Vote{Master: i, Kind: cmd.Kind, Key: cmd.Key, Token: cmd.Token, Yes: true, Reply: 1}) {
				return
			}
		}
	}
}

// timed is real time that counts the timers that were started in it.
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

// A lease's end needs a timer only where somebody would notice it.
func TestTimersAreForThoseWhoNotice(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []Option
		attend func(c *Client, lease *Lease)
		want   int
	}{
		"nobody":      {nil, func(*Client, *Lease) {}, 0},
		"its context": {nil, func(_ *Client, lease *Lease) { lease.Context(); lease.Context() }, 1},
		"a hook":      {[]Option{WithHooks(Hooks{Ended: func(*Lease, error) {}})}, func(*Client, *Lease) {}, 1},
		"the next in line": {nil, func(c *Client, _ *Lease) {
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
				test.attend(c, lease)
				if r.timers != test.want {
					t.Errorf("%d timers, want %d", r.timers, test.want)
				}
				lease.Unlock(t.Context())
				synctest.Wait()
			})
		})
	}
}

// Who asks for the context of a lease whose validity is over gets one that has ended.
func TestContextOfALapsedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := agreed(t)
		lease := take(t, c, "k")
		time.Sleep(time.Second)
		if lease.Context().Err() == nil {
			t.Error("it goes on")
		}
	})
}

// Leases that lapse, and that nobody releases or waits for, leave nothing behind.
func TestLapsedLeasesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := agreed(t, WithMaxHold(time.Hour))
		held := take(t, c, "held")
		for i := range 100 * tidyLeast {
			take(t, c, fmt.Sprintf("k%d", i))
			if i%tidyLeast == 0 {
				time.Sleep(time.Second / 2)
				longer, err := held.Extend(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				held = longer
			}
		}
		if n := len(c.lines); n > 6*tidyLeast { // twice those of the last second, which are three times as many
			t.Errorf("%d lines are kept", n)
		}
		if c.lines["held"] == nil {
			t.Error("a line was ended whose lease goes on")
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
