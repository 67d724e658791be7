package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/redlock/protocol"

	"github.com/redis/go-redis/v9"
)

// Health implements protocol.Monitor.
func (m *Masters) Health() (all []protocol.MasterHealth) {
	for _, b := range m.batchers {
		b.mu.Lock()
		all = append(all, b.report())
		b.mu.Unlock()
	}
	return all
}

// OnSuspect implements protocol.Monitor.
func (m *Masters) OnSuspect(f func(protocol.MasterHealth)) { m.onSuspect = f }

// Connect implements protocol.Connector.
func (m *Masters) Connect(ctx context.Context) { m.each(func(b *batcher) { b.connect(ctx) }) }

// Read implements protocol.Reader. Its commands are not batched with those of the lock: their
// timeouts are those of the go-redis clients, and ctx.
func (m *Masters) Read(ctx context.Context, name string) []protocol.MasterKey {
	all := make([]protocol.MasterKey, len(m.batchers))
	m.each(func(b *batcher) {
		k := &all[b.index]
		k.Name = b.name
		defer asPanicError(&k.Err) // go-redis panics on some replies
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
	return all
}

// connect pings a master twice and records the result. The second ping measures the round trip.
// A master whose reply never ends delays connect only until the time of both pings is over,
// although go-redis goes on reading.
func (b *batcher) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*probeFor)
	defer cancel()
	type pings struct {
		err  error
		took time.Duration
	}
	began, done := b.masters.now(), make(chan pings, 1)
	b.masters.goroutines.Go(func() {
		err := b.ping(ctx) // connects
		second := b.masters.now()
		if err == nil {
			err = b.ping(ctx)
		}
		done <- pings{err, b.masters.now() - second}
	})
	var p pings
	select {
	case p = <-done:
	case <-ctx.Done():
		p.err = fmt.Errorf("%w: it has not answered PING twice", context.Cause(ctx))
	}
	b.mu.Lock()
	defer b.unlock()
	now := b.masters.now()
	if p.err == nil {
		b.timed(now, p.took)
	}
	switch {
	case p.err != nil:
		b.fail(p.err, began)
	case b.state == suspect:
		b.resume(now)
	default:
		b.connected, b.heard = true, now
	}
}

// report returns the state of the master. The caller holds mu.
func (b *batcher) report() protocol.MasterHealth {
	return protocol.MasterHealth{Name: b.name, Err: b.cause, RoundTrip: time.Duration(b.roundTrip.Load())}
}
