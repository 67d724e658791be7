package history

import (
	"iter"
	"time"
)

// Calls maps each line that completes a call of a client to the line that began it. It is
// built in one pass and answers in constant time.
//
// A call is an acquire, an extend, a release or a write. Its completion (ok, fail or info)
// belongs to the last invocation by the same process of the same operation on the same key
// that has no completion yet; for an extend, a release and a write, also with the same token.
// A process that crashed starts anew: after the crash, only an info line (unknown outcome)
// completes an earlier call.
//
// An extension without an invocation is normal: some locks extend by themselves. For every
// completion without an invocation, only a bound is known: the call began no earlier than the
// previous line of its process.
type Calls struct {
	at    positions
	began []int32 // by line: the invocation's index; or, for a completion without one, -2-n, where n is the previous line of its process (-1: none)
}

// notCompleted marks a line in Calls.began that completes no call.
const notCompleted = -1 << 31

// pendingCall is an invocation without a completion so far.
type pendingCall struct {
	index, life int
}

// callSlot identifies the calls of which a process has at most one in flight. An acquire learns
// its token only when it returns, so its slot has none.
type callSlot struct{ process, f, key, token string }

// clientLife is the state of a process while its lines are read.
type clientLife struct {
	lives int // how often it has crashed
	last  int // index of its previous line, -1 if there was none
}

// numbered is operations by their positions.
type numbered []Op

func (ops numbered) TimeAt(position int) time.Duration { return ops[position].Time }
func (ops numbered) IndexAt(position int) int          { return ops[position].Index }

// CallsOf builds the calls of a history.
func CallsOf(ops []Op) *Calls { return callsOf(numbered(ops), each(ops), len(ops)) }

func callsOf(at positions, all iter.Seq2[int, *Op], n int) *Calls {
	c := &Calls{at: at, began: make([]int32, n)}
	pending := map[callSlot]pendingCall{}
	clients := map[string]*clientLife{}
	for i, op := range all {
		c.began[i] = notCompleted
		if op.F == FVote { // most lines are votes, and votes are not lines of clients
			continue
		}
		client := clients[op.Process]
		if client == nil {
			client = &clientLife{last: -1}
			clients[op.Process] = client
		}
		switch op.F {
		case FCrash:
			client.lives++
		case FAcquire, FExtend, FRelease, FWrite:
			slot := callSlot{op.Process, op.F, op.Key, op.token()}
			if op.F == FAcquire {
				slot.token = ""
			}
			if op.Type == Invoke {
				pending[slot] = pendingCall{i, client.lives}
				break
			}
			if p, ok := pending[slot]; ok && (p.life == client.lives || op.Type == Info) {
				c.began[i] = int32(p.index)
				delete(pending, slot)
			} else {
				c.began[i] = int32(-2 - client.last)
			}
		}
		client.last = i
	}
	return c
}

// Invocation returns the index of the line that began the call that the line at index completes.
// It returns false if the line completes no call, or the call has no invocation.
func (c *Calls) Invocation(index int) (int, bool) {
	if n := c.began[index]; n >= 0 {
		return int(n), true
	}
	return 0, false
}

// Began returns when the call that the line at index completes was invoked. If the call has no
// invocation, it returns false and the earliest possible time: that of the previous line of the
// process, or 0.
func (c *Calls) Began(index int) (time.Duration, bool) {
	switch n := int(c.began[index]); {
	case n >= 0:
		return c.at.TimeAt(n), true
	case n <= -2 && n != notCompleted:
		return c.at.TimeAt(-2 - n), false
	}
	return 0, false
}

// Completed reports whether the line at index completes a call, with or without an invocation.
func (c *Calls) Completed(index int) bool { return c.began[index] != notCompleted }

// token returns the token that an operation names, or "".
func (op *Op) token() string {
	if op.Value == nil {
		return ""
	}
	return op.Value.Token
}

// AskingGap is the longest pause between two acquires of a client that counts as waiting throughout.
const AskingGap = 250 * time.Millisecond

// AskingGapWithin is AskingGap where clients wait for at most bound: of a bound of hours, a client that asks a hundred times
// has waited.
func AskingGapWithin(bound time.Duration) time.Duration { return max(AskingGap, bound/100) }
