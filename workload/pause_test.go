package workload

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

// corridor is a row of clients that pass points, each at its own pace.
type corridor struct {
	*Pauses
	start  time.Time
	mu     sync.Mutex
	passed map[string]time.Duration // when each was let through
	ops    []history.Op
}

func newCorridor() *corridor {
	c := &corridor{start: time.Now(), passed: map[string]time.Duration{}}
	c.Pauses = NewPauses(protocol.RealTime{}, func(op history.Op) history.Op {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ops = append(c.ops, op)
		return op
	})
	return c
}

// walk has a client pass a point after a second for each number of its name.
func (c *corridor) walk(client, point string) {
	protocol.RealTime{}.Go(func() {
		_ = protocol.RealTime{}.Sleep(context.Background(), time.Duration(client[1]-'0')*time.Second)
		c.Pass(client, point, "k0")
		c.mu.Lock()
		defer c.mu.Unlock()
		c.passed[client] = time.Since(c.start)
	})
}

// resumeAt calls resume after d and returns whom it let go.
func resumeAt(d time.Duration, resume func() []string) []string {
	time.Sleep(d)
	stopped := resume()
	synctest.Wait()
	slices.Sort(stopped)
	return stopped
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		name        string
		clients     []string
		point       string
		wantStopped []string
		wantPassed  map[string]time.Duration
	}{
		{"any: the first alone", nil, BeforeWrite, []string{"c1"}, map[string]time.Duration{"c1": 10 * time.Second, "c2": 2 * time.Second, "c3": 3 * time.Second}},
		{"each of those named", []string{"c2", "c3"}, BeforeWrite, []string{"c2", "c3"}, map[string]time.Duration{"c1": time.Second, "c2": 10 * time.Second, "c3": 10 * time.Second}},
		{"at another point", nil, BeforeEnter, nil, map[string]time.Duration{"c1": time.Second, "c2": 2 * time.Second, "c3": 3 * time.Second}},
		{"another client", []string{"c4"}, BeforeWrite, nil, map[string]time.Duration{"c1": time.Second, "c2": 2 * time.Second, "c3": 3 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newCorridor()
				resume := p.Stop(c.clients, c.point)
				for _, client := range []string{"c1", "c2", "c3"} {
					p.walk(client, BeforeWrite)
				}
				if got := resumeAt(10*time.Second, resume); !slices.Equal(got, c.wantStopped) {
					t.Errorf("stopped %v, want %v", got, c.wantStopped)
				}
				for client, want := range c.wantPassed {
					if p.passed[client] != want {
						t.Errorf("%s passed at %v, want %v", client, p.passed[client], want)
					}
				}
				if want := 2 * len(c.wantStopped); len(p.ops) != want {
					t.Errorf("%d records, want %d: %v", len(p.ops), want, p.ops)
				}
			})
		})
	}
}

// TestStopOnce: an order stops a client once, however often it passes, and none after
// it is cancelled. Two orders stop it twice.
// TestAnAcquireWithinASectionIsNotStopped: a client that holds the lock and acquires it again stands still in its section if
// it is stopped then. That is another fault.
func TestAnAcquireWithinASectionIsNotStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCorridor()
		p.lease = func(client string) (key, token string) {
			if client == "c1" {
				return "k0", "token"
			}
			return "", ""
		}
		resume := p.Stop(nil, AfterQuorum)
		p.walk("c1", AfterQuorum)
		p.walk("c2", AfterQuorum)
		if stopped := resumeAt(10*time.Second, resume); !slices.Equal(stopped, []string{"c2"}) {
			t.Errorf("%v were stopped, want c2", stopped)
		}
	})
}

func TestStopOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCorridor()
		first, second := p.Stop([]string{"c1"}, BeforeEnter), p.Stop([]string{"c1"}, BeforeEnter)
		var passes []time.Duration
		protocol.RealTime{}.Go(func() {
			for range 4 {
				p.Pass("c1", BeforeEnter, "k0")
				passes = append(passes, time.Since(p.start))
			}
		})
		if got := resumeAt(time.Second, first); !slices.Equal(got, []string{"c1"}) {
			t.Errorf("stopped %v", got)
		}
		resumeAt(time.Second, second)
		cancelled := p.Stop([]string{"c1"}, BeforeEnter)
		if got := cancelled(); len(got) > 0 {
			t.Errorf("stopped %v without passing", got)
		}
		p.Pass("c1", BeforeEnter, "k0")
		want := []time.Duration{time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}
		if !slices.Equal(passes, want) {
			t.Errorf("passed at %v, want %v", passes, want)
		}
		if len(p.ops) != 4 {
			t.Errorf("two stops made %d records", len(p.ops))
		}
	})
}

// TestLongPause: to wait is not to run out of patience.
func TestLongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCorridor()
		resume := p.Stop(nil, BeforeWrite)
		p.walk("c1", BeforeWrite)
		resumeAt(5*sleepStep/2, resume)
		if got := p.passed["c1"]; got != 5*sleepStep/2 {
			t.Errorf("passed after %v", got)
		}
	})
}
