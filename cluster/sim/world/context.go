package world

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Context is a context of the world. Its end wakes the coroutines that sleep on it, in the
// order of the world and without goroutines.
//
// The standard library can derive children of it as of its own contexts, also through
// context.WithValue: when it asks for the innermost cancellation, it gets a context of the
// standard library that ends with this one.
type Context struct {
	world      *World
	parent     context.Context
	up         *Context // the nearest parent of this type that ends this one; nil: none
	err, cause error

	first      *Context // first of the children
	prev, next *Context // siblings
	last       *Context
	sleepers   *Coroutine // first of the coroutines that sleep on it
	lastAsleep *Coroutine

	standard context.Context // made when it is first needed
	end      context.CancelCauseFunc
}

type contextKey struct{}

// cancelKey is the standard library's key for the innermost cancellation of a context.
var cancelKey = func() any {
	p := &keyProbe{Context: context.Background()}
	context.Cause(p)
	if p.key == nil {
		panic("sim: context.Cause no longer asks a context for its cancellation: Context has to be made to fit this version of Go")
	}
	return p.key
}()

type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// WithCancelCause does the same as context.WithCancelCause, in this world.
func (c *Client) WithCancelCause(parent context.Context) (context.Context, context.CancelCauseFunc) {
	w := c.world
	x := &Context{world: w, parent: parent}
	if up, foreign := nearest(w, parent); up != nil {
		x.join(up)
	} else if foreign {
		w.adopted = append(w.adopted, x)
	}
	if err := parent.Err(); err != nil {
		checkRealTime(w, parent)
		x.cancel(err, context.Cause(parent))
	}
	return x, x.cancelCause
}

// nearest returns the Context that ends when ctx does. foreign reports that there is none, and
// that ctx may end all the same.
func nearest(w *World, ctx context.Context) (own *Context, foreign bool) {
	if x, ok := ctx.(*Context); ok {
		return x, false
	}
	if ctx.Done() == nil {
		return nil, false
	}
	if x, ok := ctx.Value(contextKey{}).(*Context); ok && x.world == w && x.Done() == ctx.Done() {
		return x, false // a Context in a wrapper: with a value, or inside another type
	}
	checkRealTime(w, ctx)
	return nil, true
}

// checkRealTime panics if ctx ends by the real clock.
func checkRealTime(w *World, ctx context.Context) {
	at, ok := ctx.Deadline()
	if !ok {
		return
	}
	now := Epoch.Add(w.Elapsed())
	if at.Sub(now) > 10*365*24*time.Hour || ctx.Err() == context.DeadlineExceeded && at.After(now) {
		panic(fmt.Sprintf("sim: a context with a deadline by the real clock (%v, while it is %v here): under simulation use Runtime.WithCancelCause and Runtime.AfterFunc instead of context.WithTimeout and context.WithDeadline", at.Format(time.DateTime), now.Format(time.DateTime)))
	}
}

// Ended returns the cause of the end of ctx, or nil if it has not ended.
func (w *World) Ended(ctx context.Context) error {
	if x, ok := ctx.(*Context); ok {
		return x.cause
	}
	if ctx.Err() == nil {
		return nil
	}
	checkRealTime(w, ctx)
	return context.Cause(ctx)
}

func (x *Context) join(up *Context) {
	x.up = up
	if up.err != nil {
		return
	}
	if x.prev = up.last; x.prev != nil {
		x.prev.next = x
	} else {
		up.first = x
	}
	up.last = x
}

func (x *Context) quit() {
	up := x.up
	if up == nil || up.err != nil {
		return
	}
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		up.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		up.last = x.prev
	}
	x.prev, x.next = nil, nil
}

func (x *Context) cancelCause(cause error) {
	if x.err != nil {
		return
	}
	if cause == nil {
		cause = context.Canceled
	}
	x.quit()
	x.cancel(context.Canceled, cause)
}

// cancel ends x, its children, and the sleep of the coroutines that sleep on it.
func (x *Context) cancel(err, cause error) {
	if x.err != nil {
		return
	}
	x.err, x.cause = err, cause
	if x.standard != nil {
		x.end(cause)
	}
	for child := x.first; child != nil; {
		next := child.next
		child.prev, child.next = nil, nil
		child.cancel(err, cause)
		child = next
	}
	x.first, x.last = nil, nil
	for c := x.sleepers; c != nil; c = c.succ {
		c.Wake()
	}
}

// Deadline returns the deadline of the parent.
func (x *Context) Deadline() (time.Time, bool) { return x.parent.Deadline() }

// Done returns a channel that is closed when the context ends. Code that runs in a world must
// not wait for it, because that would stop the world: it must sleep on the context instead.
func (x *Context) Done() <-chan struct{} { return x.likeStandard().Done() }

// Err returns the error with which the context ended: context.Canceled, or the error of its
// parent.
func (x *Context) Err() error { return x.err }

// Value returns the value of the parent.
func (x *Context) Value(key any) any {
	switch key {
	case contextKey{}:
		return x
	case cancelKey:
		return x.likeStandard().Value(key)
	}
	return x.parent.Value(key)
}

func (x *Context) likeStandard() context.Context {
	if x.standard == nil {
		x.standard, x.end = context.WithCancelCause(context.Background())
		if x.err != nil {
			x.end(x.cause)
		}
	}
	return x.standard
}

// attend makes the end of ctx wake the coroutine, until leave is called.
func (c *Coroutine) attend(ctx context.Context) {
	own, foreign := nearest(c.world, ctx)
	switch {
	case own != nil:
		c.ctx = own
		if c.prev = own.lastAsleep; c.prev != nil {
			c.prev.succ = c
		} else {
			own.sleepers = c
		}
		own.lastAsleep = c
	case foreign:
		c.other = ctx
		c.world.foreign = append(c.world.foreign, c)
	}
}

func (c *Coroutine) leave() {
	switch {
	case c.ctx != nil:
		if c.prev != nil {
			c.prev.succ = c.succ
		} else {
			c.ctx.sleepers = c.succ
		}
		if c.succ != nil {
			c.succ.prev = c.prev
		} else {
			c.ctx.lastAsleep = c.prev
		}
		c.prev, c.succ, c.ctx = nil, nil, nil
	case c.other != nil:
		i := slices.Index(c.world.foreign, c)
		c.world.foreign = slices.Delete(c.world.foreign, i, i+1)
		c.other = nil
	}
}

// poll checks contexts of other types, which end without notifying the world. It is called
// after every event.
func (w *World) poll() {
	live := w.adopted[:0]
	for _, x := range w.adopted {
		switch err := x.parent.Err(); {
		case x.err != nil:
		case err != nil:
			checkRealTime(w, x.parent)
			x.cancel(err, context.Cause(x.parent))
		default:
			live = append(live, x)
		}
	}
	clear(w.adopted[len(live):])
	w.adopted = live
	for _, c := range w.foreign {
		if c.other.Err() != nil {
			c.Wake()
		}
	}
}
