package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// health is what a batcher knows about its master.
//
// A master that does not reply within the timeout, or cannot be connected to, or
// carries out nothing that it is sent (LOADING, READONLY, WRONGPASS) is suspect: it gets
// no commands and votes with an error at once, so that it costs nothing. It goes on
// counting as a master: the quorum stays that of all. Probes find out when it is back:
// one at a time, with exponential backoff and jitter, whatever the reason, so that no
// failure becomes a storm of connections.
type health struct {
	state     masterState
	cause     error // why it is suspect
	changed   bool  // since the hook was told
	connected bool  // it has answered; else commands have time to connect
	heard     time.Duration
	asked     time.Duration
	failures  int // pipelines and probes in a row in which nothing was carried out
	probing   bool
	pinging   bool          // a probe is in flight
	probeAt   time.Duration // when the next probe begins
	abandoned int           // pipelines that another connection has overtaken
	greeted   bool          // it was asked which server it is, and knows the scripts

	alarm   *time.Timer // rings when the time of a command is over
	alarmAt time.Duration
	armed   bool
}

type masterState uint8

const (
	up masterState = iota
	suspect
	closed
)

const (
	// connectShare and connectMost bound the time that a command has if its master must
	// be connected to first: so many timeouts, and so long at most.
	connectShare = 20
	connectMost  = 2 * time.Second
	// busyMost is how many times its timeout a command may take if the master answers
	// others meanwhile.
	busyMost = 10
	// graceFor is how long after the timeout an answer may still be read, once per
	// pipeline: it may be here, and this machine too busy to read it.
	graceFor = 20 * time.Millisecond
	// ringsMost is how often within a timeout deadlines are checked.
	ringsMost = 16
	// patientMost is how many commands wait for the next probe of a suspect master.
	patientMost = 64
	// soon is how near the next probe must be for commands to wait for it.
	soon = 2 * backoffMin
	// backoffMin and backoffMax bound the time between two probes.
	backoffMin = 25 * time.Millisecond
	backoffMax = time.Second
	// probeFor is how long a probe may take to get a connection.
	probeFor = time.Second
	// restAfter is for how long a suspect master is probed when nobody asks.
	restAfter = 10 * time.Second
	// abandonedMost is how many pipelines to one master may hang.
	abandonedMost = 2
)

// deadline is when the time of a command is over.
func (b *batcher) deadline(c *pendingCommand) time.Duration {
	return c.batch.asked + b.timeout(c)
}

func (b *batcher) timeout(c *pendingCommand) time.Duration {
	if t := c.batch.timeout; b.connected || c.batch.cmd.Kind == Release {
		return t
	}
	return max(c.batch.timeout, min(connectShare*c.batch.timeout, connectMost))
}

// accept says whether to queue a command. The caller holds mu.
func (b *batcher) accept(c *pendingCommand) bool {
	e, release := c.exchange(), c.batch.cmd.Kind == Release
	b.asked = c.batch.asked
	if release {
		e.released = true
	}
	switch {
	case b.state == closed:
		b.vote(c, 0, ErrClosed)
	case e.released && c.batch.cmd.Kind == Recover:
		b.vote(c, 0, ErrNotHeld)
	case b.state == up:
		return true
	case release && e.stored == 0:
		b.vote(c, 0, b.cause)
	case len(b.queue) < patientMost && (b.pinging || b.probeAt-b.masters.now() < min(c.batch.timeout, soon)):
		b.probe()
		return true
	default:
		b.probe()
		b.vote(c, 0, b.cause)
	}
	return false
}

// fail makes a master suspect that carried nothing out of what was sent at a time. The
// caller holds mu.
func (b *batcher) fail(cause error, began time.Duration) {
	b.suspect(b.named(cause))
	b.refuse(began)
}

// suspect stops sending commands. The caller holds mu.
func (b *batcher) suspect(cause error) {
	if b.state == closed {
		return
	}
	first := b.state != suspect
	b.state, b.cause, b.changed = suspect, cause, b.changed || first
	if first {
		b.failures++
		b.probeAt = b.masters.now() + b.backoff(b.failures-1)
		waiting := 0
		for _, c := range b.queue {
			if waiting++; waiting > patientMost && c.state == queued {
				b.vote(c, 0, cause)
			}
		}
	}
	b.probe()
}

// backoff is how long to wait after so many failures in a row: nothing at first.
func (b *batcher) backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(backoffMin<<min(failures-1, 10), backoffMax)
	return d/2 + rand.N(d/2+1)
}

// probe starts the prober, unless it runs. The caller holds mu.
func (b *batcher) probe() {
	if !b.probing {
		b.probing = true
		b.masters.goroutines.Add(1)
		go b.prober()
	}
}

// prober pings a suspect master until it answers, or nobody has asked for restAfter.
func (b *batcher) prober() {
	defer b.masters.goroutines.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	b.mu.Lock()
	defer b.unlock()
	for b.state == suspect {
		b.probing = true
		wait := b.probeAt - b.masters.now()
		b.unlock()
		timer.Reset(max(wait, 0))
		select {
		case <-timer.C:
		case <-b.masters.life.Done():
			b.mu.Lock()
			return
		}
		b.mu.Lock()
		if b.state != suspect {
			break
		}
		began := b.masters.now()
		b.pinging = true
		b.unlock()
		err := b.ping(b.masters.life)
		b.mu.Lock()
		b.pinging = false
		now := b.masters.now()
		switch {
		case b.state != suspect:
		case err == nil && b.abandoned+len(b.calls) <= abandonedMost:
			b.resume(now)
		case err == nil:
			b.probeAt = now + b.backoff(1)
		default:
			b.cause = b.named(err)
			b.failures++
			b.refuse(began)
			b.probeAt = now + b.backoff(b.failures-1)
			if len(b.queue) == 0 && now-b.asked > restAfter && (len(b.pending) == 0 || now-b.asked > owedFor) {
				b.state, b.connected, b.cause = up, false, nil // the next command finds out
			}
		}
	}
	b.probing = false
}

