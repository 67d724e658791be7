package sim

import (
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
)

// chunk is a run of bytes that travel together.
type chunk struct {
	bytes   []byte
	end     error // the error with which the connection ends after the bytes; nil: it does not end
	leaves  int64 // true time at which they leave the master, if they wait for its disk
	came    int64 // true time at which they reached the link
	held    bool  // counted as held
	delayed bool  // counted as delayed
}

// flow is one direction of a stream: the link, which may hold, drop or delay, and then the
// network, which takes time.
type flow struct {
	stream   *Stream
	toClient bool

	gate     []chunk
	gateTurn world.Event // fires when the delay of the first chunk in the link has passed

	wire     []flight
	wireTurn world.Event // fires when the first chunk on the network arrives
	last     int64       // arrival time of the latest chunk
}

type flight struct {
	chunk
	due int64
}

// lose drops all bytes, and returns the number of those that were in the link.
func (f *flow) lose() (n int64) {
	for _, c := range f.gate {
		n += int64(len(c.bytes))
	}
	f.gate, f.wire = nil, nil
	f.stream.world.Cancel(&f.gateTurn)
	f.stream.world.Cancel(&f.wireTurn)
	return n
}

// enterGate receives bytes into the link.
func (f *flow) enterGate(c chunk) {
	c.came = f.stream.world.Now()
	f.gate = append(f.gate, c)
	f.pump()
}

// pump applies the link's fault to the bytes in it.
func (f *flow) pump() {
	s, l := f.stream, f.stream.link
	now := s.world.Now()
	for len(f.gate) > 0 {
		c := &f.gate[0]
		size := int64(len(c.bytes))
		mode := l.fault.Requests
		if f.toClient {
			mode = l.fault.Replies
		}
		if mode == cluster.Drop || s.poisoned {
			l.counts.Dropped += size
			s.poisoned = true
			f.pop()
			continue
		}
		if mode == cluster.Hold {
			f.hold()
			return
		}
		if d := l.fault.Delay; d > 0 {
			if !c.delayed {
				c.delayed = true
				l.counts.Delayed += size
			}
			if due := c.came + int64(d); due > now {
				s.world.At(due, &f.gateTurn)
				return
			}
		}
		l.counts.Passed += size
		passed := f.pop()
		if f.toClient {
			s.arrive(passed)
		} else {
			f.enterWire(passed, 0)
		}
	}
	if !f.toClient {
		s.forget()
	}
}

// hold counts the bytes that the link holds.
func (f *flow) hold() {
	f.stream.world.Cancel(&f.gateTurn)
	for i := range f.gate {
		if c := &f.gate[i]; !c.held {
			c.held = true
			f.stream.link.counts.Held += int64(len(c.bytes))
		}
	}
}

func (f *flow) pop() chunk {
	c := f.gate[0]
	f.gate[0] = chunk{}
	if f.gate = f.gate[1:]; len(f.gate) == 0 {
		f.gate = nil
	}
	return c
}

// gateTurn is called at the end of a delay.
type gateTurn flow

func (t *gateTurn) Fire() { (*flow)(t).pump() }

// enterWire sends bytes over the network after a time.
func (f *flow) enterWire(c chunk, wait time.Duration) {
	w := f.stream.world
	f.last = max(w.Now()+int64(wait+f.stream.link.cluster.latency()), f.last)
	f.wire = append(f.wire, flight{c, f.last})
	if len(f.wire) == 1 {
		w.At(f.last, &f.wireTurn)
	}
}

// wireTurn is called when bytes arrive.
type wireTurn flow

func (t *wireTurn) Fire() {
	f := (*flow)(t)
	s := f.stream
	for len(f.wire) > 0 && f.wire[0].due <= s.world.Now() {
		c := f.wire[0].chunk
		f.wire = f.wire[1:]
		switch {
		case !f.toClient:
			s.reach(c)
		case c.leaves > 0 && s.link.master.endedBefore(s.run, c.leaves): // its server ended before it could send the bytes
		default:
			f.enterGate(c)
		}
	}
	if len(f.wire) > 0 {
		s.world.At(f.wire[0].due, &f.wireTurn)
	} else {
		f.wire = nil
	}
}
