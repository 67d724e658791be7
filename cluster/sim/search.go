package sim

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
)

// Search explores the runs of a program one after the other, instead of drawing one. It
// replaces Choices and Strategy in deciding which of several events of one instant happens
// first; the world's Choices make all other decisions.
//
// With a Search a world records everything that each process has observed, so that State can
// recognize that two runs have reached the same state.
type Search interface {
	// Next returns the index of the event that happens first, of at least two.
	Next(due []Due) int
}

// Due is one of the events of an instant. It happens to one process and affects no other:
// processes affect each other through messages, which travel. Only events of the harness may
// affect everything.
type Due struct {
	Client string // the client to whose process it happens; "" for a master or the harness
	Master int    // the master to which it happens, from 1; for a Reply: the sender; otherwise 0
	From   string // of a message to a master: the client that sent it
	Reply  bool   // a reply that reaches the client, or the notice that its connection failed
	// Connects reports whether a connection is being opened at the master, which changes nothing
	// there.
	Connects bool
}

// place returns the process to which an event happens. For a reply both are set.
func (e *event) place() (c *Client, m *Master) {
	switch do := e.do.(type) {
	case *coroutine:
		c = do.owner
	case *timer:
		if c = do.client; do.sleeper != nil {
			c = do.sleeper.owner
		}
	case *message:
		if do.stage <= asking && !do.waits {
			return nil, do.link.master
		}
		return do.link.client, do.link.master
	case *kept:
		return do.link.client, do.link.master
	case *turn:
		return nil, (*Master)(do)
	case *disk:
		return nil, do.m
	}
	if c != nil && c.name == "" {
		c = nil
	}
	return c, nil
}

// search lets the Search decide which of several events happens first.
func (w *World) search() int {
	w.choice = w.choice[:0]
	for _, x := range w.queue.due {
		var d Due
		c, m := x.event.place()
		if c != nil {
			d.Client, d.Reply = c.name, m != nil
		}
		if m != nil {
			d.Master = m.number
		}
		if m, ok := x.event.do.(*message); ok && d.Client == "" {
			d.From, d.Connects = m.link.client.name, m.stage == greeting
		}
		w.choice = append(w.choice, d)
	}
	return w.Search.Next(w.choice)
}

// historyHash is a hash of everything that a process has observed, in order. The code of a
// process is deterministic, so processes that have observed the same are in the same state.
type historyHash [16]byte

func (s *historyHash) add(b []byte) {
	h := fnv.New128a()
	h.Write(s[:])
	h.Write(b)
	h.Sum(s[:0])
}

// observe adds an event to the history of its process.
func (w *World) observe(e *event) {
	c, m := e.place()
	w.here = c
	if c == nil {
		return
	}
	b := append(w.scratch[:0], kindOf(e))
	b = appendInt(b, w.now)
	switch do := e.do.(type) {
	case *coroutine:
		b = appendInt(b, do.born)
	case *timer:
		b = appendInt(b, do.due)
		switch {
		case do.sleeper != nil:
			b = appendInt(b, do.sleeper.born)
		default:
			b = rings(b, do.rings)
		}
	case *message:
		b = do.encode(appendInt(b, int64(m.number)))
	case *kept:
		b = (*message)(do).encode(appendInt(b, int64(m.number)))
	}
	c.observed.add(b)
	w.scratch = b
}

// kindOf returns a number for each kind of event.
func kindOf(e *event) byte {
	switch e.do.(type) {
	case *coroutine:
		return 1
	case *timer:
		return 2
	case *message:
		return 3
	case *kept:
		return 4
	}
	return 0
}

// rings identifies the action of a timer without a sleeper.
func rings(b []byte, x action) []byte {
	switch x := x.(type) {
	case *ask:
		return appendText(append(b, 1), string(x.cmd.Kind)+x.cmd.Token)
	case *overdue:
		return appendInt(appendText(append(b, 2), string(x.ask.cmd.Kind)+x.ask.cmd.Token), int64(x.master))
	case *lateRelease:
		return appendInt(appendText(append(b, 3), x.cmd.Token), int64(x.master))
	case *call:
		return append(b, 4)
	}
	return append(b, 0)
}

