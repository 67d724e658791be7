package redlock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// batcher sends the commands of all goroutines to one master. A lone caller's command
// leaves immediately. Commands that arrive while a pipeline is in flight leave together
// in the next one, so that many callers share one write and one read.
//
// One pipeline at a time keeps the order: a release never overtakes its SET, nor does
// the SET of the next waiter overtake the release. Where a master is far away, several
// pipelines overlap, and a command waits for the earlier ones of its session alone.
type batcher struct {
	masters *redisMasters
	index   int
	name    string
	client  redis.UniversalClient
	wake    chan struct{} // wakes a worker

	roundTrip atomic.Int64 // the fastest pipeline lately
	slow      atomic.Bool  // it takes longer than slowAnswer

	mu       sync.Mutex
	queue    []*pendingCommand
	calls    []*pipelineCall // in flight
	spare    *pipelineCall   // that has ended, to be used again
	begun    uint64          // pipelines
	workers  int
	parked   int               // workers that wait for wake
	answers  []*pendingCommand // votes to deliver once mu is unlocked
	windows  [2]time.Duration  // the fastest pipeline of this window, and when the window began
	untaught bool              // it does not know the script that releases share
	pending  map[string]*owed  // releases that were not confirmed, by token (release.go)
	health                     // suspect.go
}

// pipelineCall is one pipeline on its way.
type pipelineCall struct {
	number    uint64            // of its batcher's pipelines
	commands  []*pendingCommand // all
	singles   []*pendingCommand // that are sent as they are
	sent      []redis.Cmder     // go-redis' commands
	began     time.Duration
	shared    []shared         // releases that share a script; they come first
	byText    bool             // the master does not know that script
	keys      *keySet          // that it is about, where pipelines overlap
	hello     *redis.StatusCmd // asks which server it is; nil: that is known
	abandoned bool             // another connection answers, this one does not
	refused   error            // the first error that Redis replied with
	graced    bool             // it has had graceFor
}

const (
	// slowAnswer is the round trip from which on pipelines overlap. Below it, a command
	// that waits for the pipeline in flight saves more work than the waiting costs.
	slowAnswer = time.Millisecond
	// eachTakes is what a command adds to the time that its pipeline takes, generously.
	eachTakes = 10 * time.Microsecond
	// slowFor is how often that is judged.
	slowFor = time.Second / 4
	// callsMost is how many pipelines overlap at most.
	callsMost = 8
)

// submit sends a command, or fails it at once if the master is suspect.
func (b *batcher) submit(c *pendingCommand) {
	b.mu.Lock()
	if b.accept(c) {
		b.queue = append(b.queue, c)
		b.watch(b.deadline(c))
		b.nudge()
	}
	b.unlock()
}

// submitAll sends the commands of several callers.
func (b *batcher) submitAll(all []*voteBatch, master int) {
	b.mu.Lock()
	for _, v := range all {
		for i := range v.commands {
			if c := &v.commands[i]; c.master == master && b.accept(c) {
				b.queue = append(b.queue, c)
				b.watch(b.deadline(c))
			}
		}
	}
	b.nudge()
	b.unlock()
}

// unlock delivers the votes that were cast since mu was locked.
func (b *batcher) unlock() {
	answers := b.answers
	b.answers = nil
	tell, report := b.changed && b.masters.onSuspect != nil, MasterHealth{}
	if b.changed = false; tell {
		report = b.report()
	}
	b.mu.Unlock()
	if tell {
		b.masters.onSuspect(report)
	}
	if len(answers) == 0 {
		return
	}
	now := b.masters.now()
	for _, c := range answers {
		c.deliver(now)
	}
	clear(answers)
	b.mu.Lock()
	if b.answers == nil {
		b.answers = answers[:0]
	}
	b.mu.Unlock()
}

