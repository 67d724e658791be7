package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lane is the way to one master: its connection, what waits for one, and what is to be
// done about a master that does not answer.
//
// A master that does not answer in time is suspect. It is asked no more, and votes with
// an error at once, so that it costs nothing, until one of its connections answers:
// the old one, or a new one, which are opened and tried in the background all the time.
// A few commands may wait for that (patientMost): so a master that is back is part of
// the very next attempt. It goes on counting as a master: the quorum stays that of all.
//
// A release is sent to a suspect master all the same, if its SET was, on the same
// connection: what the master gets of it, it gets in that order. And while no answer
// came, the release is owed: every new connection begins with what is owed.
type lane struct {
	masters *redisMasters
	index   int
	name    string

	mu    sync.Mutex
	state laneState
	cause error    // why it is suspect
	pipe  *pipe    // nil: there is none
	old   []*pipe  // that did not answer, until they do or are given up
	queue []*order // that wait for a connection
	debts map[string]debt
	votes *ballot // to be told when the lane is let go
	asked time.Duration
	far   atomic.Bool // its connection is slow (pipe.go)

	alarm  *time.Timer // rings when the time of an order is over
	alarms time.Duration
	armed  bool

	kick chan struct{} // somebody waits for a connection
	stop context.CancelFunc
}

type laneState uint8

const (
	resting    laneState = iota // nobody has asked, or not for long
	connecting                  // what is asked waits
	up
	suspect
	closed
)

// debt is a release that got no answer.
type debt struct {
	q     *question
	on    *pipe // it was sent there; nil: nowhere
	until time.Duration
}

const (
	// patientMost is how many commands wait for a suspect master, each within its
	// timeout.
	patientMost = 64
	// debtsMost and debtsFor bound the releases that are owed to a master. A key
	// that is left all the same ends with its TTL.
	debtsMost = 1 << 14
	debtsFor  = time.Minute
	// oldMost and oldFor bound the connections that did not answer and are kept,
	// because a SET in them may be carried out yet, and its release behind it.
	oldMost = 2
	oldFor  = time.Minute
	// busyMost is how many times its timeout a command may take if the master answers
	// others meanwhile.
	busyMost = 10
	// doubtFor is how much later than in time an answer may be read.
	doubtFor = 20 * time.Millisecond
	// doubtMost is how often that is granted to a machine whose timers are late, too.
	doubtMost = 5
	// ringsMost is how often within a timeout it is looked whose time is over.
	ringsMost = 16
	// restAfter is for how long connections to a suspect master are tried when
	// nobody asks.
	restAfter = 10 * time.Second
)

// unlock lets the lane go, and tells the votes. It says whether that woke anybody.
func (l *lane) unlock() (woke bool) {
	votes := l.votes
	l.votes = nil
	l.mu.Unlock()
	if votes == nil {
		return false
	}
	now := l.masters.now()
	together := 0
	for _, o := range votes.cast {
		o.took = now - o.q.asked
		wake, first := o.q.tell(o)
		if wake != nil {
			votes.wakes = append(votes.wakes, wake)
		}
		if first {
			together++
		}
	}
	l.masters.wake(together, now)
	for _, wake := range votes.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	woke = len(votes.wakes) > 0
	clear(votes.cast)
	clear(votes.wakes)
	votes.cast, votes.wakes = votes.cast[:0], votes.wakes[:0]
	ballots.Put(votes)
	return woke
}

// submit has what questions want of this master carried out, or fail.
func (l *lane) submit(questions []*question) {
	l.mu.Lock()
	defer l.unlock()
	for _, q := range questions {
		for i := range q.orders {
			if o := &q.orders[i]; o.master == l.index {
				l.accept(o)
			}
		}
	}
	if l.state == up {
		l.pipe.flush()
	}
}

