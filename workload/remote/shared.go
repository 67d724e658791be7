package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

// A process may serve several clients at once, like a program whose threads use a lock. Each request then
// names its client, and has a number that its answer repeats.

// sharing is the state of a process that serves several clients. Client.mu guards it.
type sharing struct {
	users  []*sharer
	number int64               // the number of the latest request
	open   map[int64]*question // requests without an outcome, by number
	owners map[string]*sharer  // the client of each token
	held   []*unclaimed
}

// sharer is the lock of one client, in a process that serves several.
type sharer struct {
	client *Client
	site   workload.Env
	object string
	op     string // its request in progress; empty: there is none
	key    string
}

// question is a request in progress, and the channel for the messages about it.
type question struct {
	of       *sharer
	messages chan Message
}

// unclaimed holds the votes on a token whose client is not known yet.
type unclaimed struct {
	token string
	votes []history.Op
	seen  []time.Time
	may   []*sharer // clients that may have sent the commands
}

// attributed is a vote whose client is known.
type attributed struct {
	of   *sharer
	vote history.Op
	seen time.Time
}

// For returns the lock of a client of the process.
func (c *Client) For(s workload.Env, object string) workload.Lock {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &sharer{client: c, site: s, object: object}
	if c.sharing.open == nil {
		c.sharing.open, c.sharing.owners = map[int64]*question{}, map[string]*sharer{}
	}
	c.sharing.users = append(c.sharing.users, u)
	return u
}

// answers returns the channel for a message, according to the number of its request.
func (c *Client) answers(m Message) chan<- Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := c.sharing.open[m.ID]; to != nil {
		return to.messages
	}
	if len(c.sharing.users) > 0 { // no request waits for it
		return make(chan Message, 1)
	}
	return c.messages
}

// closeAnswers is called after the last message.
func (c *Client) closeAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, to := range c.sharing.open {
		close(to.messages)
	}
	clear(c.sharing.open)
	close(c.messages)
}

// Close does nothing: the process continues for its other clients.
func (u *sharer) Close() error { return nil }

var errNoToken = errors.New("the client can be shared, and named no token in its answer to acquire")

// Acquire makes the process acquire the lock for its client.
func (u *sharer) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	return u.AcquireShare(ctx, key, workload.Share{})
}

// AcquireShare does the same for a part of the lock.
func (u *sharer) AcquireShare(ctx context.Context, key string, share workload.Share) (workload.Lease, error) {
	return u.acquire(ctx, Request{Op: opAcquire, Mode: share.Mode, Permits: share.Permits, Key: key})
}

// AcquireAll does the same for several keys.
func (u *sharer) AcquireAll(ctx context.Context, keys []string) (workload.Lease, error) {
	return u.acquire(ctx, Request{Op: opAcquire, Key: keys[0], Keys: keys})
}

func (u *sharer) acquire(ctx context.Context, r Request) (workload.Lease, error) {
	within := u.site.AcquireTimeout
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end)
	}
	invoked := time.Now()
	r.Within = u.client.within(within)
	r.WithinMS = inMS(r.Within)
	m, err := u.ask(r)
	if err != nil {
		return nil, err
	}
	if m.Value.Token == "" {
		u.client.kill(errNoToken.Error())
		return nil, errNoToken
	}
	return u.client.granted(u, r, m, invoked), nil
}

// ask sends a request of the client, and waits for its outcome.
func (u *sharer) ask(r Request) (Message, error) {
	c := u.client
	messages := make(chan Message, 16)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return Message{}, workload.ErrGone
	}
	c.sharing.number++
	r.ID, r.Thread, r.Object = c.sharing.number, u.site.Client, u.object
	c.sharing.open[r.ID] = &question{u, messages}
	u.op, u.key = r.Op, r.Key
	c.mu.Unlock()
	m, err := c.converse(r, messages)
	c.mu.Lock()
	delete(c.sharing.open, r.ID)
	known := c.answered(u, m)
	c.mu.Unlock()
	c.record(known)
	return m, err
}

