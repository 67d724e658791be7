package world

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
)

// Search explores the runs of a program one after the other, instead of drawing one. It
// replaces Choices and Strategy in deciding which of several events of one instant happens
// first; the world's Choices make all other decisions.
//
// With a Search a world records everything that each process has observed (Client.Observed), so that the
// simulation can recognize that two runs have reached the same state.
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

// Encoder is an action with content: what a process observes when it happens.
type Encoder interface {
	Action
	// Encode appends the kind of the action and its content, so that different actions differ.
	Encode(b []byte) []byte
}

// Placed is an action of the simulation of which a Search knows where it happens. Actions that are neither
// Placed nor waits of clients happen to the harness.
type Placed interface {
	Encoder
	// Place returns the client to whose process it happens, or nil, and the other fields of its Due.
	Place() (*Client, Due)
}

// place returns the process to which an event happens.
func (e *Event) place() (c *Client, d Due) {
	switch do := e.Do.(type) {
	case *Coroutine:
		c = do.owner
	case *Timer:
		if c = do.client; do.sleeper != nil {
			c = do.sleeper.owner
		}
	case Placed:
		return do.Place()
	}
	if c != nil && c.name == "" {
		c = nil
	}
	return c, d
}

// search lets the Search decide which of several events happens first.
func (w *World) search() int {
	w.choice = w.choice[:0]
	for _, x := range w.queue.due {
		c, d := x.event.place()
		if c != nil {
			d.Client = c.name
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
func (w *World) observe(e *Event) {
	c, _ := e.place()
	w.here = c
	if c == nil {
		return
	}
	switch do := e.Do.(type) {
	case *Coroutine:
		c.record(nil, 1, do.born)
	case *Timer:
		if do.sleeper != nil {
			c.record(nil, 2, do.due, do.sleeper.born)
		} else {
			c.record(do.rings, 2, do.due)
		}
	default:
		c.record(do, 0)
	}
}

// Note adds x to the history of the current process, because its further course also depends
// on x.
func (w *World) Note(x int64) {
	if w.here != nil {
		w.here.Note(9, x)
	}
}

// Note adds a change of the client's surroundings, of a kind from 9, to its history.
func (c *Client) Note(kind byte, x ...int64) {
	if c.world.Search != nil {
		c.record(nil, kind, x...)
	}
}

// record adds an event to the history: its kind, the time, numbers, and what the action contains.
func (c *Client) record(do Action, kind byte, x ...int64) {
	b := append(c.world.scratch[:0], kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.world.now))
	for _, n := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	if content, ok := do.(Encoder); ok {
		b = content.Encode(b)
	}
	c.observed.add(b)
	c.world.scratch = b
}

// Observed returns a hash of everything that the client has observed, if there is a Search: in two runs
// with the same hash it is in the same state.
func (c *Client) Observed() [16]byte { return c.observed }

// Clients returns the clients in the order of their names.
func (w *World) Clients() []*Client {
	var all []*Client
	for _, name := range slices.Sorted(maps.Keys(w.clients)) {
		all = append(all, w.clients[name])
	}
	return all
}

// Scheduled calls f with everything that is scheduled and its true time in ns since Epoch, in no particular
// order.
func (w *World) Scheduled(f func(do Action, at int64)) {
	w.queue.each(func(e *Event, at int64) { f(e.Do, at) })
	for _, x := range w.queue.due {
		if !x.stale() {
			f(x.event.Do, w.now)
		}
	}
}

// Stop ends the run after the current event. Run returns the error.
func (w *World) Stop(err error) {
	if w.failure == nil {
		w.failure = err
	}
}
