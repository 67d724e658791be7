package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// Connect opens a connection to each master, and says how it went. The error is that
// fewer than a quorum answered before ctx ended. A program that calls it when it starts
// learns of a wrong password at once, and its first Lock does not wait for connections.
func (c *Client) Connect(ctx context.Context) ([]MasterHealth, error) {
	m, ok := c.masters.(*redisMasters)
	if !ok {
		return nil, nil
	}
	m.each(func(b *batcher) { b.connect(ctx) })
	health, up := c.Health(), 0
	errs := []error{fmt.Errorf("redlock: connect: fewer than %d of %d masters answered", c.quorum, c.n)}
	for _, h := range health {
		if h.Err == nil {
			up++
		} else {
			errs = append(errs, h.Err)
		}
	}
	if up < c.quorum {
		return health, errors.Join(errs...)
	}
	return health, nil
}

// Health is what is known about each master, without asking it.
func (c *Client) Health() []MasterHealth {
	m, ok := c.masters.(*redisMasters)
	if !ok {
		return nil
	}
	var all []MasterHealth
	for _, b := range m.batchers {
		b.mu.Lock()
		all = append(all, b.report())
		b.mu.Unlock()
	}
	return all
}

// MasterKey is what one master stores under a key.
type MasterKey struct {
	Name      string
	Token     string        // of who holds it there; "": nobody
	Remaining time.Duration // of the key's TTL; -1: it has none
	Err       error         // the master did not answer
}

// Inspect asks every master who holds a lock: what it stores, and for how long. holder is
// the token that a quorum stores, or "". It is for people and tools: the answer is old
// when it comes.
func (c *Client) Inspect(ctx context.Context, key string) (holder string, masters []MasterKey, err error) {
	m, ok := c.masters.(*redisMasters)
	if !ok {
		return "", nil, errors.New("redlock: these masters cannot be inspected")
	}
	name := c.settings.stored(key)
	masters = make([]MasterKey, c.n)
	m.each(func(b *batcher) {
		k := &masters[b.index]
		k.Name = b.name
		pipe := b.client.Pipeline()
		token, ttl := pipe.Get(ctx, name), pipe.PTTL(ctx, name)
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			k.Err = err
			return
		}
		if k.Token = token.Val(); k.Token != "" {
			k.Remaining = max(ttl.Val(), -1)
		}
	})
	votes, answered := map[string]int{}, 0
	for _, k := range masters {
		if k.Err == nil {
			answered++
		}
		if votes[k.Token]++; k.Token != "" && votes[k.Token] >= c.quorum {
			holder = k.Token
		}
	}
	if answered < c.quorum {
		err = &Error{Op: "inspect", Key: key, Kind: ErrNoQuorum, Context: contextError(ctx)}
	}
	return holder, masters, err
}

// ForceUnlock deletes a lock on all masters, whoever holds it. That breaks the lock for
// its holder, who is not told: two may then hold it. It is for people who know that the
// holder is gone and cannot wait for the TTL. The error is that too few masters answered.
func (c *Client) ForceUnlock(ctx context.Context, key string) error {
	s, err := c.begin(ctx, key, nil)
	if err != nil {
		return err
	}
	if !c.enter() {
		return &Error{Op: "force unlock", Key: key, Kind: ErrClosed}
	}
	defer c.leave()
	del := protocol.Command{Kind: Release, Key: s.stored(key), Token: newToken(s.runtime), Args: []any{"del", s.stored(key)}}
	votes := c.ask(ctx, c.masters.Begin(s.hooks.Vote), del, (*tally).answered, s)
	if !votes.answered() {
		return &Error{Op: "force unlock", Key: key, Kind: ErrNoQuorum, Votes: votes.votes, Context: contextError(ctx)}
	}
	return nil
}

// connect pings a master, and notes what comes of it.
func (b *batcher) connect(ctx context.Context) {
	err := b.ping(ctx) // which includes connecting
	began := b.masters.now()
	if err == nil {
		err = b.ping(ctx)
	}
	b.mu.Lock()
	defer b.unlock()
	now := b.masters.now()
	if err == nil {
		b.timed(now, now-began)
	}
	switch {
	case err != nil:
		b.fail(err, began)
	case b.state == suspect:
		b.resume(now)
	default:
		b.connected, b.heard = true, now
	}
}

// report is what is known about the master. The caller holds mu.
func (b *batcher) report() MasterHealth {
	return MasterHealth{Name: b.name, Err: b.cause, RoundTrip: time.Duration(b.roundTrip.Load())}
}
