package exhaust

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"lockpick/checker"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/workload"
)

// A call of a lock that blocks or computes for ever without waiting through its runtime stops
// virtual time. A run is given up after so many looks at it, that far apart in real time: most
// runs take a few milliseconds. They are counted, so that a machine that was suspended loses
// only one of them.
var (
	standstillLooks = 20
	standstillEvery = 500 * time.Millisecond
)

// failedCall is a call of the lock that did not return, or that panicked.
type failedCall struct {
	op     history.Op
	judged checker.Property // that it violates
	at     time.Duration
	path   []uint8 // of the run that came to it
	frozen bool    // virtual time stood still: the run was left to itself
}

// calling is the call of the lock that a client makes now.
type calling struct {
	mu        sync.Mutex // whoever gives the run up reads it
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

// call makes a call of the client's lock. A panic in it ends the run.
func (c *client) call(command string, f func()) {
	c.calling.begin(command, c.x.now())
	defer c.recover(command)
	f()
	c.calling.begin("", 0) // not deferred: who is unwound at the end of the world has not returned
}

func (c *client) recover(command string) {
	value := recover()
	if value == nil {
		return
	}
	if sim.Raised(value) || c.x.failed.Load() != nil {
		panic(value)
	}
	c.x.failed.Store(&failedCall{judged: checker.NoCrash, at: c.x.now(), op: history.Op{
		Process: c.name, Type: history.Info, F: history.FPanicked, Key: theKey, Error: fmt.Sprint(value),
		Value: &history.Value{Command: command, Evidence: workload.ParseStack(string(debug.Stack())).Evidence()},
	}})
	c.x.stop()
}

// Go runs f beside its caller: what the lock has running by itself may panic, too.
func (s fixedDelays) Go(f func()) {
	s.Client.Go(func() {
		defer s.c.recover("background")
		f()
	})
}

// AfterFunc runs f after d of the client's clock.
func (s fixedDelays) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return s.Client.AfterFunc(d, func() {
		defer s.c.recover("background")
		f()
	})
}

// toItsEnd runs the execution. A call of the lock that failed is in x.failed.
func (x *execution) toItsEnd() error {
	x.clients = make([]*client, x.b.Clients)
	for i := range x.clients {
		x.clients[i] = &client{x: x, number: i + 1, name: fmt.Sprintf("c%d", i+1)}
	}
	over := make(chan error, 1)
	go func() { over <- x.run() }()
	look := time.NewTicker(standstillEvery)
	defer look.Stop()
	for range standstillLooks {
		select {
		case err := <-over:
			return x.blame(err)
		case <-look.C:
		}
	}
	return x.giveUp()
}

// blame finds the call for which the world did not come to its end.
func (x *execution) blame(err error) error {
	if stuck := (*sim.Stuck)(nil); errors.As(err, &stuck) {
		for _, c := range x.clients {
			if command, from, _ := c.calling.now(); command != "" {
				x.failed.Store(c.hung(command, stuck.At, stuck.At-from, "it waits in virtual time"))
				return nil
			}
		}
	}
	return err
}

// giveUp finds the call that stopped virtual time, and leaves the run to itself: nothing can end
// such a call.
func (x *execution) giveUp() error {
	for _, c := range x.clients {
		command, from, goroutine := c.calling.now()
		if stack := workload.StackOf(goroutine); command != "" && stack.Blocks() {
			took := time.Duration(standstillLooks) * standstillEvery
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

// callLimit is when a run has to be over, in virtual time: every call returns within its bound.
func (b *Bounds) callLimit() time.Duration {
	ttl := time.Duration(b.TTL) * b.Tick
	return time.Duration(b.Horizon)*b.Tick + 10*ttl + 10*workload.ReturnBound(ttl)
}

// time is the run's time. In a run that was left to itself it stands still.
func (x *execution) time() time.Duration {
	if f := x.failed.Load(); f != nil {
		return f.at
	}
	return x.now()
}
