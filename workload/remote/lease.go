package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// Acquire makes the process acquire the lock. ctx ends the wait only at its deadline, because
// the process knows only the timeout in the request.
func (c *Client) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	return c.AcquireShare(ctx, key, workload.Share{})
}

// AcquireShare does the same for a part of the lock.
func (c *Client) AcquireShare(ctx context.Context, key string, share workload.Share) (workload.Lease, error) {
	return c.acquire(ctx, Request{Op: opAcquire, Mode: share.Mode, Permits: share.Permits, Key: key})
}

// AcquireAll does the same for several keys.
func (c *Client) AcquireAll(ctx context.Context, keys []string) (workload.Lease, error) {
	return c.acquire(ctx, Request{Op: opAcquire, Key: keys[0], Keys: keys})
}

func (c *Client) acquire(ctx context.Context, r Request) (workload.Lease, error) {
	within := c.site.AcquireTimeout
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end)
	}
	c.mu.Lock()
	delete(c.ended, "key "+r.Key) // left by an earlier lease
	c.mu.Unlock()
	invoked := time.Now()
	r.Within = c.within(within)
	r.WithinMS = inMS(r.Within)
	m, err := c.ask(r)
	if err != nil {
		return nil, err
	}
	return c.granted(nil, r, m, invoked), nil
}

// granted makes a lease from the outcome of an acquire or an extend that was invoked at the given time. u is the client if
// the process serves several.
func (c *Client) granted(u *sharer, r Request, m Message, invoked time.Time) workload.Lease {
	if m.Value.Token == "" || m.At == 0 && c.hello.Lease != workload.NoLease {
		c.attempts.Settle(&c.site, &c.mu)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &lease{client: c, user: u, key: r.Key, keys: r.Keys, fence: m.Value.Fence}
	l.token = cmp.Or(m.Value.Token, r.Token)
	if l.token == "" && u == nil {
		l.token = c.attempts.Token(invoked)
	}
	if l.token == "" { // the name only has to distinguish leases
		c.unnamed++
		l.token = fmt.Sprintf("%s-%d-%d", c.site.Client, c.process.cmd.Process.Pid, c.unnamed)
	}
	l.until, l.ends, l.atLeast = c.lasts(l.token, m, invoked)
	l.ctx, l.end = context.WithCancelCause(context.Background())
	if skewed, ok := c.skewed[l.token]; ok && skewed.At > m.At { // its clock was skewed before the outcome was read
		c.moved(l, skewed)
	}
	if before := c.leases[l.token]; before != nil { // an extension of the same lock keeps the context
		l.ctx, l.end = before.ctx, before.end
	}
	cause, over := c.ended[l.token]
	if !over {
		cause, over = c.ended["key "+r.Key]
	}
	delete(c.ended, l.token)
	delete(c.ended, "key "+r.Key)
	switch {
	case over:
		l.end(cause)
	case c.gone:
		l.end(workload.ErrGone)
	default:
		c.leases[l.token] = l
	}
	return c.shown(l)
}

// shown returns a lease in the form that the workload gets: a Writer, if the client writes by
// itself.
func (c *Client) shown(l *lease) workload.Lease {
	if c.hello.Has(workload.CanWrite) {
		return &writer{l}
	}
	return l
}

// valid records that a lease ends at another time.
func (c *Client) valid(m Message) *lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skewed[m.Value.Token] = m
	l := c.leases[m.Value.Token]
	if l != nil {
		c.moved(l, m)
	}
	return l
}

// moved sets the end of a lease to the time in a message. The caller holds c.mu.
func (c *Client) moved(l *lease, m Message) {
	l.ends = m.At + int64(m.Left)
	l.until = c.trueTime(l.ends)
}

// lease is a lease of a client process, in true time.
type lease struct {
	client     *Client
	user       *sharer // nil: the process has only one client
	key, token string
	keys       []string // all keys, if there are several
	fence      int64
	until      time.Time // guarded by client.mu, because the client's clocks may be skewed
	ends       int64     // the reading of the client's monotonic clock then; 0: not needed
	atLeast    bool      // it may be valid for longer
	ctx        context.Context
	end        context.CancelCauseFunc
}

func (l *lease) Token() string            { return l.token }
func (l *lease) Fence() int64             { return l.fence }
func (l *lease) Context() context.Context { return l.ctx }

func (l *lease) Until() time.Time {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.until
}

func (l *lease) ask(r Request) (Message, error) {
	if l.user != nil {
		return l.user.ask(r)
	}
	return l.client.ask(r)
}

// AtLeast reports whether the lease may be valid for longer than Until says.
func (l *lease) AtLeast() bool { return l.atLeast }

// Fixed reports whether the client's lock has no extend.
func (l *lease) Fixed() bool { return !l.client.hello.Has(workload.CanExtend) }

func (l *lease) Extend(context.Context) (workload.Lease, error) {
	if l.Fixed() {
		return nil, &Refused{"the client cannot extend leases"}
	}
	return l.extend("")
}

func (l *lease) CanChangeMode(mode string) bool {
	if mode == history.ModeRead {
		return l.client.hello.Has(workload.CanDowngrade)
	}
	return l.client.hello.Has(workload.CanUpgrade)
}

func (l *lease) ChangeMode(_ context.Context, mode string) (workload.Lease, error) {
	return l.extend(mode)
}

func (l *lease) extend(mode string) (workload.Lease, error) {
	invoked := time.Now()
	r := Request{Op: opExtend, Key: l.key, Keys: l.keys, Token: l.token, Mode: mode}
	m, err := l.ask(r)
	if refused := (*Refused)(nil); errors.As(err, &refused) && m.At == 0 && mode != history.ModeWrite { // the lease is over
		l.client.finish(l.token, redlock.ErrLost)
	}
	if err != nil {
		return nil, err
	}
	return l.client.granted(l.user, r, m, invoked), nil
}

func (l *lease) Release(context.Context) error {
	_, err := l.ask(Request{Op: opRelease, Key: l.key, Keys: l.keys, Token: l.token})
	if !l.client.hello.Has(workload.CanVotes) { // with CanVotes the client reports itself that the lease is over
		l.client.finish(l.token, redlock.ErrReleased)
	}
	return err
}

// writer is a lease of a client that writes by itself.
type writer struct{ *lease }

// Write makes the process check its lease, send its token if mark is set, and send a write.
func (l *writer) Write(value int64, mark bool) error {
	_, err := l.ask(Request{Op: opWrite, Key: l.key, Token: l.token, Value: value, Mark: mark})
	return err
}