// nudge has a worker send what is queued. The caller holds mu.
func (b *batcher) nudge() {
	switch {
	case len(b.queue) == 0 || b.state == suspect || b.state == closed || len(b.calls) >= b.limit():
	case b.parked == 0 && b.workers < b.limit():
		b.workers++
		b.masters.goroutines.Add(1)
		go b.work()
	default:
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// limit is how many pipelines may be in flight.
func (b *batcher) limit() int {
	if b.slow.Load() {
		return callsMost
	}
	return 1
}

// work sends one pipeline after the other. It ends with the masters, or when its
// pipeline is abandoned.
func (b *batcher) work() {
	defer b.masters.goroutines.Done()
	for {
		b.mu.Lock()
		call := b.next()
		if call == nil {
			b.parked++
			b.unlock()
			select {
			case <-b.wake:
			case <-b.masters.life.Done():
				return
			}
			runtime.Gosched() // callers that are ready to run share the pipeline
			b.mu.Lock()
			b.parked--
			b.mu.Unlock()
			continue
		}
		b.nudge() // other workers may send what this one left
		b.unlock()
		replicas := b.send(call)
		b.mu.Lock()
		b.finish(call, replicas)
		abandoned := call.abandoned
		if !abandoned {
			call.reset()
			b.spare = call
		}
		b.unlock()
		if abandoned {
			return
		}
		runtime.Gosched() // callers that these votes woke share the next pipeline
	}
}

// next takes what is queued into a pipeline. Where pipelines overlap, commands wait for
// those about the same key that are in flight. The caller holds mu.
func (b *batcher) next() *pipelineCall {
	if len(b.queue) == 0 || b.state == suspect || b.state == closed || len(b.calls) >= b.limit() {
		return nil
	}
	call := b.spare
	if b.spare = nil; call == nil {
		call = &pipelineCall{}
	}
	b.begun++
	call.number, call.byText, call.began = b.begun, b.untaught, b.masters.now()
	overlaps := b.slow.Load()
	if overlaps {
		for _, other := range b.calls {
			if other.keys == nil {
				b.spare = call
				return nil // it began when nothing overlapped
			}
		}
		call.keys = keySets.Get().(*keySet)
	}
	keep := b.queue[:0]
	for _, c := range b.queue {
		switch {
		case c.state == voted && !c.late: // it was given up meanwhile
		case c.exchange().withdrawn && stores(c.batch.cmd.Kind) && c.state == queued:
			b.vote(c, 0, os.ErrDeadlineExceeded)
		case overlaps && b.busy(c.batch.hash):
			keep = append(keep, c)
		default:
			if overlaps {
				call.keys.add(c.batch.hash)
			}
			call.add(c)
		}
	}
	clear(b.queue[len(keep):])
	b.queue = keep
	if len(call.commands) == 0 {
		call.reset()
		b.spare = call
		return nil
	}
	call.hello = b.greeting()
	b.calls = append(b.calls, call)
	return call
}

// busy says that a pipeline in flight is about a key. The caller holds mu.
func (b *batcher) busy(hash uint32) bool {
	return slices.ContainsFunc(b.calls, func(call *pipelineCall) bool { return call.keys.has(hash) })
}

// keySet is a set of keys' hashes. Two keys in one place only make a command wait.
type keySet [256]uint64

func (s *keySet) add(hash uint32)      { s[hash/64%256] |= 1 << (hash % 64) }
func (s *keySet) has(hash uint32) bool { return s[hash/64%256]&(1<<(hash%64)) != 0 }

var keySets = sync.Pool{New: func() any { return new(keySet) }}

// add takes a command into a pipeline.
func (call *pipelineCall) add(c *pendingCommand) {
	e := c.exchange()
	first := e.on != call.number // of its session in this pipeline
	c.last = e.uncertain == 0
	e.on = call.number
	if c.state == queued {
		c.state = inFlight
	}
	if stores(c.batch.cmd.Kind) && !c.counted {
		c.counted = true
		e.stored++
	}
	call.commands = append(call.commands, c)
	if first && c.shareable() {
		call.share(c)
		return
	}
	c.encode()
	call.singles = append(call.singles, c)
}

// reset empties a pipeline that has ended, and keeps its memory.
func (call *pipelineCall) reset() {
	clear(call.commands)
	clear(call.singles)
	clear(call.sent)
	for i := range call.shared {
		call.shared[i].reset()
	}
	if call.keys != nil {
		clear(call.keys[:])
		keySets.Put(call.keys)
	}
	*call = pipelineCall{commands: call.commands[:0], singles: call.singles[:0], sent: call.sent[:0], shared: call.shared[:0]}
}

func (c *pendingCommand) exchange() *exchange { return &c.batch.session.with[c.master] }

// send carries a pipeline out. Where commands ask for it, WAIT follows them; replicas
// is its answer.
func (b *batcher) send(call *pipelineCall) (replicas *redis.StatusCmd) {
	need, patience := 0, time.Duration(0)
	ctx, all := b.masters.life, call.sent[:0]
	if call.hello != nil { // else a release that meets an unknown script would come behind the next SET
		for _, s := range protocol.Scripts {
			all = append(all, redis.NewStatusCmd(ctx, "script", "load", s.Text))
		}
	}
	for i := range call.shared {
		all = append(all, call.shared[i].encode(ctx, call.byText))
	}
	for _, c := range call.singles {
		all = append(all, c)
		if n := c.batch.cmd.Wait; n > 0 {
			need, patience = max(need, n), max(patience, c.batch.timeout)
		}
	}
	if need > 0 { // it must answer before the votes' time is over
		replicas = redis.NewStatusCmd(ctx, "wait", need, max(1, (patience*3/4).Milliseconds()))
		all = append(all, replicas)
	}
	if call.hello != nil {
		all = append(all, call.hello) // last: go-redis looks at the first command's error
	}
	call.sent = all
	pipe := b.client.Pipeline()
	_ = pipe.BatchProcess(ctx, all...)
	// Each command has its own error, but where the connection was refused by Redis
	// (WRONGPASS), go-redis leaves the commands without a reply and without an error.
	if _, err := pipe.Exec(ctx); answered(err) {
		call.refused = err
	}
	return replicas
}

// greeting is what asks a master which server it is. It goes with the first pipeline, and
// with the first after the master was suspect. The caller holds mu.
func (b *batcher) greeting() *redis.StatusCmd {
	if b.greeted {
		return nil
	}
	b.greeted = true
	return redis.NewStatusCmd(b.masters.life, "info", "server")
}

// finish settles the commands of a pipeline that has ended. The caller holds mu.
func (b *batcher) finish(call *pipelineCall, replicas *redis.StatusCmd) {
	if i := slices.Index(b.calls, call); i >= 0 {
		b.calls = slices.Delete(b.calls, i, i+1)
	} else {
		b.abandoned--
	}
	var failure error
	carried := false
	for i := range call.shared {
		s := &call.shared[i]
		for j, c := range s.commands {
			reply, err := s.result(j, call.refused)
			if err != nil && failure == nil {
				failure = err
			}
			carried = carried || serves(err)
			if len(s.commands) > 1 && answered(err) && c.state != voted {
				b.untaught = b.untaught || hasPrefix(err, "NOSCRIPT")
				c.alone = !hasPrefix(err, "NOSCRIPT") // it may be another one that the master refuses
				b.again(c)
				continue
			}
			b.settle(c, reply, err)
		}
	}
	for _, c := range call.singles {
		reply, err := result(c.StatusCmd, call.refused)
		if err != nil && failure == nil {
			failure = err
		}
		carried = carried || serves(err)
		if c.batch.cmd.Wait > 0 && err == nil && reply > 0 && c.batch.cmd.Kind != Release {
			err = confirmed(replicas, c.batch.cmd.Wait)
		}
		b.settle(c, reply, err)
	}
	if carried && call.byText {
		b.untaught = false
	}
	if call.hello != nil && carried {
		if err := b.identify(call.hello); err != nil {
			b.fail(err, call.began)
			return
		}
	}
	switch {
	case carried:
		now := b.masters.now()
		b.timed(now, now-call.began-time.Duration(len(call.commands))*eachTakes)
		b.alive(now)
	case call.abandoned: // what it met is known already
	default:
		b.fail(failure, call.began)
	}
	b.nudge()
}

// confirmed says why too few replicas confirmed a command.
func confirmed(replicas *redis.StatusCmd, need int) error {
	n, err := result(replicas, errors.New("no reply to WAIT"))
	switch {
	case err != nil:
		return err
	case n < int64(need):
		return fmt.Errorf("only %d of %d replicas confirmed it in time", n, need)
	}
	return nil
}

// settle is what one command was answered, or that it was not. The caller holds mu.
func (b *batcher) settle(c *pendingCommand, reply int64, err error) {
	e, kind := c.exchange(), c.batch.cmd.Kind
	lost := unsent(err)
	known := err == nil || lost || answered(err)
	if known && err != nil && c.counted { // it was not carried out
		c.counted = false
		e.stored--
	}
	b.outcome(c, known)
	if o := b.pending[c.batch.cmd.Token]; c.late && o != nil {
		o.busy = false
	}
	switch {
	case hasPrefix(err, "NOSCRIPT") && !c.byText && (kind == Release || c.state != voted && !(kind == Set && e.released)):
		// The master has restarted, or never knew the script: it gets the text.
		c.byText = true
		b.again(c)
		return
	case kind == Release && known && err == nil:
		b.confirm(c, reply)
	case kind == Release && (lost || !known) && c.state == inFlight:
		c.resent = c.resent || !lost // it does no harm to send it again
		b.again(c)
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

// again queues a command once more, before those that came later.
func (b *batcher) again(c *pendingCommand) {
	if c.state == inFlight {
		c.state = queued
	}
	b.queue = slices.Insert(b.queue, 0, c)
}

// vote casts a command's vote. The caller holds mu.
func (b *batcher) vote(c *pendingCommand, reply int64, err error) {
	if err != nil {
		reply, err = 0, b.named(err)
		if c.batch.cmd.Kind == Release {
			b.owe(c)
		}
	}
	c.reply, c.err, c.state = reply, err, voted
	b.answers = append(b.answers, c)
}

// named puts the master's name before an error, once.
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

// timed notes how long a pipeline took. The fastest of a while tells how far away the
// master is: the others may have waited for this machine.
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

// result is a reply as a number: OK is 1, nil is 0. A command without a reply was refused
// with its connection.
func result(cmd *redis.StatusCmd, refused error) (int64, error) {
	text, err := cmd.Result()
	switch {
	case err == nil && text == "OK":
		return 1, nil
	case errors.Is(err, redis.Nil):
		return 0, nil
	case err != nil:
		return 0, err
	case text == "" && refused != nil:
		return 0, refused
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("unexpected reply %.100q", text)
	}
	return n, nil
}

// answered says that an error is a master's answer: it did not carry the command out.
func answered(err error) bool {
	if err == nil {
		return false
	}
	var r redis.Error
	return errors.As(err, &r) && !errors.Is(err, redis.Nil)
}

// serves says that a reply shows a master that serves commands: an error is about one
// command alone.
func serves(err error) bool {
	return err == nil || hasPrefix(err, "NOSCRIPT") || hasPrefix(err, "WRONGTYPE") || hasPrefix(err, "CROSSSLOT")
}

func hasPrefix(err error, prefix string) bool {
	return err != nil && strings.HasPrefix(err.Error(), prefix)
}
