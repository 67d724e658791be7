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

// The usages. Each client does each of the first four now and then. The last two say how clients are made.
const (
	ReleaseTwice       Usage = "release-twice"        // it releases a lease once more, after a while
	ExtendAfterRelease Usage = "extend-after-release" // it extends a lease that it has released
	AcquireAgain       Usage = "acquire-again"        // it acquires the key that it holds
	CancelRelease      Usage = "cancel-release"       // it cancels a release that is under way
	ShareLock          Usage = "share-lock"           // several clients are one process, and use one lock object at once
	ShareProcess       Usage = "share-process"        // several clients are one process, each with a lock object of its own
)

// Usages lists them.
var Usages = []Usage{ReleaseTwice, ExtendAfterRelease, AcquireAgain, CancelRelease, ShareLock, ShareProcess}

// Shares says whether several clients are part of one process.
func (u Usage) Shares() bool { return u == ShareLock || u == ShareProcess }

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
	ctx = c.calling(context.Background())
	if !c.does(CancelRelease) {
		return ctx, func() {}
	}
	ctx, cancel := c.w.runtime.WithCancelCause(ctx)
	end := c.w.runtime.AfterFunc(c.upTo(c.w.config.TTL/200), func() { cancel(errCancelled) })
	return ctx, func() {
		end()
		cancel(nil)
	}
}