// record records votes. Some of them are older than the answer that names their client.
func (c *Client) record(votes []attributed) {
	for _, a := range votes {
		a.vote.Value.Client = a.of.site.Client
		a.of.site.Record(a.vote, time.Since(a.seen))
	}
}

// answered handles the outcome of a client's request, and returns the votes whose client is now known. The
// caller holds c.mu.
func (c *Client) answered(u *sharer, m Message) (known []attributed) {
	op := u.op
	u.op, u.key = "", ""
	if op != opAcquire {
		return nil
	}
	if m.Type == string(history.OK) && m.Value != nil {
		known = c.owned(m.Value.Token, u)
	}
	for _, x := range slices.Clone(c.sharing.held) {
		x.may = slices.DeleteFunc(x.may, func(o *sharer) bool { return o == u })
		switch len(x.may) {
		case 0: // an attempt of this client that failed
			known = append(known, c.owned(x.token, u)...)
		case 1:
			known = append(known, c.owned(x.token, x.may[0])...)
		}
	}
	return known
}

// owned records the client of a token, and returns the votes that were kept for it. The caller holds c.mu.
func (c *Client) owned(token string, u *sharer) (known []attributed) {
	c.sharing.owners[token] = u
	c.sharing.held = slices.DeleteFunc(c.sharing.held, func(x *unclaimed) bool {
		if x.token != token {
			return false
		}
		for i, v := range x.votes {
			known = append(known, attributed{u, v, x.seen[i]})
		}
		return true
	})
	return known
}

// claim handles a message that names the token of a request, and records the votes that were kept for it.
func (c *Client) claim(m Message) {
	c.mu.Lock()
	var known []attributed
	if q := c.sharing.open[m.ID]; q != nil && m.Value.Token != "" {
		known = c.owned(m.Value.Token, q.of)
	}
	c.mu.Unlock()
	c.record(known)
}

// attribute finds the client that sent the command of a vote on the links. The caller holds c.mu, and
// attribute unlocks it.
func (c *Client) attribute(op history.Op, at time.Time) {
	c.attempts.Saw(op, at)
	asker := c.asker(op)
	if asker == nil {
		c.hold(op, at)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.record([]attributed{{asker, op, at}})
}

// asker returns the client that sent the command of a vote; nil: several clients may have sent it. The caller
// holds c.mu.
func (c *Client) asker(op history.Op) *sharer {
	asks := map[string]string{history.CommandRelease: opRelease, history.CommandExtend: opExtend}[op.Value.Command]
	if asking := c.asking(asks, op.Key); asks != "" && len(asking) == 1 {
		return asking[0]
	}
	if u := c.sharing.owners[op.Value.Token]; u != nil {
		return u
	}
	if slices.ContainsFunc(c.sharing.held, func(x *unclaimed) bool { return x.token == op.Value.Token }) {
		return nil
	}
	switch asking := c.asking(opAcquire, op.Key); len(asking) {
	case 0: // a late reply to an attempt that failed
		return c.sharing.users[0]
	case 1:
		return asking[0]
	}
	return nil
}

// asking returns the clients with such a request in progress. If none of them uses the key, whose name on the
// masters may differ from the lock's, it returns the clients with such a request for any key.
func (c *Client) asking(op, key string) []*sharer {
	all := slices.DeleteFunc(slices.Clone(c.sharing.users), func(u *sharer) bool { return u.op != op })
	if mine := slices.DeleteFunc(slices.Clone(all), func(u *sharer) bool { return u.key != key }); len(mine) > 0 {
		return mine
	}
	return all
}

// hold keeps a vote until its client is known.
func (c *Client) hold(op history.Op, at time.Time) {
	i := slices.IndexFunc(c.sharing.held, func(x *unclaimed) bool { return x.token == op.Value.Token })
	if i < 0 {
		i = len(c.sharing.held)
		c.sharing.held = append(c.sharing.held, &unclaimed{token: op.Value.Token, may: c.asking(opAcquire, op.Key)})
	}
	x := c.sharing.held[i]
	x.votes, x.seen = append(x.votes, op), append(x.seen, at)
}
