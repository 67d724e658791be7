package transport

import (
	"context"
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

// Each runs f for the client of each master at the same time, and waits for all.
func (m *Masters) Each(f func(i int, client redis.UniversalClient)) {
	m.each(func(b *batcher) { f(b.index, b.client) })
}

// connect pings a master twice and records the result. The second ping measures the round
// trip.
func (b *batcher) connect(ctx context.Context) {
	err := b.ping(ctx) // connects
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

// report returns the state of the master. The caller holds mu.
func (b *batcher) report() Health {
	return Health{Name: b.name, Err: b.cause, RoundTrip: time.Duration(b.roundTrip.Load())}
}
