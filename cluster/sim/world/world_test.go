package world

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/internal/waittest"
)

// in runs f in a world and fails the test if the world does not end well.
func in(t testing.TB, w *World, f func(rt *Client)) {
	t.Helper()
	if err := w.Run(func() { f(w.Runtime()) }); err != nil {
		t.Fatal(err)
	}
}

func TestSleepTakesVirtualTimeOnly(t *testing.T) {
	w := New(1)
	waittest.Returns("sleeping for 1000 hours", func() {
		in(t, w, func(rt *Client) {
			start := rt.Now()
			for range 1000 {
				if err := rt.Sleep(context.Background(), time.Hour); err != nil {
					t.Error(err)
				}
			}
			if d := rt.Now().Sub(start); d != 1000*time.Hour {
				t.Errorf("slept %v", d)
			}
		})
	})
}

func TestWhatIsDueAtOneInstantHappensInAnOrderThatTheSeedDecides(t *testing.T) {
	order := func(seed uint64) string {
		var b strings.Builder
		w := New(seed)
		in(t, w, func(rt *Client) {
			for i := range 8 {
				rt.Go(func() {
					rt.Sleep(context.Background(), time.Second)
					fmt.Fprint(&b, i)
				})
			}
		})
		return b.String()
	}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		if a, b := order(seed), order(seed); a != b {
			t.Errorf("seed %d: %s and %s", seed, a, b)
		}
		seen[order(seed)] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 seeds made only %d orders", len(seen))
	}
}

func TestTheEndOfAContextWakesWhoSleepsOnItOrOnAChild(t *testing.T) {
	type key struct{}
	cause := errors.New("because")
	children := map[string]func(rt *Client, ctx context.Context) context.Context{
		"itself": func(_ *Client, ctx context.Context) context.Context { return ctx },
		"ours": func(rt *Client, ctx context.Context) context.Context {
			c, _ := rt.WithCancelCause(ctx)
			return c
		},
		"WithValue": func(_ *Client, ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) },
		"WithCancel": func(_ *Client, ctx context.Context) context.Context {
			return orphan(context.WithCancel(ctx))
		},
		"WithCancel of WithValue": func(_ *Client, ctx context.Context) context.Context {
			return orphanOf(context.WithCancelCause(context.WithValue(ctx, key{}, 1)))
		},
		"ours of WithCancel": func(rt *Client, ctx context.Context) context.Context {
			d, _ := rt.WithCancelCause(orphanOf(context.WithCancelCause(ctx)))
			return d
		},
		"a type of its own": func(_ *Client, ctx context.Context) context.Context { return struct{ context.Context }{ctx} },
	}
	for name, child := range children {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			w := New(1)
			in(t, w, func(rt *Client) {
				ctx, end := rt.WithCancelCause(context.Background())
				c := child(rt, ctx)
				rt.AfterFunc(time.Second, func() { end(cause) })
				start := rt.Now()
				err := rt.Sleep(c, time.Hour)
				if d := rt.Now().Sub(start); !errors.Is(err, cause) || d != time.Second {
					t.Errorf("woke after %v with %v", d, err)
				}
				if c.Err() != context.Canceled || context.Cause(c) != cause {
					t.Errorf("%v, %v", c.Err(), context.Cause(c))
				}
				select {
				case <-c.Done():
				default:
					t.Error("Done is open")
				}
				if err := rt.Sleep(c, time.Hour); err != cause {
					t.Errorf("a sleep on an ended context: %v", err)
				}
				if n := runtime.NumGoroutine(); n > before+3 { // the coroutines
					t.Errorf("%d goroutines", n-before)
				}
			})
		})
	}
}

func TestAContextThatTheStandardLibraryCancelsWakesToo(t *testing.T) {
	w := New(1)
	in(t, w, func(rt *Client) {
		ctx, cancel := context.WithCancel(context.Background())
		ours, _ := rt.WithCancelCause(ctx)
		rt.AfterFunc(time.Second, cancel)
		if err := rt.Sleep(ours, time.Hour); err != context.Canceled || w.Elapsed() != time.Second {
			t.Errorf("%v at %v", err, w.Elapsed())
		}
		if err := rt.Sleep(context.WithoutCancel(ours), time.Second); err != nil {
			t.Errorf("WithoutCancel: %v", err)
		}
	})
}

