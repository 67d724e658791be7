package history

import "time"

// Calls says, for each line that completes a call of a client, which line began it. It is
// built in one pass and answers in constant time.
//
// A call is an acquire, an extend, a release or a write. Its completion (ok, fail or info)
// belongs to the last invocation by the same process of the same operation on the same key
// that has no completion yet; of an extend, a release and a write, with the same token. A
// process that crashed starts anew: only an info (nobody knows) completes a call of its
// earlier life.
//
// An extension without an invocation is normal: some locks extend by themselves. Of every
// other completion without one, only a bound is known: it began no earlier than the line of
// its process before it.
type Calls struct {
	ops   []Op
	began []int32 // by line: the invocation's index, or -2-n of a completion without one, where n is its process's line before (-1: none)
}

// notCompleted marks a line in Calls.began that completes no call.
const notCompleted = -1 << 31

// pendingCall is the invocation that a completion would belong to.
type pendingCall struct {
	index, life int
}

// callSlot is where a process has at most one call in flight. An acquire learns its token
// only when it returns: it has none here.
type callSlot struct{ process, f, key, token string }

// clientLife is the state of a process while its lines are read.
type clientLife struct {
	lives int // how often it has crashed
	last  int // index of its line before, -1 if there was none
}

// CallsOf builds the calls of a history.
func CallsOf(ops []Op) *Calls {
	c := &Calls{ops: ops, began: make([]int32, len(ops))}
	pending := map[callSlot]pendingCall{}
	clients := map[string]*clientLife{}
	for i := range ops {
		op := &ops[i]
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

// Invocation returns the index of the line that began the call which the line at index
// completes. It is false if the line completes no call, or one without an invocation.
func (c *Calls) Invocation(index int) (int, bool) {
	if n := c.began[index]; n >= 0 {
		return int(n), true
	}
	return 0, false
}

// Began returns when the call that the line at index completes was invoked. Without an
// invocation it is false, and the time is the earliest possible one: that of the process's
// line before, or 0.
func (c *Calls) Began(index int) (time.Duration, bool) {
	switch n := int(c.began[index]); {
	case n >= 0:
		return c.ops[n].Time, true
	case n <= -2 && n != notCompleted:
		return c.ops[-2-n].Time, false
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
