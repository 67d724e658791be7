package workload

import (
	"errors"
	"slices"

	"lockpick/history"
)

// Protocol is a way in which clients use the guarded resource within a critical section.
type Protocol string

// These are the protocols. With those of compare-and-set each write is an update: the last step
// of a read, a modification and a write, which the token makes atomic (Resource). They differ
// in the time at which the token is written:
//
//	register:        read, then work, write, work, write, …
//	cas-mark-first:  mark, read, work, write if it is mine; mark, read, …
//	cas-mark-last:   read, work, mark, write if it is mine; read, …
const (
	Register  Protocol = "register"
	MarkFirst Protocol = "cas-mark-first"
	MarkLast  Protocol = "cas-mark-last"
)

// Protocols lists all protocols, the default first.
var Protocols = []Protocol{Register, MarkFirst, MarkLast}

// Compares reports whether the resource compares and sets.
func (p Protocol) Compares() bool { return p == MarkFirst || p == MarkLast }

// Points lists the points that a client passes with the protocol, in their order. BeforeWrite
// is the last.
func (p Protocol) Points() []string {
	at := len(Points) - 1
	switch p {
	case MarkFirst:
		return slices.Insert(slices.Clone(Points), at, BeforeMark, BeforeRead)
	case MarkLast:
		return slices.Insert(slices.Clone(Points), at, BeforeRead, BeforeMark)
	}
	return slices.Clone(Points)
}

// begin does the part of the protocol before the client works on a write. first says that it is
// the section's first write. goOn is false if the section must end.
func (c *client) begin(key string, lease Lease, share Share, first bool) (stayInside, alive bool) {
	protocol := c.w.config.Protocol
	if !protocol.Compares() || !c.writes(share) {
		if first {
			c.read(key, lease)
		}
		return true, true
	}
	if !first && !c.valid(lease) {
		return false, true
	}
	if protocol == MarkFirst {
		if !c.pass(BeforeMark, key, lease) {
			return false, false
		}
		c.w.resource.Mark(key, lease.Token())
	}
	if !c.pass(BeforeRead, key, lease) {
		return false, false
	}
	c.read(key, lease)
	return true, true
}

// pass stops the client at a point if there is an order.
func (c *client) pass(point, key string, lease Lease) (alive bool) {
	return c.w.Pauses.Pass(c.name, point, key) && c.awake(lease)
}

func (c *client) read(key string, lease Lease) {
	c.record(history.OK, history.FRead, key, &history.Value{Token: lease.Token(), Value: c.w.resource.Read(key)}, nil)
}

// write sends a write. goOn is false if the client has ended, or if the write was refused,
// because then another client uses the resource.
func (c *client) write(key string, lease Lease) (stayInside, alive bool) {
	c.written++
	v := &history.Value{Token: lease.Token(), Fence: lease.Fence(), Value: int64(c.number)*1_000_000 + c.written}
	last := c.w.config.Protocol == MarkLast
	if w, ok := lease.(Writer); ok { // the client checks, passes the points, marks and sends by itself
		c.record(history.Invoke, history.FWrite, key, v, nil)
		var err error
		if !c.in(commandWrite, key, c.limit(), func() { err = w.Write(v.Value, last) }) {
			return false, false
		}
		c.record(Outcome(err), history.FWrite, key, v, err)
		alive = !errors.Is(err, ErrGone)
		return alive && !errors.Is(err, ErrMarked), alive
	}
	if last {
		if !c.w.Pauses.Pass(c.name, BeforeMark, key) {
			return false, false
		}
		c.w.resource.Mark(key, v.Token)
	}
	if !c.w.Pauses.Pass(c.name, BeforeWrite, key) {
		return false, false
	}
	c.record(history.Invoke, history.FWrite, key, v, nil)
	err := c.w.resource.Write(key, v.Token, v.Fence, v.Value)
	c.record(Outcome(err), history.FWrite, key, v, err)
	return err == nil, true
}
