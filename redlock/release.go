package redlock

import "time"

// owed is a pending release: one that its master has not confirmed. It is sent first
// when the master is back, and again until the master says that it deleted the key, or
// has answered everything that could have stored it. A SET whose connection was lost can
// be carried out late, and would then keep the key for its TTL.
type owed struct {
	batch *voteBatch
	until time.Duration // a key that is left after it ends with its TTL
	next  time.Duration // when it is sent again
	pause time.Duration
	busy  bool // it is queued or in flight
}

const (
	// owedMost and owedFor bound the pending releases of a master.
	owedMost = 1 << 14
	owedFor  = time.Minute
	// owedMin and owedMax bound the time between two sends of a pending release.
	owedMin = time.Second / 4
	owedMax = 8 * time.Second
)

// stores says that a command of the kind may store the key.
func stores(k Kind) bool { return k != Release && k != Extend && k != WriteBack && k != Check }

// owe notes that a release was not confirmed, if its SET was sent. The caller holds mu.
func (b *batcher) owe(c *pendingCommand) {
	token := c.batch.cmd.Token
	if e := c.exchange(); e.stored == 0 {
		e.withdrawn = true // a SET that is still queued must not leave any more
		return
	}
	if b.pending[token] != nil || len(b.pending) >= owedMost {
		return
	}
	if b.pending == nil {
		b.pending = map[string]*owed{}
	}
	now := b.masters.now()
	b.pending[token] = &owed{batch: c.batch, until: now + owedFor, next: now + owedMin, pause: owedMin}
	b.watch(now + owedMin)
}

// confirm notes the answer to a release. The caller holds mu.
func (b *batcher) confirm(c *pendingCommand, reply int64) {
	if reply > 0 || c.last {
		delete(b.pending, c.batch.cmd.Token)
		return
	}
	b.owe(c) // the key may be stored yet, or was, after the release came
	if o := b.pending[c.batch.cmd.Token]; o != nil && c.exchange().uncertain == 0 {
		o.next = b.masters.now()
		b.watch(o.next)
	}
}

// outcome notes whether a command's outcome is known. The caller holds mu.
func (b *batcher) outcome(c *pendingCommand, known bool) {
	e := c.exchange()
	switch {
	case !stores(c.batch.cmd.Kind):
	case !known && !c.uncertain:
		c.uncertain = true
		e.uncertain++
	case known && c.uncertain:
		c.uncertain = false
		e.uncertain--
		if o := b.pending[c.batch.cmd.Token]; o != nil {
			o.next = b.masters.now() // this release comes behind it
			b.watch(o.next)
		}
	}
}

// sendOwed queues the pending releases whose time has come. The caller holds mu.
func (b *batcher) sendOwed(now time.Duration) {
	if b.state != up || len(b.pending) == 0 {
		return
	}
	next := now + owedMax
	for token, o := range b.pending { // in any order: each is about a key of its own
		switch {
		case o.until < now:
			delete(b.pending, token)
			continue
		case o.next <= now && !o.busy:
			o.busy = true
			o.next = now + o.pause
			o.pause = min(2*o.pause, owedMax)
			late := &pendingCommand{batch: o.batch, master: b.index, state: voted, late: true}
			b.queue = append(b.queue, late)
		}
		next = min(next, max(o.next, now+owedMin/2)) // a busy one is looked after when it is answered
	}
	b.nudge()
	b.watch(next)
}
