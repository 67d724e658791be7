package campaign

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"lockpick/history"
)

// redisKeys collects the keys on the masters that differ from the names of the locks. It has its own mutex,
// because noteRedisKey is called while the recorder is locked.
type redisKeys struct {
	mu     sync.Mutex
	all    []string
	unseen bool // what masters store there is not tokens
}

// nameKeys draws the beginning of all names of keys if the masters are servers of the user, where other keys are stored.
func (c *campaign) nameKeys() {
	if len(c.s.At) == 0 || c.virtual {
		return
	}
	c.keyPrefix = "lockpick-" + strings.ToLower(rand.Text()) + ":"
	says := "what no client releases ends by its TTL"
	if c.s.Fencing {
		says += ", but counters of fencing tokens have none, and stay"
	}
	c.opt.Progress("the names of all keys of this run contain %s: nothing else is written on the servers, and %s", c.keyPrefix, says)
}

// noteRedisKey collects the key that a vote names, so that snapshots include it.
func (c *campaign) noteRedisKey(op history.Op) {
	if op.F != history.FVote || op.Value == nil || op.Value.RedisKey == "" {
		return
	}
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	if !slices.Contains(c.redisKeys.all, op.Value.RedisKey) {
		c.redisKeys.all = append(c.redisKeys.all, op.Value.RedisKey)
	}
}

// seesTokens reports whether masters store tokens under the keys of the lock, as far as is known.
func (c *campaign) seesTokens() bool {
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	return !c.redisKeys.unseen
}

// redisKeyNames returns a copy of the collected keys.
func (c *campaign) redisKeyNames() []string {
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	return slices.Clone(c.redisKeys.all)
}
