package cluster

import (
	"context"
	"time"
)

// Runtime is where everything that runs in a campaign gets time, waiting,
// spawning and randomness from, so that the same code runs in real time and in
// virtual time. It has the methods of protocol.Runtime.
//
// To wait for something other than time, sleep on a context and let whoever
// knows of it cancel that context.
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