// accept has an order carried out, or fail. The caller holds the lane, and flushes.
func (l *lane) accept(o *order) {
	talk := &o.q.talk.with[o.master]
	l.asked = o.q.asked
	before := talk.latest
	talk.latest = o
	release := o.q.cmd.Kind == Release
	if release {
		talk.released = true
	}
	follows := before != nil && before.state == queued && !before.late
	switch {
	case l.state == up:
		if on := talk.on; release && on != nil && on != l.pipe && on.broken == nil {
			// Its SET may be carried out yet, by what that connection still delivers:
			// the release goes behind it too.
			l.follow(on, o)
		}
		l.pipe.push(o)
		l.watch(o.q.deadline)
		return
	case l.state == resting:
		l.connect(connecting)
	case l.state == suspect && release && !follows:
		on := talk.on
		if on == nil {
			l.refuse(o) // there is nothing to release
			return
		}
		if on == l.pipe && on.broken == nil {
			on.push(o)
			on.nudge()
			l.watch(o.q.deadline)
			return
		}
		if on.broken == nil {
			l.follow(on, o)
		}
		if len(l.queue) >= patientMost {
			l.refuse(o)
			return
		}
	case l.state == suspect && !follows && len(l.queue) >= patientMost:
		l.refuse(o)
		return
	}
	l.queue = append(l.queue, o)
	l.watch(o.q.deadline)
	l.knock()
}

// follow has a release follow its SET on the connection on which that was sent, beside
// what else becomes of it.
func (l *lane) follow(on *pipe, o *order) {
	o.kept = true
	on.push(&order{q: o.q, master: o.master, state: voted, late: true})
	on.nudge()
}

// refuse is the vote of a suspect master on an order that goes nowhere.
func (l *lane) refuse(o *order) { l.note(o, 0, l.cause) }

// vote notes an order's vote, which is told when the lane is let go. One that got no
// answer may still be in a connection's hands.
func (l *lane) vote(o *order, n int64, err error) {
	o.kept = o.kept || err != nil
	l.note(o, n, err)
}

func (l *lane) note(o *order, n int64, err error) {
	if err != nil {
		n = 0
		if o.q.cmd.Kind == Release && l.owe(o) {
			o.kept = true
		}
	}
	o.n, o.err, o.state = n, err, voted
	if talk := &o.q.talk.with[o.master]; talk.latest == o {
		talk.latest = nil // its question may soon be another
	}
	if l.votes == nil {
		l.votes = ballots.Get().(*ballot)
	}
	l.votes.cast = append(l.votes.cast, o)
}

// owe notes that a release got no answer, if its SET was sent.
func (l *lane) owe(o *order) bool {
	on := o.q.talk.with[o.master].on
	if on == nil || len(l.debts) >= debtsMost {
		return false
	}
	if on.broken != nil || o.state == queued && !o.late { // it was not, and will not be, sent there
		on = nil
	}
	if l.debts == nil {
		l.debts = map[string]debt{}
	}
	l.debts[o.q.cmd.Token] = debt{o.q, on, l.masters.now() + debtsFor}
	return true
}

func (l *lane) paid(o *order) {
	if len(l.debts) > 0 {
		delete(l.debts, o.q.cmd.Token)
	}
}

// pay sends what is owed to a master that is back.
func (l *lane) pay(p *pipe) {
	now := l.masters.now()
	for token, d := range l.debts { // in any order: each is about a key and token of its own
		if d.until < now {
			delete(l.debts, token)
			continue
		}
		if d.on != p {
			d.on = p
			l.debts[token] = d
			p.push(&order{q: d.q, master: l.index, state: voted, late: true})
		}
	}
}

// alive notes that a connection has answered.
func (l *lane) alive(p *pipe) {
	if p == l.pipe && l.state == suspect {
		l.resume()
	}
	if p != l.pipe && p.idle() && len(p.pending) == 0 {
		l.lost(p, errReplaced) // it has answered all, late
	}
}

var errReplaced = errors.New("another connection has taken its place")

// resume has the master take part again.
func (l *lane) resume() {
	l.state, l.cause = up, nil
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.catchUp()
	l.pipe.flush()
}

// adopt takes a new connection, unless the master has answered meanwhile.
func (l *lane) adopt(p *pipe) bool {
	l.mu.Lock()
	defer l.unlock()
	if l.state != connecting && l.state != suspect {
		return false
	}
	if before := l.pipe; before != nil {
		before.since = l.masters.now()
		l.old = append(l.old, before)
		if len(l.old) > oldMost {
			l.lost(l.old[0], errReplaced)
		}
	}
	l.pipe = p
	l.masters.goroutines.Add(2)
	go p.read()
	go p.run()
	l.resume()
	return true
}

