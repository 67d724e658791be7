package workload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Usage is a wrong use of a lock that occurs in programs, by mistake or after an error. The lock must
// refuse it, or it must have no effect.
type Usage string

// These are the usages. Each client makes the first four of these mistakes now and then. The next two
// determine how clients are made. The last two are legal: which names the keys have, and how long callers wait.
const (
	ReleaseTwice       Usage = "release-twice"        // the client releases a lease once more, after a while
	ExtendAfterRelease Usage = "extend-after-release" // the client extends a lease that it has released
	AcquireAgain       Usage = "acquire-again"        // the client acquires the key that it holds
	CancelRelease      Usage = "cancel-release"       // the client cancels a release in progress
	ShareLock          Usage = "share-lock"           // several clients are one process, and use one lock object at once
	ShareProcess       Usage = "share-process"        // several clients are one process, each with its own lock object
	OddNames           Usage = "odd-names"            // keys have capitals, spaces, quotes, braces, other scripts, 200 bytes
	GiveUp             Usage = "give-up"              // the client's patience ends near the grant
)

// Usages lists all usages.
var Usages = []Usage{ReleaseTwice, ExtendAfterRelease, AcquireAgain, CancelRelease, ShareLock, ShareProcess, OddNames, GiveUp}

// Shares reports whether several clients are part of one process.
func (u Usage) Shares() bool { return u == ShareLock || u == ShareProcess }

// InProcess reports whether only a client that is part of this program can do it.
func (u Usage) InProcess() bool { return u == AcquireAgain || u == CancelRelease }

// oddNames are names of keys that programs use and locks get wrong: two differ in the case of a letter, or at their
// ends alone, and some mean something to Lua, to patterns of keys, to a shell or to a cluster.
var oddNames = []string{
	"k0", "K0", "k 0", "k[0]", "k*", `k'0"`, "{k}0", "ключ-0", "k%s", `k\0`, strings.Repeat("long/", 40) + "0", strings.Repeat("long/", 40) + "1", "鍵🔑", "k:0:lock",
}

// keyNames returns the names of a workload's keys, which all begin with prefix.
func keyNames(n int, usages []Usage, prefix string) []string {
	names := Keys(n)
	if slices.Contains(usages, OddNames) {
		copy(names, oddNames)
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

var errCancelled = errors.New("the client cancelled it")

// does reports whether the client makes this mistake now.
func (c *client) does(u Usage) bool {
	return slices.Contains(c.w.config.Usages, u) && c.random.IntN(2) == 0
}

// patience returns how long the client waits for a lock. A free lock is granted within milliseconds, and a held one
// when its holder releases it.
func (c *client) patience() time.Duration {
	cfg := &c.w.config
	if !slices.Contains(cfg.Usages, GiveUp) {
		return cfg.AcquireTimeout
	}
	if c.random.IntN(2) == 0 {
		return time.Microsecond + c.upTo(10*time.Millisecond)
	}
	return time.Microsecond + c.upTo(cfg.HoldMax)
}

// afterRelease uses a lease that the client has released: soon, or when other clients may hold the lock.
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
// client gives up soon, because it is in its critical section.
func (c *client) acquireAgain(ctx context.Context, key string, lease Lease) (alive bool) {
	if !c.does(AcquireAgain) {
		return true
	}
	again, alive := c.acquire(ctx, key, Share{}, max(c.left(lease)/4, time.Millisecond))
	if alive && again != nil {
		alive = c.release(key, again)
	}
	c.mu.Lock()
	c.lease, c.key = lease, key
	c.mu.Unlock()
	return alive
}

// releaseContext returns the context of a release. stop releases its resources.
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
