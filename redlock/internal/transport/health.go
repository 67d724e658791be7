package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Health is the state of a master (redlock.MasterHealth).
type Health struct {
	Name      string
	Err       error         // the reason why the master is suspect; nil if it is not
	RoundTrip time.Duration // of its fastest recent reply; 0 before the first one
}

// Health returns the state of each master without sending a command.
func (m *Masters) Health() (all []Health) {
	for _, b := range m.batchers {
		b.mu.Lock()
		all = append(all, b.report())
		b.mu.Unlock()
	}
	return all
}

// Connect opens a connection to each master and records whether that succeeded: see Health.
func (m *Masters) Connect(ctx context.Context) { m.each(func(b *batcher) { b.connect(ctx) }) }

// Each runs f for the client of each master at the same time, and waits for all. A panic of f,
// which go-redis causes on some replies, is its error.
func (m *Masters) Each(f func(i int, client redis.UniversalClient) error) []error {
	errs := make([]error, len(m.batchers))
	m.each(func(b *batcher) {
		defer asPanicError(&errs[b.index])
		errs[b.index] = f(b.index, b.client)
	})
	return errs
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
func (b *batcher) report() Health {
	return Health{Name: b.name, Err: b.cause, RoundTrip: time.Duration(b.roundTrip.Load())}
}
