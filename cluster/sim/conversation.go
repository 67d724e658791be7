package sim

import (
	"context"
	"fmt"
	"iter"
	"time"

	"lockpick/redlock/protocol"

	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// Masters is one client's access to the masters: a pool of connections to each. The commands of
// a conversation follow one another, scripts are sent by hash and then by text, and releases
// are repeated if there is no reply. Commands of different conversations can overtake each
// other. On real masters, redlock's batcher keeps the order of commands about one key, which is
// easier for the lock.
type Masters struct {
	cluster *Cluster
	client  *world.Client
	links   []*Link
	names   []string
	pending int // number of votes that are still missing
	closed  bool
	waiting []*world.Coroutine // coroutines that wait in Close
	late    []int              // per master, the number of releases that are being repeated
}

func newMasters(c *Cluster, client string) *Masters {
	m := &Masters{cluster: c, client: c.world.ClientRuntime(client), links: c.linksOf(client), late: make([]int, len(c.masters))}
	for _, x := range c.masters {
		m.names = append(m.names, x.name)
	}
	return m
}

// Names returns m1, m2, …
func (m *Masters) Names() []string { return m.names }

// Begin starts a conversation.
func (m *Masters) Begin(observe func(protocol.Vote)) protocol.Conversation {
	c := &conversation{masters: m, observe: observe}
	if len(m.links) <= len(c.room) {
		c.last = c.room[:len(m.links)]
	} else {
		c.last = make([]*message, len(m.links))
	}
	return c
}

// Close waits for the commands in flight, stops repeating late releases, and closes the
// connections. Outside of the world it does not wait.
func (m *Masters) Close() error {
	m.closed = true
	if co := m.cluster.world.Current(); co != nil {
		for m.pending > 0 {
			m.waiting = append(m.waiting, co)
			co.Wait("the last replies, to close its connections")
		}
	}
	for _, l := range m.links {
		for len(l.conns) > 0 {
			l.shut(l.conns[0])
		}
	}
	return nil
}

type conversation struct {
	masters *Masters
	observe func(protocol.Vote)
	last    []*message // per master, the latest one without a vote
	room    [7]*message
}

// Ask implements protocol.Conversation.
func (c *conversation) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	a := c.masters.ask()
	a.conversation, a.ctx, a.cmd, a.timeout, a.to = c, ctx, cmd, timeout, to
	return a.seq
}

// ask is one command to some masters, and the votes on it that the caller has not taken yet.
type ask struct {
	masters      *Masters
	conversation *conversation // nil: a release that is repeated
	cmd          protocol.Command
	refs         int // number of messages, plus one for the caller that takes the votes
	unanswers    []*message
	taker        *world.Coroutine         // the coroutine that waits for a vote; nil: none does
	counts       func(protocol.Vote) bool // the function of the taker that processes a vote
	expected     int                      // number of votes that are still missing
	enough       bool                     // the taker wants no more votes
	left         bool                     // the caller has left
	vote         protocol.Vote            // the latest vote
	votes        []protocol.Vote
	taken        int
	late         *lateRelease
	timer        world.Timer // timeout of all messages that were sent at once
	ctx          context.Context
	request      request
	to           []int
	timeout      time.Duration
	seq          iter.Seq[protocol.Vote]
}

func (m *Masters) ask() *ask {
	a, ok := m.cluster.spares.asks.take()
	if !ok {
		a = &ask{}
		a.renew()
	}
	a.masters, a.refs = m, 1
	return a
}

func (a *ask) release() {
	if a.refs--; a.refs > 0 {
		return
	}
	if a.timer.Running() {
		a.timer.End()
	}
	clear(a.votes)
	a.votes, a.taken, a.expected, a.late, a.conversation, a.ctx, a.to = a.votes[:0], 0, 0, nil, nil, nil, nil
	a.enough, a.left = false, false
	a.unanswers = a.unanswers[:0]
	a.masters.cluster.spares.asks.put(a)
}

// run sends the commands and yields the votes.
func (a *ask) run(yield func(protocol.Vote) bool) {
	p := a.masters
	co := p.cluster.world.Running("Ask")
	co.BelongTo(p.client)
	a.request.read(&a.cmd)
	if a.to == nil {
		a.expected = len(p.links)
		for i := range p.links {
			a.send(i)
		}
	} else {
		a.expected = len(a.to)
		for _, i := range a.to {
			a.send(i)
		}
	}
	a.take(co, yield)
	a.taker, a.counts, a.left = nil, nil, true
	a.release()
}

// send sends the command to one master, or queues it behind the conversation's earlier command.
func (a *ask) send(i int) {
	p := a.masters
	m := p.cluster.message(a, i)
	p.pending++
	m.place = int32(len(a.unanswers))
	a.unanswers = append(a.unanswers, m)
	if c := a.conversation; c != nil {
		before := c.last[i]
		c.last[i] = m
		if before != nil {
			before.after = m
			return
		}
	}
	if !a.timer.Running() {
		a.timer.Begin(p.client, a.timeout)
	}
	m.start()
}

// Fire ends the waiting for those messages that were sent at once.
func (a *ask) Fire() {
	a.refs++
	for _, m := range append([]*message(nil), a.unanswers...) {
		if m.ask == a && m.stagedAtOnce() {
			m.expire()
		}
	}
	a.release()
}

// stagedAtOnce reports whether the message was sent when the command was submitted: then it has
// no timer of its own and did not have to wait.
func (m *message) stagedAtOnce() bool {
	return !m.timer.Running() && (m.conn != nil || m.stage == failing)
}

