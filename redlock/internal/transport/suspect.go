package transport

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

	"lockpick/redlock/protocol"
)

// health is the state of a batcher's master.
//
// A master is suspect if it does not reply within the timeout, cannot be connected to, or
// executes no commands (LOADING, READONLY, WRONGPASS). A suspect master gets no commands,
// and its vote is an error at once, so that it delays nothing. It still counts as a master:
// the quorum is a majority of all. Probes find out when it recovers. There is one probe at a
// time, with exponential backoff and jitter whatever the cause, so that no failure leads to
// a storm of connections.
type health struct {
	state     masterState
	cause     error         // the reason for the suspicion
	changed   bool          // the hook was not called yet for the last change of state
	connected bool          // it has replied; if not, commands have additional time to connect
	heard     time.Duration // time of the latest reply
	asked     time.Duration // time of the latest command
	failures  int           // pipelines and probes in a row without an executed command
	probing   bool          // the prober runs
	pinging   bool          // a probe is in flight
	probeAt   time.Duration // time of the next probe
	abandoned int           // hung pipelines whose master answers on another connection
	greeted   bool          // INFO and the scripts were sent to it

	alarm   *time.Timer // calls checkDeadlines
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
	// connectShare and connectMost bound the time of a command that must connect first:
	// connectShare timeouts, at most connectMost.
	connectShare = 20
	connectMost  = 2 * time.Second
	// busyMost bounds the time of a command whose master answers others meanwhile, in
	// timeouts.
	busyMost = 10
	// graceFor prolongs the deadline of a pipeline once: its reply may have arrived, and
	// this machine may be too busy to read it.
	graceFor = 20 * time.Millisecond
	// checksMost bounds how often deadlines are checked within a timeout.
	checksMost = 16
	// waitMost is the number of commands that may wait for the next probe of a suspect
	// master.
	waitMost = 64
	// soon is the longest time until the next probe for which commands wait.
	soon = 2 * backoffMin
	// backoffMin and backoffMax bound the time between two probes.
	backoffMin = 25 * time.Millisecond
	backoffMax = time.Second
	// probeFor is the timeout of a probe, including connecting.
	probeFor = time.Second
	// restAfter is how long after the latest command probes go on.
	restAfter = 10 * time.Second
	// abandonedMost is the number of pipelines to one master that may hang.
	abandonedMost = 2
)

// deadline returns the time at which a command fails.
func (b *batcher) deadline(c *pendingCommand) time.Duration {
	return c.batch.asked + b.timeout(c)
}

// timeout returns the time that a command may take.
func (b *batcher) timeout(c *pendingCommand) time.Duration {
	if t := c.batch.timeout; b.connected || c.batch.cmd.Purpose == protocol.Release {
		return t
	}
	return max(c.batch.timeout, min(connectShare*c.batch.timeout, connectMost))
}

// errReleased is the vote on a Recover after the release.
var errReleased = errors.New("the lock was released before")

// accept reports whether to queue a command. If not, it casts the vote. The caller holds mu.
func (b *batcher) accept(c *pendingCommand) bool {
	e, release := c.exchange(), c.batch.cmd.Purpose == protocol.Release
	b.asked = c.batch.asked
	if release {
		e.released = true
	}
	switch {
	case b.state == closed:
		b.vote(c, 0, b.masters.errClosed)
	case e.released && c.batch.cmd.Purpose == protocol.Recover:
		b.vote(c, 0, errReleased)
	case b.state == up:
		return true
	case release && e.stored == 0:
		b.vote(c, 0, b.cause)
	case len(b.queue) < waitMost && (b.pinging || b.probeAt-b.masters.now() < min(c.batch.timeout, soon)):
		b.probe()
		return true
	default:
		b.probe()
		b.vote(c, 0, b.cause)
	}
	return false
}

// fail makes a master suspect that executed none of the commands that were sent at began.
// The caller holds mu.
func (b *batcher) fail(cause error, began time.Duration) {
	b.suspect(b.named(cause))
	b.refuse(began)
}

// suspect makes a master suspect: it gets no more commands. The caller holds mu.
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
			if waiting++; waiting > waitMost && c.state == queued {
				b.vote(c, 0, cause)
			}
		}
	}
	b.probe()
}

// backoff returns how long to wait after a number of failures in a row; 0 after none.
func (b *batcher) backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(backoffMin<<min(failures-1, 10), backoffMax)
	return d/2 + rand.N(d/2+1)
}

// probe starts the prober unless it is running. The caller holds mu.
func (b *batcher) probe() {
	if !b.probing {
		b.probing = true
		b.masters.goroutines.Add(1)
		go b.prober()
	}
}

