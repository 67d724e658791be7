package redlock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"
)

// pipe is one connection to a master, which the commands of all goroutines share.
// They are written in the order in which they were asked, many at a time, and
// answered in that order.
//
// Who writes: whoever brings commands to an idle connection (dispatch.go), at once; else
// the reader, once all that was written is answered, so that what was asked meanwhile
// leaves together. Where answers take long (slow), waiting for them would double the time
// that a command takes, so the writer goroutine does it then, and whenever a write may
// block. In what order it leaves is told in encode.go.
//
// The lane's mutex guards all of it.
type pipe struct {
	lane  *lane
	conn  net.Conn
	free  func() // closes the connection
	prune form   // how it wants a release: byHash, or delex or delifeq

	pending []*order // to be written
	flight  []reply  // to be answered, from first on
	first   int
	out     []byte // being written
	batch   batch
	writing bool
	left    time.Duration // when the latest write began
	slow    bool
	fastest time.Duration // answer since judged
	judged  time.Duration
	teach   bool          // it has forgotten the script that releases share
	heard   time.Duration // when it answered last
	doubts  int           // how often its time was over since it has answered
	broken  error
	since   time.Duration // when another connection took its place
	wake    chan struct{} // the writer's
}

// reply is one that a master owes: to an order, to several that share a script, or to
// the WAIT behind those that replicas must hear of.
type reply struct {
	order  *order
	shared []*order
	wait   bool
	at     time.Duration // when it was written
}

const (
	// shareMost is how many releases share one script at most: it runs for some
	// 100 µs then, in which the master does nothing else.
	shareMost = 128
	// atOnceMost is how many commands are written by who asks, because they fit into the
	// socket's buffer: that cannot block, even if the master is hung.
	atOnceMost = 128
	// slowAnswer is how long a master may take to answer before nobody waits for its
	// answer any more before the next write.
	slowAnswer = time.Millisecond
	// slowFor is how often that is judged.
	slowFor = time.Second / 4
)

func (p *pipe) idle() bool { return len(p.flight) == p.first }

// push puts an order behind the others. The caller holds the lane, and calls flush.
func (p *pipe) push(o *order) { p.pending = append(p.pending, o) }

// flush has what is pending be written, by the caller if that cannot block. The
// caller holds the lane, which is let go meanwhile.
func (p *pipe) flush() {
	switch {
	case p.writing || p.broken != nil || len(p.pending) == 0:
	case p.idle() && len(p.pending) <= atOnceMost: // nothing is in the socket's buffer
		p.write()
		if len(p.pending) > 0 && (p.idle() || p.slow) {
			p.nudge()
		}
	case p.idle() || p.slow || p.lane.masters.now()-p.left > slowAnswer:
		p.nudge()
	}
}

