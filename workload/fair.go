package workload

import (
	"context"
	"time"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

// fairs lists locks that serve waiters in the order of their arrival.
var fairs = []Implementation{
	{
		Name: "fair", Masters: OneMaster, Fair: true, Claims: []int{67, 74},
		Summary:    "Redisson's fair lock on the first master alone: a queue beside the key; a waiter that died holds it up for 5 s",
		DeadWaiter: patience, Retry: delayMax, New: singleWith(mutations{fair: true}),
	},
}

// patience is the time in which the first waiter must claim a free lock. After that it counts
// as dead (Redisson's threadWaitTime).
const patience = 5 * time.Second

// leaveQueue is the kind of the command that removes a waiter from the queue.
const leaveQueue protocol.Purpose = history.CommandLeave

// enqueue acquires the lock if it is free and there is no earlier waiter, otherwise it takes a
// place in the queue. A waiter keeps its place in all attempts of an acquire. Each attempt has
// a token of its own, so that a late release of an earlier attempt cannot delete the key of a
// later one.
func enqueue(key, token, waiter string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Set, script: FairSet, keys: []string{key, key + ":queue", key + ":turn"}, args: []any{token, ttl.Milliseconds(), waiter, patience.Milliseconds()}, ttl: ttl}}
}

// leaveQueue removes a waiter from the queue, even if the caller's context has ended. It does that in the conversation of
// the last attempt, so that it does not overtake the command that puts the waiter into the queue.
func (l *textbook) leaveQueue(ctx context.Context, talk protocol.Conversation, key, waiter string) {
	cmds := []command{{purpose: leaveQueue, script: FairLeave, keys: []string{key + ":queue"}, args: []any{waiter}}}
	_, _ = l.carryOut(context.WithoutCancel(ctx), talk, key, waiter, cmds, nil, l.answered)
}