// lost gives a connection up. What was not written yet waits for the next one.
func (l *lane) lost(p *pipe, err error) {
	if p.broken != nil {
		return
	}
	p.broken = err
	close(p.wake)
	l.masters.goroutines.Add(1)
	go func() { // a TLS connection says goodbye first
		defer l.masters.goroutines.Done()
		p.free()
	}()
	if p == l.pipe {
		l.pipe = nil
	}
	for i, x := range l.old {
		if x == p {
			l.old = append(l.old[:i], l.old[i+1:]...)
			break
		}
	}
	err = l.named(err)
	fail := func(o *order) {
		switch {
		case o.state == voted:
		case o.state == queued, o.q.cmd.Kind == Release && l.state != closed:
			// It was not sent, or it does no harm to send it again: the next connection
			// may come within its time.
			o.state = queued
			l.queue = append(l.queue, o)
		default:
			l.vote(o, 0, err)
		}
	}
	for _, r := range p.flight[p.first:] {
		for _, o := range r.orders() {
			fail(o)
		}
	}
	for _, o := range p.pending {
		fail(o)
	}
	p.flight, p.first, p.pending = nil, 0, nil
	for token, d := range l.debts {
		if d.on == p {
			d.on = nil
			l.debts[token] = d
		}
	}
	if l.state == up && l.pipe == nil {
		l.connect(connecting)
	}
	l.catchUp()
}

// catchUp has the connection there is take over what another one left undone.
func (l *lane) catchUp() {
	if l.state != up || len(l.queue) == 0 && len(l.debts) == 0 {
		return
	}
	l.pay(l.pipe)
	for _, o := range l.queue {
		if o.state == queued {
			l.pipe.push(o)
		}
	}
	l.queue = nil
	l.pipe.nudge()
}

func (l *lane) named(err error) error { return fmt.Errorf("%s: %w", l.name, err) }

// watch has the alarm ring when the time of an order is over. It is let ring for
// those that were answered, too: to set it for each would cost more.
func (l *lane) watch(deadline time.Duration) {
	if l.armed && l.alarms <= deadline {
		return
	}
	l.armed, l.alarms = true, deadline
	in := max(deadline-l.masters.now(), 0)
	if l.alarm == nil {
		l.alarm = time.AfterFunc(in, l.ring)
	} else {
		l.alarm.Reset(in)
	}
}

// ring ends the time of the orders whose deadline is past.
func (l *lane) ring() {
	l.mu.Lock()
	defer l.unlock()
	if l.state == closed {
		return
	}
	l.armed = false
	now := l.masters.now()
	if p := l.pipe; l.state == up && !p.idle() && (p.doubts == 0 || now-l.alarms > doubtFor/4 && p.doubts < doubtMost) {
		p.doubts++ // the answer may be here, and this machine too busy to read it, or even to look at its clock
		l.watch(now + doubtFor)
		return
	}
	var next time.Duration
	late := l.named(os.ErrDeadlineExceeded)
	over := func(o *order, heard time.Duration) bool {
		if o.state == voted {
			return false
		}
		// A master that goes on answering is busy, or this machine is: it has more
		// time.
		end := min(max(o.q.deadline, heard+o.q.timeout), o.q.asked+busyMost*o.q.timeout)
		if end <= now {
			l.vote(o, 0, late)
			return true
		}
		// Each ring looks at all that is on its way, tens of thousands of commands to a
		// master that has just stopped: not for each of them anew.
		if end = max(end, now+o.q.timeout/ringsMost); next == 0 || end < next {
			next = end
		}
		return false
	}
	keep := l.queue[:0]
	for _, o := range l.queue {
		if over(o, 0) && l.state == connecting {
			l.state, l.cause = suspect, late
		}
		if o.state == queued {
			keep = append(keep, o)
		}
	}
	clear(l.queue[len(keep):])
	l.queue = keep
	silent := l.overIn(l.pipe, over)
	for i := len(l.old) - 1; i >= 0; i-- {
		p := l.old[i]
		l.overIn(p, over)
		if now-p.since > oldFor {
			l.lost(p, errReplaced)
		}
	}
	if silent && l.state == up {
		l.suspect(late)
	}
	l.catchUp()
	if next > 0 {
		l.watch(next)
	}
}

