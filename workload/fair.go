package workload

import (
	"context"
	"time"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

// fairs are locks that serve waiters in the order of their arrival.
var fairs = []Kind{
	{
		Name: "fair", First: true, Claims: []int{67},
		Summary:    "Redisson's fair lock on the first master alone: a queue beside the key; a waiter that died holds it up for 5 s",
		DeadWaiter: patience, New: singleWith(mutations{fair: true}),
	},
}

// patience is how long the first waiter may leave a free lock unclaimed before it counts as
// dead (Redisson's threadWaitTime).
const patience = 5 * time.Second

// leaveQueue is the kind of the command with which a waiter gives up its place in the queue.
const leaveQueue protocol.Kind = history.CommandLeave

// enqueue takes the lock if it is free and there is no earlier waiter, otherwise a place in the
// queue. A waiter keeps its place in all attempts of an acquire. Each attempt has a token of
// its own, so that a late release of an earlier attempt cannot delete the key of a later one.
func enqueue(key, token, waiter string, ttl time.Duration) []command {
	return []command{{kind: protocol.Set, script: FairSet, keys: []string{key, key + ":queue", key + ":turn"}, args: []any{token, ttl.Milliseconds(), waiter, patience.Milliseconds()}, ttl: ttl}}
}

// leave gives up a place in the queue, even if the caller's context has ended.
func (l *textbook) leaveQueue(ctx context.Context, key, waiter string) {
	cmds := []command{{kind: leaveQueue, script: FairLeave, keys: []string{key + ":queue"}, args: []any{waiter}}}
	_, _ = l.carryOut(context.WithoutCancel(ctx), l.masters.Begin(l.env.Hooks.Vote), key, waiter, cmds, nil, l.answered)
}
