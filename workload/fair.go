package workload

import (
	"context"
	"time"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

// fairs are locks that serve waiters in order of arrival.
var fairs = []Kind{
	{
		Name: "fair", First: true, Claims: []int{67},
		Summary:    "Redisson's fair lock on the first master alone: a queue beside the key; a waiter that died holds it up for 5 s",
		DeadWaiter: patience, New: singleWith(mutations{fair: true}),
	},
}

// patience is for how long a waiter whose turn it is may not come for the lock before it
// counts as dead (Redisson's threadWaitTime).
const patience = 5 * time.Second

// leaveQueue is the kind of command with which a waiter gives up its place.
const leaveQueue protocol.Kind = history.CommandLeave

// enqueue takes the lock if it is free and nobody came before, and else a place in the
// queue. A waiter keeps its place over all attempts of an acquire, each of which has a
// token of its own: a late release of an earlier attempt must not hit the key of a later one.
func enqueue(key, token, waiter string, ttl time.Duration) []command {
	return []command{{kind: protocol.Set, script: FairSet, keys: []string{key, key + ":queue", key + ":turn"}, args: []any{token, ttl.Milliseconds(), waiter, patience.Milliseconds()}, ttl: ttl}}
}

// leave gives up a place in the queue, even if the caller's context has ended.
func (l *textbook) leaveQueue(ctx context.Context, key, waiter string) {
	cmds := []command{{kind: leaveQueue, script: FairLeave, keys: []string{key + ":queue"}, args: []any{waiter}}}
	_, _ = l.carryOut(context.WithoutCancel(ctx), l.masters.Begin(l.site.Hooks.Vote), key, waiter, cmds, nil, l.answered)
}
