package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/internal/sampletest"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// Callers of one client get the lock in the order in which they came, and only one of
// them at a time asks the masters, however long the others wait.
func TestLineIsFirstComeFirstServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		var mu sync.Mutex
		sets := 0
		m.asked = func(cmd protocol.Command, _ []int) {
			if cmd.Purpose == redlock.Set {
				sets++
			}
		}
		c := open(t, m)
		var order []int
		var wg sync.WaitGroup
		const callers = 20
		for i := range callers {
			wg.Go(func() {
				lease, err := c.Lock(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				if err := lease.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // it is in line
		}
		wg.Wait()
		for i, who := range order {
			if i != who {
				t.Fatalf("the order was %v", order)
			}
		}
		if sets != callers {
			t.Errorf("%d attempts for %d callers", sets, callers)
		}
	})
}

// A waiter whose context ends leaves the line, at once and without a trace.
func TestLineIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, newFakeMasters(3))
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = c.Lock(ctx, "k")
		if !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, err := c.TryLock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		next.Unlock(t.Context())
	})
}

// The turn goes on when a lease ends of itself, and when an attempt gives up: nobody
// waits for who does not come.
func TestLineGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		c := open(t, m, redlock.WithTTL(time.Second))
		if _, err := c.Lock(t.Context(), "k"); err != nil { // and is never released
			t.Fatal(err)
		}
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		lease.Unlock(t.Context())

		m.fate = func(int, protocol.Command) fate { return refuses }
		var wg sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			defer cancel()
			wg.Go(func() {
				if _, err := c.Lock(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		m.fate = func(int, protocol.Command) fate { return fate{arrives: time.Millisecond} }
		last, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		last.Unlock(t.Context())
	})
}

// Close sends those who wait in line away.
func TestCloseDismissesTheLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, newFakeMasters(3))
		if _, err := c.Lock(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Lock(t.Context(), "k"); !errors.Is(err, redlock.ErrClosed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		c.Close()
		wg.Wait()
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Two clients share the key fairly enough, although each has a long line of its own.
func TestLinesOfTwoClients(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		var got [2]int
		var wg sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for i := range got {
			c := open(t, m)
			for range 4 {
				wg.Go(func() {
					for ctx.Err() == nil {
						if lease, err := c.Lock(ctx, "k"); err == nil {
							got[i]++
							lease.Unlock(t.Context())
						}
					}
				})
			}
		}
		wg.Wait()
		if got[0] < 100 || got[1] < 100 {
			t.Errorf("the clients had the lock %v times", got)
		}
	})
}

// listening is fake masters that tell of releases.
type listening struct {
	*fakeMasters
	mu    sync.Mutex
	heard map[string]map[int]func(protocol.Released)
	n     int
}

// newListening makes fake masters that announce releases.
func newListening(n int) *listening {
	m := &listening{fakeMasters: newFakeMasters(n), heard: map[string]map[int]func(protocol.Released){}}
	m.applied = func(_ int, cmd protocol.Command, reply int64, _ bool) {
		if cmd.Purpose == redlock.Release && reply == 1 && len(cmd.Args) == 2 {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, heard := range m.heard[cmd.Key] {
				heard(protocol.Released{Token: cmd.Token, Waiters: len(m.heard[cmd.Key])})
			}
		}
	}
	return m
}

func (l *listening) Listen(key string, heard func(protocol.Released)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard[key] == nil {
		l.heard[key] = map[int]func(protocol.Released){}
	}
	l.n++
	me := l.n
	l.heard[key][me] = heard
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.heard[key], me)
	}
}

// Who hears of the release asks at once. Who hears nothing asks ever less often, but
// goes on asking.
func TestWakeups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newListening(3)
		var commands atomic.Int64
		m.asked = func(protocol.Command, []int) { commands.Add(1) }
		holder, waiter := open(t, m, redlock.WithWakeups(), redlock.WithTTL(time.Minute)), open(t, m, redlock.WithWakeups())
		lease, err := holder.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var released, got time.Time
		var wg sync.WaitGroup
		commands.Store(0)
		wg.Go(func() {
			l, err := waiter.Lock(t.Context(), "k")
			if err != nil {
				t.Error(err)
				return
			}
			got = time.Now()
			l.Unlock(t.Context())
		})
		time.Sleep(20 * time.Second)
		if n := commands.Load(); n < 20 || n > 20*5 {
			t.Errorf("%d commands in 20 s of waiting", n)
		}
		released = time.Now()
		lease.Unlock(t.Context())
		wg.Wait()
		if took := got.Sub(released); took > 10*time.Millisecond {
			t.Errorf("the waiter had the lock %v after its release", took)
		}
		if len(m.heard["k"]) != 0 {
			t.Error("somebody still listens")
		}
	})
}

// TestWakeupsGrantNoLess: many processes want one key, hold it for 5 ms and want it again.
func TestWakeupsGrantNoLess(t *testing.T) {
	for _, processes := range []int{50, 200} {
		run := func(opts ...redlock.Option) (grants, attempts int) {
			bubble(t, func(t *testing.T) {
				m := newListening(5)
				var granted, attempted atomic.Int64
				m.asked = func(cmd protocol.Command, _ []int) {
					if cmd.Purpose == redlock.Set {
						attempted.Add(1)
					}
				}
				m.fate = func(int, protocol.Command) fate {
					return fate{arrives: 100*time.Microsecond + rand.N(400*time.Microsecond), returns: 100 * time.Microsecond}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(sampletest.Count(8, 2, 1))*time.Second)
				defer cancel()
				var wg sync.WaitGroup
				for range processes {
					c := open(t, m, opts...)
					wg.Go(func() {
						for {
							lease, err := c.Lock(ctx, "k")
							if err != nil {
								return
							}
							granted.Add(1)
							time.Sleep(5 * time.Millisecond)
							if err := lease.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				grants, attempts = int(granted.Load()), int(attempted.Load())
			})
			return grants, attempts
		}
		without, polls := run()
		with, attempts := run(redlock.WithWakeups())
		t.Logf("%d processes: %d grants in %d attempts without wake-ups, %d in %d with them", processes, without, polls, with, attempts)
		// Without wake-ups nearly all grants are to the process that has just released, which
		// needs no hand-off: with them, hand-offs may cost a twentieth.
		if with*20 < without*19 {
			t.Errorf("%d processes: %d grants with wake-ups, %d without", processes, with, without)
		}
		// Failed attempts cost the masters commands, and split the votes of the others.
		if attempts > 5*with {
			t.Errorf("%d processes: %d attempts for %d grants with wake-ups", processes, attempts, with)
		}
	}
}

// An idle waiter costs each master at most 20 commands a second.
func TestIdleWaiterIsQuiet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		c, other := open(t, m, redlock.WithTTL(time.Minute)), open(t, m)
		if _, err := c.Lock(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		commands := 0
		m.asked = func(protocol.Command, []int) { commands++ }
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		other.Lock(ctx, "k")
		if commands > 20*20 || commands < 20*5 {
			t.Errorf("%d commands in 20 s of waiting", commands)
		}
	})
}
