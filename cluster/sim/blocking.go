package sim

import (
	"math"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// waiter is a connection whose blocking command, such as BLPOP, found nothing.
type waiter struct {
	stream *Stream
	words  []string
	wait   keyspace.Wait
	until  int64 // ms of the master's wall clock, as in Redis
}

// waiting holds the blocked connections of a master, those that have waited longest first.
type waiting struct {
	all    []*waiter
	ready  []string // keys that were stored while a connection waited for them
	served []*Stream
	alarm  world.Event // the end of the first timeout
}

// wouldWait returns what a command waits for after a reply. ok is false if the command does not wait.
func (c *command) wouldWait(r *keyspace.Reply, args []string) (w keyspace.Wait, ok bool) {
	if c.Waits == nil || r.Kind != keyspace.ReplyNil && r.Kind != keyspace.ReplyNilArray {
		return w, false
	}
	w, problem := c.Waits(args)
	return w, problem == "" && len(w.Keys) > 0
}

// block lets a connection wait.
func (m *Master) block(x *Stream, words []string, wait keyspace.Wait) {
	w := &waiter{stream: x, words: words, wait: wait, until: keyspace.Never}
	if wait.Timeout > 0 {
		w.until = m.now() + wait.Timeout.Milliseconds()
	}
	wait.Begin(m.keys())
	x.blocked = true
	m.waiting.all = append(m.waiting.all, w)
	m.planTimeouts()
}

// stored notes a key that was stored, if a connection waits for it.
func (q *waiting) stored(key string) {
	if slices.ContainsFunc(q.all, func(w *waiter) bool { return slices.Contains(w.wait.Keys, key) }) && !slices.Contains(q.ready, key) {
		q.ready = append(q.ready, key)
	}
}

// serveWaiting is called after a command, script or transaction: connections get what was stored
// meanwhile, in the order in which they began to wait. What one of them moves may serve the next.
func (m *Master) serveWaiting() {
	q := &m.waiting
	for len(q.ready) > 0 {
		key := q.ready[0]
		q.ready = q.ready[1:]
		for _, w := range slices.Clone(q.all) {
			if !slices.Contains(w.wait.Keys, key) {
				continue
			}
			m.begun = false // a step of its own
			if r, ok := w.wait.Serve(m.keys(), key); ok {
				m.unblock(w, r)
			}
		}
	}
}

// unblock replies to a connection that has waited.
func (m *Master) unblock(w *waiter, r keyspace.Reply) {
	x, q := w.stream, &m.waiting
	s := &x.session
	q.all = remove(q.all, w)
	q.served = append(q.served, x)
	from := len(s.output)
	s.write(r)
	if m.account != nil {
		x.watched.execute(s.number(m), m.account.end(s.number(m), x.link.client.Name(), w.words))
	}
	x.watched.reply(s.output, from)
}

// releaseServed sends the replies of the connections that were served, once the server has
// written their changes, and lets these connections continue.
func (m *Master) releaseServed(wait time.Duration) {
	served := m.waiting.served
	m.waiting.served = nil
	for _, x := range served {
		x.reply(m, wait)
		m.world.At(m.world.Now(), &x.resume)
	}
}

// planTimeouts sets the alarm for the next timeout.
func (m *Master) planTimeouts() {
	m.world.Cancel(&m.waiting.alarm)
	next := int64(math.MaxInt64)
	for _, w := range m.waiting.all {
		next = min(next, w.until)
	}
	if next == keyspace.Never || next > math.MaxInt64/1_000_000 {
		return
	}
	if at := m.wall.When(next * 1_000_000); at < math.MaxInt64 {
		m.world.At(at, &m.waiting.alarm)
	}
}

// timeOut replies to the connections whose time is over.
func (m *Master) timeOut() {
	if m.state != cluster.Up || m.busy > m.world.Now() {
		return // it does so once it continues
	}
	now := m.now()
	for _, w := range slices.Clone(m.waiting.all) {
		if w.until <= now {
			m.unblock(w, w.wait.Nothing)
		}
	}
	m.releaseServed(0)
	m.planTimeouts()
}

// alarm is called when the first timeout is over.
type alarm Master

func (a *alarm) Fire() { (*Master)(a).timeOut() }

// leave ends the wait of a connection that has ended.
func (q *waiting) leave(x *Stream) {
	q.all = slices.DeleteFunc(q.all, func(w *waiter) bool { return w.stream == x })
}

// moveTo moves the connections that a failover leaves with the old server.
func (q *waiting) moveTo(old *waiting, belongs func(*Stream) bool) {
	q.all = slices.DeleteFunc(q.all, func(w *waiter) bool {
		if belongs(w.stream) {
			old.all = append(old.all, w)
			return true
		}
		return false
	})
}
