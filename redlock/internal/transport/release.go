package transport

import (
	"time"

	"lockpick/redlock/protocol"
)

// pendingRelease is a release that its master has not confirmed. It is the first command
// that a master gets when it recovers, and it is repeated until the master has deleted the
// key, or has answered every command that could have stored it. A SET whose connection was
// lost can be executed late, and would then keep the key for its TTL.
type pendingRelease struct {
	batch *voteBatch
	until time.Duration // when the client stops repeating it: a key that remains then expires with its TTL
	next  time.Duration // when it is sent again
	pause time.Duration // from next to the send after it
	busy  bool          // it is queued or in flight
}

const (
	// pendingMost is the greatest number of pending releases of a master, and pendingFor
	// the greatest age of one.
	pendingMost = 1 << 14
	pendingFor  = time.Minute
	// resendMin and resendMax bound the time between two sends of a pending release.
	resendMin = time.Second / 4
	resendMax = 8 * time.Second
)

// stores reports whether commands with this purpose can store the key.
func stores(k protocol.Purpose) bool {
	return k != protocol.Release && k != protocol.Extend && k != protocol.WriteBack && k != protocol.Check
}

// keepPending records that a release was not confirmed. If no SET was sent before it, there
// is nothing to release. The caller holds mu.
func (b *batcher) keepPending(c *pendingCommand) {
	token := c.batch.cmd.Token
	if e := c.exchange(); e.stored == 0 {
		e.withdrawn = true // a SET that is still queued must not be sent any more
		return
	}
	if c.batch.cmd.Once || b.pending[token] != nil || len(b.pending) >= pendingMost {
		return
	}
	if b.pending == nil {
		b.pending = map[string]*pendingRelease{}
	}
	now := b.masters.now()
	b.pending[token] = &pendingRelease{batch: c.batch, until: now + pendingFor, next: now + resendMin, pause: resendMin}
	b.setAlarm(now + resendMin)
}

// confirm records the reply to a release. The caller holds mu.
func (b *batcher) confirm(c *pendingCommand, reply int64) {
	if reply > 0 || c.last {
		delete(b.pending, c.batch.cmd.Token)
		return
	}
	b.keepPending(c) // a SET with an unknown outcome may be executed after this release
	if o := b.pending[c.batch.cmd.Token]; o != nil && c.exchange().uncertain == 0 {
		o.next = b.masters.now()
		b.setAlarm(o.next)
	}
}

// outcome records whether a command's outcome is known. The caller holds mu.
func (b *batcher) outcome(c *pendingCommand, known bool) {
	e := c.exchange()
	switch {
	case !stores(c.batch.cmd.Purpose):
	case !known && !c.uncertain:
		c.uncertain = true
		e.uncertain++
	case known && c.uncertain:
		c.uncertain = false
		e.uncertain--
		if o := b.pending[c.batch.cmd.Token]; o != nil {
			o.next = b.masters.now() // a release sent now reaches the master after that command
			b.setAlarm(o.next)
		}
	}
}

// sendPending queues the pending releases that are due. The caller holds mu.
func (b *batcher) sendPending(now time.Duration) {
	if b.state != up || len(b.pending) == 0 {
		return
	}
	next := now + resendMax
	for token, o := range b.pending { // in any order: each has a key of its own
		switch {
		case o.until < now:
			delete(b.pending, token)
			continue
		case o.next <= now && !o.busy:
			o.busy = true
			o.next = now + o.pause
			o.pause = min(2*o.pause, resendMax)
			late := &pendingCommand{batch: o.batch, master: b.index, state: voted, late: true}
			b.queue = append(b.queue, late)
		}
		next = min(next, max(o.next, now+resendMin/2)) // the reply to a busy one sets a new time
	}
	b.wakeWorker()
	b.setAlarm(next)
}
