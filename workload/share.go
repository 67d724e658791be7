package workload

import (
	"cmp"
	"context"
	"strings"
	"time"

	"lockpick/history"
)

// Share is what an acquire asks for of a lock that several clients may hold at once. The zero value is everything, or
// one permit of a semaphore.
type Share struct {
	Mode    string // history.ModeRead: as a reader; empty: exclusive
	Permits int    // of a semaphore; 0: one
	owner   string // of a re-entrant lock, which the lock itself knows
	changes int    // how often its mode has been changed, so that masters know late messages
}

// SharedLock is a lock that several clients may hold at once: a read-write lock or a semaphore.
type SharedLock interface {
	Lock
	// AcquireShare does the same as Acquire, for a part of the lock.
	AcquireShare(ctx context.Context, key string, share Share) (Lease, error)
}

// ModeChanger is a lease of a read-write lock whose mode its holder can change.
type ModeChanger interface {
	// CanChangeMode reports whether it can change to a mode: history.ModeRead is a downgrade, history.ModeWrite an upgrade.
	CanChangeMode(mode string) bool
	// ChangeMode does the same as Extend, and changes the mode. An upgrade does not wait for other readers, who may wait to
	// upgrade, too: it fails, with an error that wraps redlock.ErrNotHeld, and the lease stays as it is.
	ChangeMode(ctx context.Context, mode string) (Lease, error)
}

// AcquireShare acquires a part of a lock, or several keys at once (KeysOf). What a lock cannot be asked for, its kind does not
// have.
func AcquireShare(ctx context.Context, l Lock, key string, share Share) (Lease, error) {
	if keys := KeysOf(key); len(keys) > 1 {
		return l.(MultiLock).AcquireAll(ctx, keys)
	}
	if s, ok := l.(SharedLock); ok && share != (Share{}) {
		return s.AcquireShare(ctx, key, share)
	}
	return l.Acquire(ctx, key)
}

// DefaultPermits is the number of permits of a semaphore if nobody says another one, and DefaultReaders the share of the
// acquires of a read-write lock that read.
const (
	DefaultPermits = 3
	DefaultReaders = 0.7
)

// share draws what the client asks for.
func (c *client) share() Share {
	cfg := &c.w.config
	switch cfg.Lock.Kind {
	case history.ReadWrite:
		if c.random.Float64() < cfg.Readers {
			return Share{Mode: history.ModeRead}
		}
	case history.Semaphore:
		return Share{Permits: 1 + c.random.IntN(min(max(1, cfg.Permits), cmp.Or(cfg.Lock.Permits, history.MaxPermits)))}
	}
	return Share{}
}

// changeMode changes the mode of the client's lease now and then, if the lock can: it returns what it has then.
func (c *client) changeMode(key string, lease Lease, share Share) (_ Lease, _ Share, alive bool) {
	to := history.ModeRead
	if share.Mode == history.ModeRead {
		to = history.ModeWrite
	}
	m, ok := lease.(ModeChanger)
	if !ok || c.w.config.Lock.Kind != history.ReadWrite || !m.CanChangeMode(to) || c.random.IntN(4) != 0 || !c.valid(lease) {
		return lease, share, true
	}
	if to == history.ModeRead {
		share.Mode = to // whatever the call returns
	}
	longer, alive := c.extendBy(key, lease, to, func(ctx context.Context) (Lease, error) { return m.ChangeMode(ctx, to) })
	if longer != nil {
		lease, share.Mode = longer, strings.TrimPrefix(to, history.ModeWrite)
	}
	return lease, share, alive
}

// asks returns the value of the line that calls an acquire, or nil if it asks for nothing but the key.
func (s Share) asks() *history.Value {
	if s == (Share{}) {
		return nil
	}
	return &history.Value{Mode: s.Mode, Permits: s.Permits}
}

// writes reports whether a client with a share writes to the guarded resource. Readers do not, nor do those who hold a
// semaphore with others.
func (c *client) writes(s Share) bool {
	return s.Mode != history.ModeRead && c.w.config.Lock.Kind != history.Semaphore
}

// nest acquires a key that the client holds, now and then, if the lock is re-entrant; works for a while
// under both leases, and releases the inner one.
func (c *client) nest(ctx context.Context, key string, outer Lease) (alive bool) {
	if c.w.config.Lock.Kind != history.Reentrant || !c.valid(outer) || c.random.IntN(2) == 0 {
		return true
	}
	c.mu.Lock()
	c.outer = keyedLease{outer, key}
	c.mu.Unlock()
	inner, alive := c.acquire(ctx, key, Share{}, max(c.left(outer)/2, time.Millisecond))
	if alive && inner != nil {
		end := c.leaseClock().Now().Add(c.upTo(c.w.config.TTL / 8))
		for c.sleep(ctx, inner, end) { // the clock was skewed, so compute the remaining time again
		}
		if alive = c.awake(inner); alive {
			alive = c.release(key, inner)
		}
	}
	c.mu.Lock()
	c.lease, c.key = outer, key
	c.leaseLost = c.outerLost
	c.outer, c.outerLost = keyedLease{}, false
	c.mu.Unlock()
	return alive
}