// Note adds x to the history of the current process, because its further course also depends
// on x.
func (w *World) Note(x int64) {
	if w.here != nil {
		w.here.note(9, x)
	}
}

func (c *Client) note(kind byte, x ...int64) {
	if c.world.Search == nil {
		return
	}
	b := append(c.world.scratch[:0], kind)
	b = appendInt(b, c.world.now)
	for _, n := range x {
		b = appendInt(b, n)
	}
	c.observed.add(b)
	c.world.scratch = b
}

// Stop ends the run after the current event. Run returns the error.
func (w *World) Stop(err error) {
	if w.failure == nil {
		w.failure = err
	}
}

// State returns a hash of everything on which the rest of the run depends: the time, the
// history of each client, the state and the keys of each master, the messages in flight, and
// harness, in which the caller encodes the state of its own coroutines. Two runs of the same
// program with the same State continue in the same way if the same decisions are made.
func (c *Cluster) State(harness []byte) [16]byte {
	w := c.world
	b := appendInt(w.state[:0], w.now)
	b = appendText(b, string(harness))
	for _, name := range slices.Sorted(maps.Keys(w.clients)) {
		x := w.clients[name]
		b = append(appendText(b, name), x.observed[:]...)
		for _, l := range c.links[name] {
			b = appendInt(b, int64(len(l.conns)))
			for _, conn := range l.conns { // the client finds out later whether its server still knows the connection
				b = append(b, bit(conn.busy != nil)|bit(conn.poisoned)<<1|bit(conn.run == l.master.run)<<2|bit(conn.run == 0)<<3)
			}
		}
	}
	for _, m := range c.masters {
		b = m.encode(b)
	}
	b = w.encodeQueue(b)
	w.state = b
	h := fnv.New128a()
	h.Write(b)
	var sum [16]byte
	h.Sum(sum[:0])
	return sum
}

// encodeQueue encodes the messages in flight and the masters' own events, sorted. The waits of
// clients follow from their histories.
func (w *World) encodeQueue(b []byte) []byte {
	var pieces [][]byte
	add := func(e *event, at int64) {
		var p []byte
		switch do := e.do.(type) {
		case *message:
			p = appendInt(append(p, 1), at)
			p = appendText(p, do.link.client.name)
			p = do.encode(appendInt(p, int64(do.link.master.number)))
		case *kept:
			p = appendInt(append(p, 2), at)
			p = appendText(p, do.link.client.name)
			p = (*message)(do).encode(appendInt(p, int64(do.link.master.number)))
		case *turn:
			p = appendInt(appendInt(append(p, 3), at), int64(do.number))
		case *disk:
			p = appendInt(appendInt(append(p, 4), at), int64(do.m.number))
		default:
			return
		}
		pieces = append(pieces, p)
	}
	w.queue.each(add)
	for _, x := range w.queue.due {
		if !x.stale() {
			add(x.event, w.now)
		}
	}
	slices.SortFunc(pieces, bytes.Compare)
	b = appendInt(b, int64(len(pieces)))
	for _, p := range pieces {
		b = appendText(b, string(p))
	}
	return b
}

// encode appends the fields of a message that matter to its receiver.
func (m *message) encode(b []byte) []byte {
	b = append(b, byte(m.stage), bit(m.voted)|bit(m.extra)<<1|bit(m.byText)<<2|bit(m.waits)<<3|bit(m.held)<<4|bit(m.delayed)<<5|bit(m.reset)<<6)
	b = appendInt(b, m.began)
	if m.ask != nil {
		b = appendText(b, string(m.ask.cmd.Kind))
		b = appendText(b, m.ask.cmd.Key)
		b = appendText(b, m.ask.cmd.Token)
		b = appendText(b, m.ask.request.name)
		for _, a := range m.ask.request.args {
			b = appendText(b, a)
		}
	}
	if m.conn != nil {
		b = append(b, bit(m.conn.run == m.link.master.run)|bit(m.conn.run == 0)<<1|bit(m.conn.poisoned)<<2|bit(m.conn.shut)<<3)
	}
	b = encodeReply(b, &m.reply)
	if m.err != nil {
		b = appendText(b, m.err.Error())
	}
	return b
}

