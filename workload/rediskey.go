package workload

import (
	"slices"
	"sync"

	"lockpick/history"
)

// redisKeys maps the keys on the masters to the names of a client's locks, if they differ, such
// as lock:k0 for k0.
type redisKeys struct {
	mu    sync.Mutex
	names map[string]string // names of locks, by the key on the master
}

// nameVote sets a vote's key to the name of the lock. A key on the master that is not the name
// of a lock belongs to the call during which the first vote on it arrived.
func (c *client) nameVote(op *history.Op) {
	if op.Key == "" || slices.Contains(c.w.keys, op.Key) {
		return
	}
	c.redis.mu.Lock()
	defer c.redis.mu.Unlock()
	name, known := c.redis.names[op.Key]
	if !known {
		c.calls.mu.Lock()
		name = c.calls.key
		c.calls.mu.Unlock()
		if name == "" {
			return
		}
		if c.redis.names == nil {
			c.redis.names = map[string]string{}
		}
		c.redis.names[op.Key] = name
	}
	op.Value.RedisKey, op.Key = op.Key, name
}

// NameKey sets the key of a master's change to the name of the lock that uses it: the lock whose vote has named the
// key, or that which the client that changed it was calling.
func (w *Workload) NameKey(op *history.Op) {
	var by *client
	for _, c := range w.clients {
		c.redis.mu.Lock()
		name, known := c.redis.names[op.Key]
		c.redis.mu.Unlock()
		if known {
			op.Value.RedisKey, op.Key = op.Key, name
			return
		}
		if c.name == op.Value.Client {
			by = c
		}
	}
	if by != nil {
		by.nameVote(op)
	}
}
