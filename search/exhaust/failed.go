package exhaust

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"lockpick/checker"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/workload"
)

// A call of a lock that blocks or computes forever without waiting through its runtime stops virtual time. A
// run is abandoned after world.StandstillLooks checks, with this real time between them: most runs take a few
// milliseconds.
var standstillEvery = world.StandstillEvery

// failedCall is a call of the lock that did not return, or that panicked.
type failedCall struct {
	op     history.Op
	judged checker.Property // the violated property: Returns or NoCrash
	at     time.Duration
	path   []uint8 // path of the run that made the call
	frozen bool    // virtual time stood still, so the run was abandoned
}

// calling is the call of the lock that a client is making.
type calling struct {
	mu        sync.Mutex // giveUp reads the fields from another goroutine
	command   string     // "": none
	from      time.Duration
	goroutine string
}

func (s *calling) begin(command string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.command, s.from = command, now
	if s.goroutine == "" {
		s.goroutine = workload.Goroutine()
	}
}

func (s *calling) now() (command string, from time.Duration, goroutine string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command, s.from, s.goroutine
}

// call calls the client's lock. A panic in f ends the run.
func (c *client) call(command string, f func()) {
	c.calling.begin(command, c.x.now())
	defer c.recover(command)
	f()
	c.calling.begin("", 0) // not deferred: a call that the end of the world unwinds has not returned
}

func (c *client) recover(command string) {
	value := recover()
	if value == nil {
		return
	}
	if world.Raised(value) || c.x.failed.Load() != nil {
		panic(value)
	}
	c.x.failed.Store(&failedCall{judged: checker.NoCrash, at: c.x.now(), op: history.Op{
		Process: c.name, Type: history.Info, F: history.FPanicked, Key: theKey, Error: fmt.Sprint(value),
		Value: &history.Value{Command: command, Evidence: workload.ParseStack(string(debug.Stack())).Evidence()},
	}})
	c.x.stop()
}

// Go runs f concurrently. It recovers panics, because a goroutine of the lock may panic, too.
func (s fixedDelays) Go(f func()) {
	s.Client.Go(func() {
		defer s.c.recover("background")
		f()
	})
}

// AfterFunc runs f after d on the client's clock. It recovers panics of f.
func (s fixedDelays) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return s.Client.AfterFunc(d, func() {
		defer s.c.recover("background")
		f()
	})
}

// toItsEnd runs the execution until it ends or is abandoned. It stores a failed call of the lock in x.failed.
func (x *execution) toItsEnd() error {
	x.clients = make([]*client, x.b.Clients)
	for i := range x.clients {
		x.clients[i] = &client{x: x, number: i + 1, name: fmt.Sprintf("c%d", i+1)}
	}
	over := make(chan error, 1)
	go func() { over <- x.run() }()
	look := time.NewTicker(standstillEvery)
	defer look.Stop()
	still := world.Standstill{Every: standstillEvery}
	for {
		select {
		case err := <-over:
			return x.blame(err)
		case <-look.C:
		}
		if looks, _ := still.Check(0); looks >= world.StandstillLooks {
			return x.giveUp()
		}
	}
}

// blame turns the error of a world that could not end into the failed call that caused it.
func (x *execution) blame(err error) error {
	if stuck := (*world.Stuck)(nil); errors.As(err, &stuck) {
		for _, c := range x.clients {
			if command, from, _ := c.calling.now(); command != "" {
				x.failed.Store(c.hung(command, stuck.At, stuck.At-from, "it waits in virtual time"))
				return nil
			}
		}
	}
	return err
}

// giveUp stores the call that stopped virtual time as failed, and abandons the run, because nothing can end
// such a call.
func (x *execution) giveUp() error {
	for _, c := range x.clients {
		command, from, goroutine := c.calling.now()
		if stack := workload.StackOf(goroutine); command != "" && stack.Blocks() {
			took := world.StandstillLooks * standstillEvery
			f := c.hung(command, from, took, "in real time, as it neither returned nor waited through the runtime: "+stack.Evidence())
			f.frozen = true
			x.failed.Store(f)
			return nil
		}
	}
	return errors.New("a run stood still in real time, and no call of the lock is to blame")
}

func (c *client) hung(command string, at, took time.Duration, evidence string) *failedCall {
	return &failedCall{judged: checker.Returns, at: at, op: history.Op{
		Process: c.name, Type: history.Info, F: history.FHung, Key: theKey,
		Value: &history.Value{Command: command, Took: took, Evidence: evidence},
	}}
}

// callLimit returns the virtual time by which a run must be over, if every call returns within its bound.
func (b *Bounds) callLimit() time.Duration {
	ttl := time.Duration(b.TTL) * b.Tick
	return time.Duration(b.Horizon)*b.Tick + 10*ttl + 10*workload.ReturnBound(ttl, 0)
}

// time returns the run's time. It is constant in a run that was abandoned.
func (x *execution) time() time.Duration {
	if f := x.failed.Load(); f != nil {
		return f.at
	}
	return x.now()
}
