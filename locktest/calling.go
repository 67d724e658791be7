package locktest

import (
	"context"
	"errors"
	"sync/atomic"
)

// errReturned is the cause of the end of the context of an Acquire that has returned.
var errReturned = errors.New("Acquire has returned")

// calling is the context of a call of Acquire. It counts the calls of its Done and Err.
type calling struct {
	context.Context
	asked atomic.Int64
}

func (c *calling) Done() <-chan struct{} {
	c.asked.Add(1)
	return c.Context.Done()
}

func (c *calling) Err() error {
	c.asked.Add(1)
	return c.Context.Err()
}

// binds reports whether a context ended because the call of Acquire has returned.
func binds(lost context.Context) bool { return errors.Is(context.Cause(lost), errReturned) }

// during calls f, and reports whether f failed because it used the context of Acquire and not its own.
func (c *calling) during(ctx context.Context, f func() error) (bound bool, err error) {
	before := c.asked.Load()
	err = f()
	return errors.Is(err, context.Canceled) && ctx.Err() == nil && c.asked.Load() > before, err
}