// prober pings a suspect master until it answers, or there was no command for restAfter.
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
			if len(b.queue) == 0 && now-b.asked > restAfter && (len(b.pending) == 0 || now-b.asked > pendingFor) {
				b.state, b.connected, b.cause = up, false, nil // the next command is the next probe
			}
		}
	}
	b.probing = false
}

// ping sends PING and INFO to a master, and identifies the server.
func (b *batcher) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	pipe := b.client.Pipeline()
	ping := &wireCommand{StatusCmd: *redis.NewStatusCmd(ctx, "ping")}
	hello := redis.NewStatusCmd(ctx, "info", "server")
	_ = pipe.Process(ctx, ping)
	_ = pipe.Process(ctx, hello)
	refused := execute(ctx, pipe)
	text, err := ping.Result()
	if err == nil && text == "" {
		err = refused // the connection was refused: see send
	}
	if err == nil && text != "PONG" {
		err = fmt.Errorf("unexpected reply %.100q to PING", text)
	}
	if err != nil && !(hasPrefix(err, "NOPERM") && strings.Contains(err.Error(), "'ping'")) {
		return err
	}
	return b.identify(hello)
}

// identify records the run_id of a master's server. It returns an error if another master is
// the same server, because one vote would count twice.
func (b *batcher) identify(hello *redis.StatusCmd) error {
	text, err := hello.Result()
	if err != nil {
		return nil // the user is not permitted to run INFO
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

// alive records that a master executed a command. The caller holds mu.
func (b *batcher) alive(now time.Duration) {
	b.heard, b.connected, b.failures = now, true, 0
	if b.state == suspect {
		b.resume(now)
	}
}

// resume ends the suspicion. Pipelines that are still in flight hang, although the master
// answers on another connection: they are abandoned, each of their workers waits for its
// pipeline alone, and new workers send the commands. The caller holds mu.
func (b *batcher) resume(now time.Duration) {
	b.state, b.cause, b.heard, b.connected, b.greeted, b.changed = up, nil, now, true, false, true
	for _, call := range b.calls {
		call.abandoned = true
		b.fly(call, -1)
		b.abandoned++
		b.workers--
		for _, c := range call.commands {
			if c.state == inFlight { // the reply will be late, and the release may overtake the command
				b.outcome(c, false)
				b.vote(c, 0, os.ErrDeadlineExceeded)
			}
		}
	}
	b.calls = nil
	for _, o := range b.pending {
		o.next = now
	}
	b.sendPending(now)
	b.wakeWorker()
}

// refuse fails the queued commands that were submitted up to a time. The caller holds mu.
func (b *batcher) refuse(before time.Duration) {
	for _, c := range b.queue {
		keep := c.batch.cmd.Purpose == protocol.Release && c.exchange().stored > 0 // the master may recover in time for it
		if c.state == queued && c.batch.asked <= before && !keep {
			b.vote(c, 0, b.cause)
		}
	}
	b.discard()
}

// discard removes commands from the queue that were voted on. The caller holds mu.
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

// setAlarm makes checkDeadlines run at a time, or earlier. The caller holds mu.
func (b *batcher) setAlarm(at time.Duration) {
	if b.armed && b.alarmAt <= at || b.state == closed {
		return
	}
	b.armed, b.alarmAt = true, at
	in := max(at-b.masters.now(), 0)
	if b.alarm == nil {
		b.alarm = time.AfterFunc(in, b.checkDeadlines)
	} else {
		b.alarm.Reset(in)
	}
}

// checkDeadlines fails the commands whose deadline has passed, and makes the master suspect
// if it has not replied since they were sent.
func (b *batcher) checkDeadlines() {
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
	// If the master goes on answering, it or this machine is busy, and its commands have
	// more time.
	remains := func(c *pendingCommand) bool {
		t := b.timeout(c)
		end := min(max(c.batch.asked+t, b.heard+t), c.batch.asked+busyMost*t)
		if end <= now {
			return false
		}
		// Each check covers all commands, so do not check for every single deadline.
		if end = max(end, now+t/checksMost); next == 0 || end < next {
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
	b.sendPending(now)
	if next > 0 {
		b.setAlarm(next)
	}
}

// close ends the batcher. All commands have votes by then.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.unlock()
	b.state = closed
	if b.alarm != nil {
		b.alarm.Stop()
	}
}

// unsettled reports whether replies of the master or pending releases are missing.
func (b *batcher) unsettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == up && (len(b.calls) > 0 || len(b.queue) > 0 || len(b.pending) > 0)
}

// unsent reports whether an error occurred before anything was written.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, context.Canceled)
}
