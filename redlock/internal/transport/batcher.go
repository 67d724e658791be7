package transport

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/redlock/protocol"

	"github.com/redis/go-redis/v9"
)

// batcher sends the commands of all goroutines to one master. It sends the command of a
// lone caller immediately. It sends commands that arrive while a pipeline is in flight
// together in the next pipeline, so that many callers share one write and one read.
//
// With one pipeline at a time, commands keep their order: a release never overtakes its
// SET, and the SET of the next waiter never overtakes the release. If the round trip is
// long, several pipelines overlap, and a command only waits for pipelines with commands
// about the same key.
type batcher struct {
	masters *Masters
	index   int
	name    string
	client  redis.UniversalClient
	wake    chan struct{} // wakes a worker

	roundTrip atomic.Int64 // duration of the fastest recent pipeline, ns
	slow      atomic.Bool  // roundTrip is more than slowAnswer

	mu      sync.Mutex
	queue   []*pendingCommand
	calls   []*pipelineCall            // in flight
	spare   *pipelineCall              // has ended; the next pipeline reuses its memory
	flying  [slots]int                 // number of commands in flight, by a hash of their key
	begun   uint64                     // number of pipelines that have begun
	workers int                        // goroutines that send pipelines
	parked  int                        // workers that wait for wake
	answers []*pendingCommand          // votes to deliver once mu is unlocked
	windows [2]time.Duration           // the fastest pipeline of this window, and the start of the window
	byText  bool                       // the master does not know the script of several releases by its hash
	pending map[string]*pendingRelease // releases that were not confirmed, by token (release.go)
	health                             // suspect.go
}

const (
	// slowAnswer is the round trip above which pipelines overlap. Below it, waiting for the
	// pipeline in flight costs less than the additional pipelines would.
	slowAnswer = time.Millisecond
	// eachTakes is an upper estimate of the time that a command adds to its pipeline. It is
	// subtracted from the measured round trip.
	eachTakes = 10 * time.Microsecond
	// slowFor is how often the round trip is measured anew.
	slowFor = time.Second / 4
	// callsMost is the greatest number of pipelines in flight.
	callsMost = 8
	// slots is the size of batcher.flying. Keys that share a slot only wait for each other.
	slots = 1 << 14
)

// submit queues a command and wakes a worker, or fails the command at once if the master is
// suspect.
func (b *batcher) submit(c *pendingCommand) {
	b.mu.Lock()
	if b.accept(c) {
		b.queue = append(b.queue, c)
		b.setAlarm(b.deadline(c))
		b.wakeWorker()
	}
	b.unlock()
}

// submitAll does the same for the commands of several callers.
func (b *batcher) submitAll(all []*voteBatch, master int) {
	b.mu.Lock()
	for _, v := range all {
		for i := range v.commands {
			if c := &v.commands[i]; c.master == master && b.accept(c) {
				b.queue = append(b.queue, c)
				b.setAlarm(b.deadline(c))
			}
		}
	}
	b.wakeWorker()
	b.unlock()
}

// unlock unlocks mu, and then calls the hook if the state has changed and delivers the
// votes that were cast while mu was locked.
func (b *batcher) unlock() {
	var answers []*pendingCommand
	if len(b.answers) > 0 {
		answers, b.answers = b.answers, nil
	}
	hook, report := b.changed && b.masters.onSuspect != nil, protocol.MasterHealth{}
	if b.changed = false; hook {
		report = b.report()
	}
	b.mu.Unlock()
	if hook {
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

// wakeWorker makes a worker send the queue, and starts one if necessary. The caller
// holds mu.
func (b *batcher) wakeWorker() {
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

// limit returns how many pipelines may be in flight.
func (b *batcher) limit() int {
	if b.slow.Load() {
		return callsMost
	}
	return 1
}

// work sends one pipeline after the other, until the masters are closed or its pipeline is
// abandoned.
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
			runtime.Gosched() // so that callers that are ready to run share the pipeline
			b.mu.Lock()
			b.parked--
			b.mu.Unlock()
			continue
		}
		b.wakeWorker() // another worker may send the rest of the queue
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
		runtime.Gosched() // so that callers that these votes woke share the next pipeline
	}
}

// next makes a pipeline of queued commands, or returns nil if there is nothing to send now.
// If pipelines overlap, a command stays queued while one about the same key is in flight.
// The caller holds mu.
func (b *batcher) next() *pipelineCall {
	if len(b.queue) == 0 || b.state == suspect || b.state == closed || len(b.calls) >= b.limit() {
		return nil
	}
	call := b.spare
	if b.spare = nil; call == nil {
		call = &pipelineCall{}
	}
	b.begun++
	call.number, call.byText, call.began = b.begun, b.byText, b.masters.now()
	keep := b.queue[:0]
	for _, c := range b.queue {
		switch {
		case c.state == voted && !c.late: // its deadline has passed: it is not sent
		case c.exchange().withdrawn && stores(c.batch.cmd.Purpose) && c.state == queued:
			b.vote(c, 0, os.ErrDeadlineExceeded)
		case b.flying[c.batch.slot] > 0:
			keep = append(keep, c)
		default:
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
	b.fly(call, 1)
	return call
}

// fly counts the commands of a pipeline in flight by the slots of their keys. The caller
// holds mu.
func (b *batcher) fly(call *pipelineCall, change int) {
	for _, c := range call.commands {
		b.flying[c.batch.slot] += change
	}
}