func encodeReply(b []byte, r *keyspace.Reply) []byte {
	b = appendText(appendInt(appendInt(append(b, byte(r.Kind)), r.N), int64(r.Later)), r.Text)
	for i := range r.Items {
		b = encodeReply(b, &r.Items[i])
	}
	return b
}

// encode appends the state and the keys of a master. It leaves out the number of its starts,
// but marks the connections that belong to this start.
func (m *Master) encode(b []byte) []byte {
	w := m.world
	b = append(b, byte(len(m.state)), bit(m.acting))
	b = appendText(b, string(m.state))
	b = appendInt(appendInt(b, m.wall.read(w.now)-w.now), m.wall.gain)
	b = appendInt(appendInt(b, m.busy), m.evicted)
	b = encodeStore(b, &m.store)
	for _, sha := range slices.Sorted(maps.Keys(m.scripts)) {
		b = appendText(b, sha)
	}
	if m.latest != nil {
		b = appendText(b, m.latest.SHA)
	}
	for _, waiting := range [][]incoming{m.backlog, m.queue} {
		b = appendInt(b, int64(len(waiting)))
		for _, x := range waiting {
			x := x.(*message) // a search has no streams
			b = x.encode(appendText(b, x.link.client.name))
		}
	}
	b = append(b, bit(m.held), bit(m.apart != nil))
	if m.apart != nil {
		b = m.apart.encode(b)
	}
	b = appendInt(appendInt(b, int64(len(m.replicas))), int64(m.fillers))
	for _, r := range m.replicas {
		b = appendInt(encodeKeys(b, r.keys), int64(len(r.pending)))
		for i := range r.pending {
			x := &r.pending[i]
			b = encodeValue(appendInt(append(appendText(b, x.key), bit(x.gone)|bit(x.first)<<1), x.due-w.now), &x.v)
		}
	}
	return m.disk.encode(b)
}

func (d *disk) encode(b []byte) []byte {
	b = append(b, bit(d.broken)|bit(d.syncing)<<1|bit(d.fault.Full)<<2|bit(d.fault.FsyncLies)<<3|bit(d.snapshot != nil)<<4)
	for _, n := range []int64{int64(d.fault.FsyncDelay), int64(d.written), int64(d.tidied), int64(d.upTo), d.last, int64(d.dirty), int64(d.seen), d.put} {
		b = appendInt(b, n)
	}
	b = encodeKeys(b, d.base)
	b = encodeKeys(b, d.snapshot)
	b = appendInt(b, int64(len(d.log)))
	for _, x := range d.log {
		b = encodeValue(append(appendText(b, x.key), bit(x.gone)|bit(x.first)<<1), &x.v)
	}
	return b
}

func encodeStore(b []byte, s *keyspace.Store) []byte {
	b = appendInt(b, int64(s.Len()))
	for _, key := range s.Names() {
		v, _ := s.Get(key, math.MinInt64)
		b = encodeValue(appendText(b, key), &v)
	}
	return b
}

func encodeKeys(b []byte, keys map[string]keyspace.Value) []byte {
	b = appendInt(b, int64(len(keys)))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v := keys[key]
		b = encodeValue(appendText(b, key), &v)
	}
	return b
}

func encodeValue(b []byte, v *keyspace.Value) []byte {
	b = appendInt(appendText(b, v.Text), v.Expires)
	p := v.Parts
	if p == nil {
		return b
	}
	b = appendText(b, p.Type)
	for _, field := range slices.Sorted(maps.Keys(p.Fields)) {
		b = appendText(appendText(b, field), p.Fields[field])
	}
	for _, x := range p.Elements {
		b = appendText(b, x)
	}
	for _, member := range slices.Sorted(maps.Keys(p.Scores)) {
		b = appendInt(appendText(b, member), int64(math.Float64bits(p.Scores[member])))
	}
	return b
}

func appendInt(b []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(n)) }

// appendText appends the length and the bytes of a text, so that sequences of texts are
// unambiguous.
func appendText(b []byte, s string) []byte { return append(appendInt(b, int64(len(s))), s...) }

// modeNumber returns a number for each mode of a link.
func modeNumber(m cluster.Mode) int64 {
	if m == cluster.Pass {
		return 0
	}
	return int64(m[0])
}

func bit(x bool) byte {
	if x {
		return 1
	}
	return 0
}
