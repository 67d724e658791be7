package sim

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"lockpick/redlock/protocol"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// Place implements world.Placed.
func (m *message) Place() (*world.Client, world.Due) {
	at := world.Due{Master: m.link.master.number}
	if m.stage <= asking && !m.waits {
		at.From, at.Connects = m.link.client.Name(), m.stage == greeting
		return nil, at
	}
	at.Reply = true
	return m.link.client, at
}

// Place implements world.Placed.
func (k *kept) Place() (*world.Client, world.Due) {
	return k.link.client, world.Due{Master: k.link.master.number, Reply: true}
}

// Place implements world.Placed.
func (t *turn) Place() (*world.Client, world.Due) { return nil, world.Due{Master: t.number} }

// Place implements world.Placed.
func (d *disk) Place() (*world.Client, world.Due) { return nil, world.Due{Master: d.m.number} }

// Encode implements world.Encoder, for the timeout of a command.
func (a *ask) Encode(b []byte) []byte { return encodeCommand(1, b, &a.cmd, 0) }

// Encode implements world.Encoder.
func (o *overdue) Encode(b []byte) []byte { return encodeCommand(2, b, &o.ask.cmd, int(o.master)) }

// Encode implements world.Encoder.
func (m *message) Encode(b []byte) []byte { return m.encode(3, b) }

// Encode implements world.Encoder.
func (k *kept) Encode(b []byte) []byte { return (*message)(k).encode(4, b) }

// Encode implements world.Encoder.
func (l *lateRelease) Encode(b []byte) []byte { return encodeCommand(5, b, &l.cmd, l.master) }

// Encode implements world.Encoder.
func (t *turn) Encode(b []byte) []byte { return appendInt(append(b, 6), int64(t.number)) }

// Encode implements world.Encoder.
func (d *disk) Encode(b []byte) []byte { return appendInt(append(b, 7), int64(d.m.number)) }

func encodeCommand(kind byte, b []byte, c *protocol.Command, master int) []byte {
	return appendInt(appendText(append(b, kind), string(c.Purpose)+c.Token), int64(master))
}

// State returns a hash of everything on which the rest of the run depends: the time, the
// history of each client, the state and the keys of each master, the messages in flight, and
// harness, in which the caller encodes the state of its own coroutines. Two runs of the same
// program with the same State continue in the same way if the same decisions are made.
func (c *Cluster) State(harness []byte) [16]byte {
	w := c.world
	b := appendInt(c.state[:0], w.Now())
	b = appendText(b, string(harness))
	for _, x := range w.Clients() {
		seen := x.Observed()
		b = append(appendText(b, x.Name()), seen[:]...)
		for _, l := range c.links[x.Name()] {
			b = appendInt(b, int64(len(l.conns)))
			for _, conn := range l.conns { // the client finds out later whether its server still knows the connection
				b = append(b, bit(conn.busy != nil)|bit(conn.poisoned)<<1|bit(conn.run == l.master.run)<<2|bit(conn.run == 0)<<3)
			}
		}
	}
	for _, m := range c.masters {
		b = m.encode(b)
	}
	b = c.encodeQueue(b)
	c.state = b
	h := fnv.New128a()
	h.Write(b)
	var sum [16]byte
	h.Sum(sum[:0])
	return sum
}

// encodeQueue encodes the messages in flight and the masters' own events, sorted. The waits of
// clients follow from their histories.
func (c *Cluster) encodeQueue(b []byte) []byte {
	var pieces [][]byte
	c.world.Scheduled(func(do world.Action, at int64) {
		if x, ok := do.(world.Placed); ok {
			pieces = append(pieces, x.Encode(appendInt(nil, at)))
		}
	})
	slices.SortFunc(pieces, bytes.Compare)
	b = appendInt(b, int64(len(pieces)))
	for _, p := range pieces {
		b = appendText(b, string(p))
	}
	return b
}

// encode appends the fields of a message that matter to its receiver.
func (m *message) encode(kind byte, b []byte) []byte {
	b = appendInt(appendText(append(b, kind), m.link.client.Name()), int64(m.link.master.number))
	b = append(b, byte(m.stage), bit(m.voted)|bit(m.extra)<<1|bit(m.byText)<<2|bit(m.waits)<<3|bit(m.held)<<4|bit(m.delayed)<<5|bit(m.reset)<<6)
	b = appendInt(b, m.began)
	if m.ask != nil {
		b = appendText(b, string(m.ask.cmd.Purpose))
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
	b = appendInt(appendInt(b, m.wall.Read(w.Now())-w.Now()), m.wall.Gain())
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
			b = x.Encode(b)
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
			b = encodeValue(appendInt(append(appendText(b, x.key), bit(x.gone)|bit(x.first)<<1), x.due-w.Now()), &x.v)
		}
	}
	return m.disk.encodeData(b)
}

func (d *disk) encodeData(b []byte) []byte {
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
