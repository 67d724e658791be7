package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

func TestDoExtendsAndReleases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		err := open(t, m, redlock.WithTTL(time.Second)).Do(t.Context(), "k", func(ctx context.Context) error {
			time.Sleep(4 * time.Second)
			if m.empty("k") {
				t.Error("the lock has gone")
			}
			return ctx.Err()
		})
		settle()
		if err != nil || !m.empty("k") {
			t.Error(err)
		}
	})
}

// A hung f does not keep the lock for ever, and is told why.
func TestDoIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		start := time.Now()
		c := open(t, m, redlock.WithTTL(time.Second), redlock.WithMaxHold(3*time.Second))
		err := c.Do(t.Context(), "k", func(ctx context.Context) error {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, redlock.ErrExpired) || !errors.Is(cause, redlock.ErrExtensionLimit) {
				t.Error(cause)
			}
			time.Sleep(time.Second) // does not care
			if !m.empty("k") {
				t.Error("the lock is still held")
			}
			return nil
		})
		if !errors.Is(err, redlock.ErrExtensionLimit) {
			t.Error(err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// f overran the lease, and its end is noticed although no timer had a chance.
func TestDoReportsWhatFDid(t *testing.T) {
	mine := errors.New("out of paper")
	for name, test := range map[string]struct {
		f    func(ctx context.Context, m *fakeMasters) error
		want []error
		not  []error
	}{
		"an error of its own": {
			f:    func(context.Context, *fakeMasters) error { return mine },
			want: []error{mine}, not: []error{redlock.ErrNotHeld, redlock.ErrReleased},
		},
		"nothing, while the lease was lost": {
			f: func(ctx context.Context, m *fakeMasters) error {
				for i := range m.masters {
					m.forget(i)
				}
				<-ctx.Done()
				return nil
			},
			want: []error{redlock.ErrLost}, not: []error{redlock.ErrReleased},
		},
		"the cause itself": {
			f: func(ctx context.Context, m *fakeMasters) error {
				for i := range m.masters {
					m.forget(i)
				}
				<-ctx.Done()
				return context.Cause(ctx)
			},
			want: []error{redlock.ErrLost},
		},
		"nothing, and the lock was gone unnoticed": {
			f: func(_ context.Context, m *fakeMasters) error {
				for i := range m.masters {
					m.forget(i)
				}
				return nil
			},
			want: []error{redlock.ErrNotHeld}, not: []error{redlock.ErrLost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := newFakeMasters(3)
				err := open(t, m, redlock.WithTTL(time.Second)).Do(t.Context(), "k", func(ctx context.Context) error { return test.f(ctx, m) })
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("%v is not %v", err, want)
					}
				}
				for _, not := range test.not {
					if errors.Is(err, not) {
						t.Errorf("%v is %v", err, not)
					}
				}
				settle()
				if !m.empty("k") {
					t.Error("the lock is still held")
				}
			})
		})
	}
}

func TestDoReleasesWhenFPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		c := open(t, m)
		func() {
			defer func() {
				if r := recover(); r != "oh" {
					t.Errorf("recovered %v", r)
				}
			}()
			c.Do(t.Context(), "k", func(context.Context) error { panic("oh") })
		}()
		settle()
		if !m.empty("k") {
			t.Error("the lock is still held")
		}
	})
}

// The end of the caller's context reaches f with its cause, and not the release.
func TestDoWithCancelledContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := open(t, m).Do(ctx, "k", func(ctx context.Context) error {
			cancel(cause)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err != cause {
			t.Error(err)
		}
		settle()
		if !m.empty("k") {
			t.Error("the lock is still held")
		}
	})
}

// Masters that refuse are asked again, but no faster and faster as the end comes
// near, and a quorum that is back in time saves the lease.
func TestDoOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		back := time.Now().Add(900 * time.Millisecond)
		tries := 0
		m.asked = func(cmd protocol.Command, _ []int) {
			if cmd.Purpose == redlock.Extend {
				tries++
			}
		}
		m.fate = func(_ int, cmd protocol.Command) fate {
			if cmd.Purpose == redlock.Extend && time.Now().Before(back) {
				return refuses
			}
			return fate{arrives: time.Millisecond}
		}
		c := open(t, m, redlock.WithTTL(time.Second), redlock.WithMaxHold(time.Hour))
		err := c.Do(t.Context(), "k", func(ctx context.Context) error {
			time.Sleep(time.Second)
			return context.Cause(ctx)
		})
		if err != nil || tries > 6 {
			t.Errorf("%v after %d tries", err, tries)
		}
		back = time.Now().Add(time.Hour)
		tries = 0
		err = c.Do(t.Context(), "k", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, redlock.ErrExpired) || tries > 6 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}

// Each Do tells of its own lease, also inside another's context.
func TestDoInsideDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		c := open(t, m, redlock.WithTTL(time.Second))
		var inner error
		outer := c.Do(t.Context(), "outer", func(ctx context.Context) error {
			inner = c.Do(ctx, "inner", func(ctx context.Context) error {
				<-ctx.Done() // the outer lease ends
				return nil
			}, redlock.WithMaxHold(time.Hour))
			return nil
		}, redlock.WithMaxHold(1))
		if inner != nil || !errors.Is(outer, redlock.ErrExpired) {
			t.Errorf("inner %v, outer %v", inner, outer)
		}
	})
}
