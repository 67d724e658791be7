package protocol

import (
	"context"
	"crypto/rand"
	"time"
)

// Runtime is where the lock gets time, waiting, spawning and randomness from.
// The default, RealTime, is right for every production use. Another one makes
// the lock run in virtual time.
type Runtime interface {
	// Now is the time on a clock that never steps. Only differences count.
	Now() time.Time
	// Sleep returns nil after d, or context.Cause(ctx) as soon as ctx has ended.
	Sleep(ctx context.Context, d time.Duration) error
	// Go runs f beside its caller.
	Go(f func())
	// AfterFunc runs f after d, unless stop is called first; stop says whether
	// it was in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
	// WithCancelCause is context.WithCancelCause.
	WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc)
	// Read fills b with random bytes.
	Read(b []byte)
}

// RealTime is the Runtime of the real world: the monotonic clock, goroutines
// and crypto/rand.
type RealTime struct{}

// Now has a monotonic reading, so that differences are immune to steps of the
// wall clock.
func (RealTime) Now() time.Time { return time.Now() }

// Sleep waits on a timer.
func (RealTime) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Go starts a goroutine.
func (RealTime) Go(f func()) { go f() }

// AfterFunc is time.AfterFunc.
func (RealTime) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// WithCancelCause is context.WithCancelCause.
func (RealTime) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(parent)
}

// Read never fails: crypto/rand ends the program rather than return weak bytes.
func (RealTime) Read(b []byte) { _, _ = rand.Read(b) }
