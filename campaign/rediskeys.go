package campaign

import (
	"slices"
	"sync"

	"lockpick/history"
)

// redisKeys are the keys on the masters that differ from the names of the locks. It has a mutex
// of its own, because learn is called while the recorder is locked.
type redisKeys struct {
	mu        sync.Mutex
	all       []string
	elsewhere bool // tokens are stored under keys that no vote names
}

// noteRedisKey notes the keys on the masters that votes name, so that snapshots include them.
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

// redisKeyNames returns those keys.
func (c *campaign) redisKeyNames() []string {
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	return slices.Clone(c.redisKeys.all)
}

// noteElsewhere notes that masters store tokens under keys that no vote names.
func (c *campaign) noteElsewhere() {
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	c.redisKeys.elsewhere = true
}

// storedElsewhere says whether that was noted.
func (c *campaign) storedElsewhere() bool {
	c.redisKeys.mu.Lock()
	defer c.redisKeys.mu.Unlock()
	return c.redisKeys.elsewhere
}
