package protocol

import (
	"context"
	"crypto/rand"
	"time"
)

// Runtime provides time, waiting, goroutines and randomness. The default, RealTime, is
// right for every production use. Other implementations make the lock run in virtual time.
//
// Code that uses a Runtime waits for an event by sleeping on a context that another
// goroutine cancels.
type Runtime interface {
	// Now returns the time on a clock that never steps. Only differences have a meaning.
	Now() time.Time
	// Sleep returns nil after d, or context.Cause(ctx) as soon as ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
	// Go runs f concurrently with its caller.
	Go(f func())
	// AfterFunc runs f after d, unless stop is called before. stop reports whether it has
	// prevented the call.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
	// WithCancelCause is context.WithCancelCause.
	WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc)
	// Read fills b with random bytes.
	Read(b []byte)
}

// RealTime is the Runtime for production: the monotonic clock, goroutines and crypto/rand.
type RealTime struct{}

// Now returns a time with a monotonic clock reading, so that steps of the wall clock do not
// affect differences.
func (RealTime) Now() time.Time { return time.Now() }

// Sleep waits for a timer or the end of ctx. It needs no timer if d is over already.
func (RealTime) Sleep(ctx context.Context, d time.Duration) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case d <= 0:
		return nil
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

// AfterFunc calls time.AfterFunc.
func (RealTime) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// WithCancelCause calls context.WithCancelCause.
func (RealTime) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(parent)
}

// Read fills b with bytes of crypto/rand. It cannot fail: crypto/rand crashes the program
// rather than return without random bytes.
func (RealTime) Read(b []byte) { _, _ = rand.Read(b) }