// replace makes another message wait for a vote.
func (a *ask) replace(old, with *message) {
	with.place = old.place
	a.unanswers[with.place] = with
	if c := a.conversation; c != nil && c.last[old.master] == old {
		c.last[old.master] = with
	}
}

// done removes a message that has voted from the list of those without a vote.
func (a *ask) done(m *message) {
	if c := a.conversation; c != nil && c.last[m.master] == m {
		c.last[m.master] = nil
	}
	n := len(a.unanswers) - 1
	last := a.unanswers[n]
	a.unanswers[m.place], last.place = last, m.place
	a.unanswers = a.unanswers[:n]
	if n == 0 && a.timer.Running() {
		a.timer.End()
	}
}

// take yields the votes as they arrive, until all have arrived or the context ends.
func (a *ask) take(co *world.Coroutine, yield func(protocol.Vote) bool) {
	w := a.masters.cluster.world
	for ; a.expected > 0; a.expected-- {
		for a.taken == len(a.votes) {
			if w.Ended(a.ctx) != nil {
				return
			}
			a.taker, a.counts = co, yield
			co.WaitOn(a.ctx, "votes")
			a.taker, a.counts = nil, nil
			if a.enough || a.expected == 0 {
				return
			}
		}
		if w.Ended(a.ctx) != nil && w.Intn(2, world.WhatSelect) == 1 {
			return // if both have arrived, a select would choose either
		}
		v := &a.votes[a.taken]
		if a.taken++; a.taken == len(a.votes) {
			a.votes, a.taken = a.votes[:0], 0
		}
		if !yield(*v) {
			return
		}
	}
}

// cast passes a vote on. It must be the last act of an event.
func (a *ask) cast(master int, n int64, err error, took time.Duration) {
	p := a.masters
	p.pending--
	c := a.conversation
	observed := c != nil && c.observe != nil
	v := &a.vote
	if !a.left || observed {
		v.Master, v.Name, v.Purpose, v.Key, v.Token = master, p.names[master], a.cmd.Purpose, a.cmd.Key, a.cmd.Token
		v.Yes, v.Reply, v.Err, v.Took, v.TTL = err == nil && n > 0, n, err, took, time.Duration(a.cmd.TTL)*time.Millisecond
	}
	if observed {
		c.observe(*v)
	}
	if err != nil && a.cmd.Purpose == protocol.Release {
		p.again(a, master)
	} else if a.late != nil {
		a.late.end()
	}
	if p.pending == 0 && len(p.waiting) > 0 {
		for _, co := range p.waiting {
			co.Wake()
		}
		p.waiting = nil
	}
	if c == nil || a.left || a.counted(v) {
		return
	}
	a.votes = append(a.votes, *v)
	if a.taker != nil {
		a.taker.Proceed()
	}
}

// counted processes a vote for the coroutine that takes the votes, if that waits for one,
// without waking it: usually it would only sleep again. The coroutine is woken if it has enough
// votes, or if counts panics.
func (a *ask) counted(v *protocol.Vote) bool {
	co := a.taker
	if co == nil || !co.Idle() {
		return false
	}
	a.expected--
	a.enough = true // also if counts panics
	co.InPlace(func() { a.enough = !a.counts(*v) })
	if a.enough || a.expected == 0 {
		a.taker, a.counts = nil, nil
		co.Proceed()
	}
	return true
}

// number parses a reply as redlock does: OK is 1, nil is 0.
func number(r *keyspace.Reply, master string) (int64, error) {
	switch {
	case r.Kind == keyspace.ReplyInt:
		return r.N, nil
	case r.Kind == keyspace.ReplyStatus && r.Text == "OK", r.Kind == keyspace.ReplyBulk && r.Text == "OK":
		return 1, nil
	case r.Kind == keyspace.ReplyNil:
		return 0, nil
	case r.Kind == keyspace.ReplyError:
		return 0, replyError(master + ": " + r.Text)
	}
	return 0, fmt.Errorf("%s: unexpected reply %v", master, r)
}

// replyError is an error that a master replied with.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {} // as go-redis' errors have it

// These constants limit how long and at which intervals a release is repeated, and how many
// releases at a time per master.
const (
	lateReleases = 64
	lateFor      = time.Minute
	lateApart    = time.Second
)

// lateRelease is a release without a reply. It is repeated, because a master that hangs may
// still execute the SET.
type lateRelease struct {
	masters *Masters
	master  int
	cmd     protocol.Command
	timeout time.Duration
	pause   time.Duration
	began   int64
	timer   world.Timer
}

// again schedules another send of a release.
func (m *Masters) again(a *ask, master int) {
	l := a.late
	if l == nil {
		if m.closed || m.late[master] >= lateReleases {
			return
		}
		m.late[master]++
		l = &lateRelease{masters: m, master: master, cmd: a.cmd, timeout: a.timeout, pause: a.timeout, began: m.client.Reading()}
		l.timer.Init(l)
	} else {
		l.pause = min(2*l.pause, lateApart)
	}
	if m.closed || m.client.Reading()-l.began >= int64(lateFor) {
		l.end()
		return
	}
	l.timer.Begin(m.client, l.pause)
}

func (l *lateRelease) end() { l.masters.late[l.master]-- }

func (l *lateRelease) Fire() {
	if l.masters.closed {
		l.end()
		return
	}
	a := l.masters.ask()
	a.late, a.cmd, a.timeout = l, l.cmd, l.timeout
	a.request.read(&a.cmd)
	a.send(l.master)
	a.release()
}
