package cluster

import (
	"context"
	"time"
)

// Runtime provides everything that runs in a campaign with time, waiting, goroutines and
// randomness, so that the same code runs in real time and in virtual time. It has the
// methods of redlock's protocol.Runtime, and repeats them because this package does not
// import the lock.
//
// Code waits for an event by sleeping on a context that another goroutine cancels.
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
	// WithCancelCause does the same as context.WithCancelCause.
	WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc)
	// Read fills b with random bytes.
	Read(b []byte)
}