// ping asks a master whether it answers, and which server it is.
func (b *batcher) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	pipe := b.client.Pipeline()
	ping := &pendingCommand{StatusCmd: redis.NewStatusCmd(ctx, "ping")}
	hello := redis.NewStatusCmd(ctx, "info", "server")
	_ = pipe.Process(ctx, ping)
	_ = pipe.Process(ctx, hello)
	_, refused := pipe.Exec(ctx)
	text, err := ping.Result()
	if err == nil && text == "" {
		err = refused // with the connection: see send
	}
	if err != nil && !(hasPrefix(err, "NOPERM") && strings.Contains(err.Error(), "'ping'")) {
		return err
	}
	return b.identify(hello)
}

// identify notes which server a master is. Two masters that are one server would be one
// vote that counts twice.
func (b *batcher) identify(hello *redis.StatusCmd) error {
	text, err := hello.Result()
	if err != nil {
		return nil // its user may not ask for it
	}
	_, id, found := strings.Cut(text, "run_id:")
	if !found {
		return nil
	}
	id, _, _ = strings.Cut(id, "\r\n")
	m := b.masters
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, other := range m.servers {
		if other == id && i != b.index {
			return fmt.Errorf("%w: it is the same server as master %d (%s)", errDuplicate, i+1, m.names[i])
		}
	}
	m.servers[b.index] = id
	return nil
}

var errDuplicate = errors.New("a master that votes twice breaks the quorum")

// alive notes that a master carried something out. The caller holds mu.
func (b *batcher) alive(now time.Duration) {
	b.heard, b.connected, b.failures = now, true, 0
	if b.state == suspect {
		b.resume(now)
	}
}

// resume has the master take part again. A pipeline that another connection has
// overtaken is abandoned: its worker waits for it, and others go on. The caller holds mu.
func (b *batcher) resume(now time.Duration) {
	b.state, b.cause, b.heard, b.connected, b.greeted, b.changed = up, nil, now, true, false, true
	for _, call := range b.calls {
		call.abandoned = true
		b.abandoned++
		b.workers--
		for _, c := range call.commands {
			if c.state == inFlight { // its answer will not come in time, and its release may come before it
				b.outcome(c, false)
				b.vote(c, 0, os.ErrDeadlineExceeded)
			}
		}
	}
	b.calls = nil
	for _, o := range b.pending {
		o.next = now
	}
	b.sendOwed(now)
	b.nudge()
}

// refuse votes on what waits for a suspect master and was asked for before. The caller
// holds mu.
func (b *batcher) refuse(before time.Duration) {
	for _, c := range b.queue {
		again := c.batch.cmd.Kind == Release && c.exchange().stored > 0 // it may be in time yet
		if c.state == queued && c.batch.asked <= before && !again {
			b.vote(c, 0, b.cause)
		}
	}
	b.discard()
}

// discard drops what was voted on while it was queued. The caller holds mu.
func (b *batcher) discard() {
	keep := b.queue[:0]
	for _, c := range b.queue {
		if c.state != voted || c.late {
			keep = append(keep, c)
		}
	}
	clear(b.queue[len(keep):])
	b.queue = keep
}

// watch has the alarm ring at a time. The caller holds mu.
func (b *batcher) watch(at time.Duration) {
	if b.armed && b.alarmAt <= at || b.state == closed {
		return
	}
	b.armed, b.alarmAt = true, at
	in := max(at-b.masters.now(), 0)
	if b.alarm == nil {
		b.alarm = time.AfterFunc(in, b.ring)
	} else {
		b.alarm.Reset(in)
	}
}

// ring ends the time of commands whose deadline has passed.
func (b *batcher) ring() {
	b.mu.Lock()
	defer b.unlock()
	if b.state == closed {
		return
	}
	b.armed = false
	now, next := b.masters.now(), time.Duration(0)
	late := error(os.ErrDeadlineExceeded)
	if b.state == suspect {
		late = b.cause
	}
	// A master that goes on answering is busy, or this machine is: it has more time.
	remains := func(c *pendingCommand) bool {
		t := b.timeout(c)
		end := min(max(c.batch.asked+t, b.heard+t), c.batch.asked+busyMost*t)
		if end <= now {
			return false
		}
		// Each ring checks all that is on its way: not for each deadline.
		if end = max(end, now+t/ringsMost); next == 0 || end < next {
			next = end
		}
		return true
	}
	for _, c := range b.queue {
		if c.state == queued && !remains(c) {
			b.vote(c, 0, late)
		}
	}
	b.discard()
	silent := false
	for _, call := range b.calls {
		for _, c := range call.commands {
			if c.state != inFlight || remains(c) {
				continue
			}
			if b.state == up && !call.graced {
				call.graced = true
				next = now + graceFor
				break
			}
			b.outcome(c, false)
			b.vote(c, 0, late)
			silent = silent || b.heard <= call.began
		}
	}
	if silent && b.state == up {
		b.suspect(b.named(fmt.Errorf("%w: it does not reply within the timeout", late)))
	}
	b.sendOwed(now)
	if next > 0 {
		b.watch(next)
	}
}

// close gives everything up. Nobody waits for a vote any more.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.unlock()
	b.state = closed
	if b.alarm != nil {
		b.alarm.Stop()
	}
}

// unsettled says that the master may still answer something.
func (b *batcher) unsettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == up && (len(b.calls) > 0 || len(b.queue) > 0 || len(b.pending) > 0)
}

// unsent says that an error came before anything was written.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, context.Canceled)
}
