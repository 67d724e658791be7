package workload

import (
	"slices"
	"strings"
	"sync"

	"lockpick/history"
)

// RedisKeys maps the keys on the masters to the names of a client's locks, if they differ, such
// as lock:k0 for k0. It is safe for concurrent use.
type RedisKeys struct {
	mu    sync.Mutex
	names map[string]string // names of locks, by the key on the master
}

// NameVote sets a vote's key to the name of the lock. A key on the master that is not the name of a lock belongs to the
// call during which the first vote on it arrived: calling returns the lock of that call, or "".
func (k *RedisKeys) NameVote(op *history.Op, calling func() string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, known := k.names[op.Key]
	if !known {
		if name = calling(); name == "" {
			return
		}
		if k.names == nil {
			k.names = map[string]string{}
		}
		k.names[op.Key] = name
	}
	op.Value.RedisKey, op.Key = op.Key, name
}

// NameKey sets the key of a master's change to the name of the lock, if a vote has named the key. It returns whether one
// has.
func (k *RedisKeys) NameKey(op *history.Op) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, known := k.names[op.Key]
	if known {
		op.Value.RedisKey, op.Key = op.Key, name
	}
	return known
}

// nameVote sets a vote's key to the name of the lock.
func (c *client) nameVote(op *history.Op) {
	if op.Key == "" || slices.Contains(c.w.keys, op.Key) {
		return
	}
	c.redis.NameVote(op, func() string {
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		keys := KeysOf(c.calls.key)
		if len(keys) == 1 {
			return keys[0]
		}
		named := ""
		for _, key := range keys {
			if strings.Contains(op.Key, key) && len(key) > len(named) {
				named = key
			}
		}
		return named
	})
}

// NameKey sets the key of a master's change to the name of the lock that uses it: the lock whose vote has named the
// key, or that which the client that changed it was calling.
func (w *Workload) NameKey(op *history.Op) {
	var changer *client
	for _, c := range w.clients {
		if c.redis.NameKey(op) {
			return
		}
		if c.name == op.Value.Client {
			changer = c
		}
	}
	if changer != nil {
		changer.nameVote(op)
	}
}
