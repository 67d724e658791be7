package workload

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Usage is something that programs do with a lock although it makes no sense, by mistake or after an
// error. The lock must refuse it, or it must have no effect.
type Usage string

// The usages. Each client does each of them now and then.
const (
	ReleaseTwice       Usage = "release-twice"        // it releases a lease once more, after a while
	ExtendAfterRelease Usage = "extend-after-release" // it extends a lease that it has released
	AcquireAgain       Usage = "acquire-again"        // it acquires the key that it holds
	CancelRelease      Usage = "cancel-release"       // it cancels a release that is under way
)

// Usages lists them.
var Usages = []Usage{ReleaseTwice, ExtendAfterRelease, AcquireAgain, CancelRelease}

// InProcess says whether only a client that is part of this program can do it.
func (u Usage) InProcess() bool { return u == AcquireAgain || u == CancelRelease }

var errCancelled = errors.New("the client cancelled it")

// does says whether the client does something now.
func (c *client) does(u Usage) bool {
	return slices.Contains(c.w.config.Usages, u) && c.random.IntN(2) == 0
}

// afterRelease uses a lease that the client has released: soon, or when others may hold the lock.
func (c *client) afterRelease(ctx context.Context, key string, lease Lease) (alive bool) {
	again, extends := c.does(ReleaseTwice), c.does(ExtendAfterRelease)
	if !again && !extends {
		return true
	}
	_ = c.clock.Sleep(ctx, c.upTo(c.w.config.TTL/4))
	if extends {
		_, alive = c.extend(key, lease)
		c.forgets()
		if !alive {
			return false
		}
	}
	return !again || c.release(key, lease)
}

// acquireAgain acquires a key that the client holds, and releases it if the lock is granted again. The
// client gives up soon: it is in its critical section.
func (c *client) acquireAgain(ctx context.Context, key string, lease Lease) (alive bool) {
	if !c.does(AcquireAgain) {
		return true
	}
	again, alive := c.acquire(ctx, key, max(c.left(lease)/4, time.Millisecond))
	if alive && again != nil {
		alive = c.release(key, again)
	}
	c.mu.Lock()
	c.lease, c.key = lease, key
	c.mu.Unlock()
	return alive
}

// releaseContext is the context of a release. stop frees what belongs to it.
func (c *client) releaseContext() (ctx context.Context, stop func()) {
	if !c.does(CancelRelease) {
		return context.Background(), func() {}
	}
	ctx, cancel := c.w.runtime.WithCancelCause(context.Background())
	end := c.w.runtime.AfterFunc(c.upTo(c.w.config.TTL/200), func() { cancel(errCancelled) })
	return ctx, func() {
		end()
		cancel(nil)
	}
}