// nudge wakes the writer. The caller holds the lane.
func (p *pipe) nudge() {
	if p.broken != nil {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run is the writer goroutine.
func (p *pipe) run() {
	l := p.lane
	defer l.masters.goroutines.Done()
	for range p.wake {
		l.mu.Lock()
		for !p.writing && p.broken == nil && len(p.pending) > 0 {
			p.write()
		}
		l.unlock()
	}
}

// write writes what is pending. The caller holds the lane, which is let go meanwhile.
func (p *pipe) write() {
	l := p.lane
	p.out = p.out[:0]
	p.left = l.masters.now()
	before := len(p.flight)
	p.encode()
	if len(p.out) == 0 {
		return // all of it was given up meanwhile
	}
	if err := l.allow(); err != nil {
		p.deny(before, err)
		return
	}
	p.writing = true
	l.unlock()
	_, err := p.conn.Write(p.out)
	l.report(err)
	l.mu.Lock()
	p.writing = false
	if err != nil {
		l.lost(p, err)
	}
}

// deny gives up what was about to be written, because the Limiter says so.
func (p *pipe) deny(from int, err error) {
	for _, r := range p.flight[from:] {
		for _, o := range r.orders() {
			if o.state == sent {
				p.lane.vote(o, 0, p.lane.named(err))
			}
		}
	}
	p.flight = p.flight[:from]
}

func (r reply) orders() []*order {
	if r.order != nil {
		return []*order{r.order}
	}
	return r.shared
}

// read is the reader goroutine. It ends with the connection.
func (p *pipe) read() {
	l := p.lane
	defer l.masters.goroutines.Done()
	r := bufio.NewReaderSize(p.conn, 1<<15)
	var answers []answer
	for {
		answers = answers[:0]
		a, err := readAnswer(r)
		for err == nil {
			answers = append(answers, a)
			if !whole(r) {
				break
			}
			a, err = readAnswer(r)
		}
		l.mu.Lock()
		l.heard(p, answers)
		if err != nil {
			l.lost(p, err)
			l.unlock()
			return
		}
		drained := p.idle() && !p.writing && len(p.pending) > 0
		woke := l.unlock()
		if drained {
			if woke {
				runtime.Gosched() // they may ask again: that leaves together
			}
			l.mu.Lock()
			p.flush()
			l.unlock()
		}
	}
}

// whole says whether the buffer holds a whole reply, or at least a whole line of one.
func whole(r *bufio.Reader) bool {
	peek, _ := r.Peek(r.Buffered())
	return bytes.IndexByte(peek, '\n') >= 0
}

var errUnasked = errors.New("a reply that nobody asked for")

// heard gives replies to whom they are for. The caller holds the lane.
func (l *lane) heard(p *pipe, answers []answer) {
	var answered time.Duration
	for _, a := range answers {
		if p.broken != nil {
			return
		}
		if p.idle() {
			l.lost(p, errUnasked)
			return
		}
		r := p.flight[p.first]
		p.flight[p.first] = reply{}
		answered = r.at
		if p.first++; p.first == len(p.flight) {
			p.flight, p.first = p.flight[:0], 0
		}
		switch {
		case r.wait:
			l.replicated(r.shared, a)
		case r.shared != nil:
			l.answeredShared(p, r.shared, a)
			p.batch.recycle(r.shared)
		default:
			l.answered(p, r.order, a)
		}
	}
	if len(answers) > 0 && p.broken == nil {
		p.heard, p.doubts = l.masters.now(), 0
		p.timed(p.heard, answered)
		l.alive(p)
	}
}

// timed notes how long an answer took. Of all in a while the fastest tells how far away
// the master is: the others may have had to wait for this machine.
func (p *pipe) timed(now, written time.Duration) {
	if took := now - written; p.fastest == 0 || took < p.fastest {
		p.fastest = took
	}
	if now-p.judged > slowFor || p.fastest <= slowAnswer {
		p.slow = p.fastest > slowAnswer
		p.lane.far.Store(p.slow)
	}
	if now-p.judged > slowFor {
		p.judged, p.fastest = now, 0
	}
}

func (l *lane) answered(p *pipe, o *order, a answer) {
	// The master has restarted: its script cache is empty.
	if hasPrefix(a.err, "NOSCRIPT") && !o.byText && l.again(p, o) {
		o.byText = true
		return
	}
	l.settle(o, a)
	if hasPrefix(a.err, "NOAUTH") {
		l.lost(p, a.err) // a new connection introduces itself anew
	}
}

func (l *lane) answeredShared(p *pipe, shared []*order, a answer) {
	all := a.err == nil && !a.many && a.n == int64(len(shared)) // it deleted them all
	if a.err == nil && !all && len(a.list) != len(shared) {
		a.err = fmt.Errorf("%w: %d for %d releases", errProtocol, len(a.list), len(shared))
	}
	forgotten := hasPrefix(a.err, "NOSCRIPT")
	if forgotten {
		p.teach = true
	}
	for i, o := range shared {
		switch {
		case all:
			l.settle(o, answer{n: 1})
		case a.err == nil:
			l.settle(o, a.list[i])
		case l.again(p, o):
			// Each by itself: it may be one of them that the master does not like.
			o.alone = !forgotten
		default:
			l.settle(o, a)
		}
	}
}

// again sends once more what a master has refused to carry out. A SET is not, once
// its release was asked, which would come first; an extension that comes too late finds
// nothing.
func (l *lane) again(p *pipe, o *order) bool {
	kind := o.q.cmd.Kind
	if p.broken != nil || kind != Release && o.state == voted || kind == Set && o.q.talk.with[o.master].released {
		return false
	}
	p.push(o)
	if p.slow {
		p.nudge()
	}
	return true
}

// settle is an order's answer.
func (l *lane) settle(o *order, a answer) {
	if a.err == nil && a.many {
		a.err = fmt.Errorf("unexpected reply: a list of %d", len(a.list))
	}
	if o.q.cmd.Kind == Release && a.err == nil {
		l.paid(o)
	}
	switch {
	case o.state == voted:
	case o.q.cmd.Wait > 0 && a.err == nil && a.n > 0:
		o.n, o.state = a.n, waiting
	case a.err != nil:
		l.vote(o, 0, l.named(a.err))
	default:
		l.vote(o, a.n, nil)
	}
}

// replicated is the answer to WAIT: a yes that too few replicas have heard of in time
// is none.
func (l *lane) replicated(orders []*order, a answer) {
	for _, o := range orders {
		if o.state != waiting {
			continue
		}
		err := a.err
		if err == nil && a.n < int64(o.q.cmd.Wait) {
			err = fmt.Errorf("%d of %d replicas have heard of it in time", a.n, o.q.cmd.Wait)
		}
		if err != nil {
			err = l.named(err)
		}
		l.vote(o, o.n, err)
	}
}