func TestDeadlinesOfTheRealClockAreRefused(t *testing.T) {
	for name, f := range map[string]func(rt *Client){
		"sleep": func(rt *Client) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			rt.Sleep(ctx, time.Second)
		},
		"child": func(rt *Client) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			rt.WithCancelCause(ctx)
		},
		"virtual deadline": func(rt *Client) {
			ctx, cancel := context.WithDeadline(context.Background(), rt.Now().Add(time.Minute))
			defer cancel()
			rt.Sleep(ctx, time.Second)
		},
	} {
		w := New(7)
		err := w.Run(func() { f(w.Runtime()) })
		if err == nil || !strings.Contains(err.Error(), "context.WithTimeout") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPanicIsReportedWithSeedAndTime(t *testing.T) {
	w := New(42)
	unwound := false
	err := w.Run(func() {
		rt := w.Runtime()
		rt.Go(func() {
			defer func() { unwound = true }()
			rt.Sleep(context.Background(), time.Hour)
			t.Error("ran on after the end")
		})
		rt.Sleep(context.Background(), time.Minute)
		panic(boom("boom"))
	})
	var p *Panic
	if !errors.As(err, &p) || p.Seed != 42 || p.At != time.Minute || p.Value != boom("boom") || !strings.Contains(p.Stack, "world_test.go") {
		t.Errorf("%v", err)
	}
	if !unwound {
		t.Error("the other coroutine's deferred function did not run")
	}
}

type boom string

func TestWhoWaitsForEverIsReported(t *testing.T) {
	w := New(3)
	err := w.Run(func() { w.Running("Wait").WaitOn(context.Background(), "nothing at all") })
	if !errors.Is(err, ErrDeadlock) || !strings.Contains(err.Error(), "for nothing at all") || !strings.Contains(err.Error(), "seed 3") {
		t.Errorf("%v", err)
	}
	w = New(3)
	w.Limit = time.Minute
	err = w.Run(func() {
		for w.Runtime().Sleep(context.Background(), time.Second) == nil {
		}
	})
	if !errors.Is(err, ErrLimit) || w.Elapsed() != time.Minute {
		t.Errorf("%v at %v", err, w.Elapsed())
	}
}

func TestAClientsClockDriftsAndItsTimersWithIt(t *testing.T) {
	w := New(1)
	in(t, w, func(rt *Client) {
		c := w.ClientRuntime("c1")
		ctx := context.Background()
		rt.AfterFunc(10*time.Second, func() { c.Drift(2) })
		c.Sleep(ctx, 30*time.Second) // 10 s at true speed, 10 s at twice that
		if d := w.Elapsed(); d < 20*time.Second || d > 20*time.Second+time.Microsecond {
			t.Errorf("woke at %v", d)
		}
		before := c.Now()
		c.Jump(-time.Hour)
		if c.Now() != before || c.Wall().Sub(before) != -time.Hour {
			t.Errorf("after a jump: %v, wall %v", c.Now(), c.Wall())
		}
		if at := c.True(c.Now().Add(2 * time.Second)).Sub(rt.Now()); at < time.Second || at > time.Second+time.Microsecond {
			t.Errorf("2 s on its clock are %v", at)
		}
	})
}

func TestAPausedClientGoesOnWhereItStood(t *testing.T) {
	w := New(1)
	in(t, w, func(rt *Client) {
		c := w.ClientRuntime("c1")
		ctx := context.Background()
		var woke []time.Duration
		c.Go(func() {
			for range 2 {
				c.Sleep(ctx, time.Second)
				woke = append(woke, w.Elapsed())
			}
		})
		rt.Sleep(ctx, time.Second/2)
		c.Pause()
		rt.Sleep(ctx, 10*time.Second)
		c.Resume()
		rt.Sleep(ctx, 10*time.Second)
		if want := []time.Duration{10500 * time.Millisecond, 11500 * time.Millisecond}; !slices.Equal(woke, want) {
			t.Errorf("woke at %v", woke)
		}
	})
}

func TestClocksKeepWhatTheyShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Clock
		now := rapid.Int64Range(0, 1e18).Draw(t, "now")
		c.Set(now, rapid.Int64Range(-1e17, 1e17).Draw(t, "shown"), rapid.Int64Range(-second+1, 5*second).Draw(t, "gain"))
		ahead := rapid.Int64Range(0, 1e15).Draw(t, "ahead")
		at := c.When(c.shown + ahead)
		if at < 9e18 && c.Read(at) < c.shown+ahead {
			t.Fatalf("at %d it shows %d, not %d", at, c.Read(at), c.shown+ahead)
		}
		if at > now+2 && at < 9e18 && c.Read(at-2) >= c.shown+ahead+2 {
			t.Fatalf("%d is too late for %d", at, c.shown+ahead)
		}
	})
}

func TestPCTFindsAnOrderThatChanceRarelyTakes(t *testing.T) {
	// Of eight processes that all are due at once, three times over, the first must
	// be last each time: 1 in 512 by chance, 1 in 8 where priorities last.
	found := func(strategy func() Strategy) int {
		n := 0
		for seed := range uint64(400) {
			w := New(seed)
			w.Strategy = strategy()
			last := 0
			in(t, w, func(rt *Client) {
				done := [3]int{}
				for i := range 8 {
					rt.Go(func() {
						for round := range 3 {
							rt.Sleep(context.Background(), time.Second)
							if done[round]++; done[round] == 8 && i == 0 {
								last++
							}
						}
					})
				}
			})
			if last == 3 {
				n++
			}
		}
		return n
	}
	chance := found(func() Strategy { return nil })
	pct := found(func() Strategy { return &PCT{} })
	if pct < 20 || chance > 8 {
		t.Errorf("chance found it %d times, PCT %d times of 400", chance, pct)
	}
}

// orphan is a context whose end nobody calls: it ends with its parent.
func orphan(ctx context.Context, _ context.CancelFunc) context.Context { return ctx }

func orphanOf(ctx context.Context, _ context.CancelCauseFunc) context.Context { return ctx }