// overIn ends the time of a connection's orders, and says whether the master let one
// pass by in silence.
func (l *lane) overIn(p *pipe, over func(*order, time.Duration) bool) (silent bool) {
	if p == nil {
		return false
	}
	heard := p.heard
	if l.state != up {
		heard = 0
	}
	for _, r := range p.flight[p.first:] {
		for _, o := range r.orders() {
			if over(o, heard) && p.heard <= o.q.deadline-o.q.timeout/2 {
				silent = true
			}
		}
	}
	for _, o := range p.pending {
		o.late = o.late || o.q.cmd.Kind == Release // it is written all the same
		over(o, heard)
	}
	return silent
}

// suspect stops asking the master. Of what is yet to be written only releases are.
func (l *lane) suspect(cause error) {
	l.connect(suspect)
	l.cause = fmt.Errorf("%w, and was not asked again", cause)
	keep := l.pipe.pending[:0]
	for _, o := range l.pipe.pending {
		switch {
		case o.state != queued || o.q.cmd.Kind == Release && o.q.talk.with[o.master].on == l.pipe:
			keep = append(keep, o)
		case len(l.queue) < patientMost:
			l.queue = append(l.queue, o)
		default:
			l.vote(o, 0, l.cause)
		}
	}
	clear(l.pipe.pending[len(keep):])
	l.pipe.pending = keep
	if l.pipe.writing { // what takes so long holds up somebody, and will not be answered
		_ = l.pipe.conn.SetWriteDeadline(time.Unix(1, 0)) // the write fails, and the connection with it
	}
	l.pipe.nudge()
}

// connect has connections be opened until one answers.
func (l *lane) connect(s laneState) {
	l.state = s
	ctx, stop := context.WithCancel(l.masters.life)
	if l.stop != nil {
		l.stop()
	}
	l.stop = stop
	l.asked = l.masters.now()
	l.masters.goroutines.Add(1)
	go l.probe(ctx, stop)
}

// refused notes that no connection is to be had, as one learned who tried from began
// on. Who has asked before shall not wait for another.
func (l *lane) refused(err error, began time.Duration) {
	l.mu.Lock()
	defer l.unlock()
	if l.state != connecting && l.state != suspect {
		return
	}
	err = l.named(err)
	l.state, l.cause = suspect, err
	keep := l.queue[:0]
	for _, o := range l.queue {
		switch {
		case o.state != queued:
		case o.q.asked <= began:
			l.vote(o, 0, err)
		default:
			keep = append(keep, o)
		}
	}
	clear(l.queue[len(keep):])
	if l.queue = keep; len(keep) > 0 {
		l.knock()
	}
}

// knock says that somebody waits for a connection.
func (l *lane) knock() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// rest says whether to stop trying, because nobody has asked for long.
func (l *lane) rest() bool {
	l.mu.Lock()
	defer l.unlock()
	if len(l.queue) > 0 || l.masters.now()-l.asked < restAfter {
		return false
	}
	if len(l.debts) > 0 && l.masters.now()-l.asked < debtsFor {
		return false
	}
	if l.state == connecting || l.state == suspect {
		if l.pipe != nil { // it does not answer: the next to ask begins anew
			l.lost(l.pipe, l.cause)
		}
		l.state = resting
		return true
	}
	return false
}

// settled says that nothing is owed that the master could still be told.
func (l *lane) settled() bool {
	l.mu.Lock()
	defer l.unlock()
	if l.state != up {
		return true
	}
	for _, d := range l.debts {
		if d.on == l.pipe {
			return false
		}
	}
	return true
}

// close gives everything up. There are no orders that anybody waits for.
func (l *lane) close() {
	l.mu.Lock()
	defer l.unlock()
	l.state = closed
	if l.alarm != nil {
		l.alarm.Stop()
	}
	for len(l.old) > 0 {
		l.lost(l.old[0], ErrClosed)
	}
	if l.pipe != nil {
		l.lost(l.pipe, ErrClosed)
	}
}
