package transport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// finish evaluates the replies of a pipeline that has ended. The caller holds mu.
func (b *batcher) finish(call *pipelineCall, replicas *redis.StatusCmd) {
	if i := slices.Index(b.calls, call); i >= 0 {
		b.calls = slices.Delete(b.calls, i, i+1)
		b.fly(call, -1)
	} else {
		b.abandoned--
	}
	var failure error
	executed := false // the master executed a command
	for i := range call.shared {
		s := &call.shared[i]
		for j, c := range s.commands {
			reply, err := s.result(j, call.refused)
			if err != nil && failure == nil {
				failure = err
			}
			executed = executed || serves(err)
			if len(s.commands) > 1 && answered(err) && c.state != voted {
				b.byText = b.byText || hasPrefix(err, "NOSCRIPT")
				c.alone = !hasPrefix(err, "NOSCRIPT") // the error may be due to another release in the script
				b.requeue(c)
				continue
			}
			b.settle(c, reply, err)
		}
	}
	for _, c := range call.singles {
		reply, err := result(&c.sent.StatusCmd, replyTypeOf(&c.batch.cmd), call.refused)
		c.sent = nil
		if err != nil && failure == nil {
			failure = err
		}
		executed = executed || serves(err)
		if c.batch.cmd.Wait > 0 && err == nil && reply > 0 && c.batch.cmd.Purpose != protocol.Release {
			err = confirmed(replicas, c.batch.cmd.Wait)
		}
		b.settle(c, reply, err)
	}
	if executed && call.byText {
		b.byText = false
	}
	if call.hello != nil && executed {
		if err := b.identify(call.hello); err != nil {
			b.fail(err, call.began)
			return
		}
	}
	switch {
	case executed:
		now := b.masters.now()
		b.timed(now, now-call.began-time.Duration(len(call.commands))*eachTakes)
		b.alive(now)
	case call.abandoned: // its failure is known already
	default:
		b.fail(failure, call.began)
	}
	b.wakeWorker()
}

// confirmed returns nil if enough replicas confirmed a command, otherwise the reason for the
// failure.
func confirmed(replicas *redis.StatusCmd, need int) error {
	n, err := result(replicas, count, errors.New("no reply to WAIT"))
	switch {
	case err != nil:
		return err
	case n < int64(need):
		return fmt.Errorf("only %d of %d replicas confirmed it in time", n, need)
	}
	return nil
}

// settle evaluates the reply to one command, or its absence: it casts the vote, or queues
// the command again. The caller holds mu.
func (b *batcher) settle(c *pendingCommand, reply int64, err error) {
	e, kind := c.exchange(), c.batch.cmd.Purpose
	lost := unsent(err)
	known := err == nil || lost || answered(err)
	if known && err != nil && c.counted { // it was not executed
		c.counted = false
		e.stored--
	}
	b.outcome(c, known)
	if o := b.pending[c.batch.cmd.Token]; c.late && o != nil {
		o.busy = false
	}
	switch {
	case hasPrefix(err, "NOSCRIPT") && !c.byText && (kind == protocol.Release || c.state != voted && !(kind == protocol.Set && e.released)):
		// The master has restarted, or never knew the script: send the text.
		c.byText = true
		b.requeue(c)
		return
	case kind == protocol.Release && known && err == nil:
		b.confirm(c, reply)
	case kind == protocol.Release && (lost || !known) && c.state == inFlight:
		c.resent = c.resent || !lost // a release is idempotent
		b.requeue(c)
		return
	}
	if c.state == voted {
		return
	}
	if c.resent && err == nil && reply == 0 {
		err = errUnknownOutcome
	}
	b.vote(c, reply, err)
}

// requeue queues a command again, before all others.
func (b *batcher) requeue(c *pendingCommand) {
	if c.state == inFlight {
		c.state = queued
	}
	b.queue = slices.Insert(b.queue, 0, c)
}

// vote casts a command's vote. The caller holds mu.
func (b *batcher) vote(c *pendingCommand, reply int64, err error) {
	if err != nil {
		reply, err = 0, b.named(err)
		if c.batch.cmd.Purpose == protocol.Release {
			b.keepPending(c)
		}
	}
	c.reply, c.err, c.state = reply, err, voted
	b.answers = append(b.answers, c)
}

// named adds the master's name to an error, unless it has one.
func (b *batcher) named(err error) error {
	var n *masterError
	if errors.As(err, &n) {
		return err
	}
	return &masterError{b.name, err}
}

type masterError struct {
	name string
	err  error
}

func (e *masterError) Error() string { return e.name + ": " + e.err.Error() }
func (e *masterError) Unwrap() error { return e.err }

// timed records how long a pipeline took. The fastest pipeline of a window is the estimate
// of the round trip: slower ones may have waited for this machine.
func (b *batcher) timed(now, took time.Duration) {
	fastest, since := &b.windows[0], &b.windows[1]
	if *fastest == 0 || took < *fastest {
		*fastest = took
	}
	if now-*since > slowFor || *fastest <= slowAnswer && b.slow.Load() || b.roundTrip.Load() == 0 {
		b.roundTrip.Store(int64(*fastest))
		b.slow.Store(*fastest > slowAnswer)
		*fastest, *since = 0, now
	}
}

// answered reports whether an error is a reply of the master, which did not execute the
// command.
func answered(err error) bool {
	if err == nil {
		return false
	}
	var r redis.Error
	return errors.As(err, &r) && !errors.Is(err, redis.Nil) || errors.Is(err, errShared{})
}

// serves reports whether a reply comes from a master that executes commands: an error is
// then about this command only.
func serves(err error) bool {
	return err == nil || hasPrefix(err, "NOSCRIPT") || hasPrefix(err, "WRONGTYPE") || hasPrefix(err, "CROSSSLOT") || scriptFailed(err)
}

// scriptFailed reports whether a script ended in an error of its own: the master has run it.
// Redis 7 names the script then, and leaves the code of a command's error (OOM) at the
// beginning.
func scriptFailed(err error) bool {
	return hasPrefix(err, "ERR ") && strings.Contains(err.Error(), " script: ") && strings.Contains(err.Error(), "on @user_script")
}

func hasPrefix(err error, prefix string) bool {
	return err != nil && strings.HasPrefix(err.Error(), prefix)
}
