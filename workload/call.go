package workload

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"lockpick/history"
)

// ReturnBound returns how long after its deadline a call of a lock may still return, for a lock with the given TTL that
// waits for a master for at most a time; 0: its default. A call that takes longer is recorded as hung. At its deadline
// an acquire may have a command under way, which is followed by others that undo it: a release, and in a queue a leave.
func ReturnBound(ttl, perMaster time.Duration) time.Duration {
	return max(ttl, 5*time.Second, 4*perMaster)
}

// overdueSteps is the number of steps into which ReturnBound is divided. If the machine stands
// still, or the nemesis has stopped the client, only one step passes without the client's
// fault.
const overdueSteps = 10

// These are the commands of calls that are not commands of votes.
const (
	commandAcquire    = "acquire"
	commandWrite      = "write"
	commandNew        = "new"        // making the lock
	commandClose      = "close"      // closing the lock
	commandBackground = "background" // the background work of the lock
)

// calls is the state of a client's current call of its lock.
type calls struct {
	mu        sync.Mutex
	count     int // number of the current call
	command   string
	key       string
	from      time.Duration // beginning of the call, in time of the run
	stalled   time.Duration // total time for which the recorder had delayed its callers before the call
	behind    time.Duration // by how much the clocks of the client's process had fallen behind before the call
	excused   time.Duration // additional time that the call may take, because the lock did not cause the delay
	under     bool          // a call is in progress
	stop      func() bool   // stops the check of overdue calls
	hung      bool          // the call is recorded as hung
	left      bool          // the phase no longer waits for the client
	ended     bool          // the client's process was ended because a call hung
	doomed    bool          // the lock has panicked: the client's life is over
	panics    map[string]bool
	goroutine string // name of the client's goroutine
	phase     *phase // the phase in which the client takes part
	close     bool   // the client closes its lock when it leaves its phase: the workload was closed meanwhile
}

// in makes a call of the client's lock. It returns false if the lock has panicked, which ends
// the client's life. If a call has not returned ReturnBound after its limit, it is recorded as
// hung, and its phase does not wait for the client until the call returns.
func (c *client) in(command, key string, limit time.Duration, call func()) (alive bool) {
	return c.inUntil(command, key, limit, func() {}, call)
}

// inUntil does the same as in, and calls atLimit if the call has not returned at its limit.
func (c *client) inUntil(command, key string, limit time.Duration, atLimit, call func()) (alive bool) {
	c.callBegins(command, key, limit, atLimit)
	defer func() {
		if value := recover(); value != nil {
			c.panicked(command, key, value)
		}
		alive = c.callEnds()
	}()
	call()
	return true
}

func (c *client) callBegins(command, key string, limit time.Duration, atLimit func()) {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.calls.count++
	n := c.calls.count
	c.calls.command, c.calls.key, c.calls.from, c.calls.under = command, key, c.w.since(c.w.runtime.Now()), true
	c.calls.stalled, c.calls.behind, c.calls.excused = c.w.recorder.Stalled(), behind(c.lock), 0
	c.calls.stop = c.w.runtime.AfterFunc(limit, func() {
		atLimit()
		c.overdue(n, overdueSteps)
	})
}

// callEnds ends a call, and reports whether the client is still alive.
func (c *client) callEnds() (alive bool) {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.calls.stop()
	if c.calls.left {
		c.calls.phase.back()
	}
	c.calls.under, c.calls.hung, c.calls.left = false, false, false
	return !c.calls.doomed
}

// overdue is called when a call has not returned at its limit, and again after each step of the
// bound. A stopped client gets the whole bound again. Every client gets additional time for the
// delay by the recorder, because the harness caused it and not the lock. A process also gets
// the time by which its clocks have fallen behind, because it measures its timeouts by them.
func (c *client) overdue(number, left int) {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	if !c.calls.under || c.calls.count != number || c.calls.hung {
		return
	}
	if c.w.Pauses.stopped(c.name) {
		left = overdueSteps
	}
	if left > 0 {
		c.calls.stop = c.w.runtime.AfterFunc(ReturnBound(c.w.config.TTL, c.w.config.Timeout)/overdueSteps, func() { c.overdue(number, left-1) })
		return
	}
	late := c.w.recorder.Stalled() - c.calls.stalled + behind(c.lockNow()) - c.calls.behind
	if more := late - c.calls.excused; more > 0 {
		c.calls.excused += more
		c.calls.stop = c.w.runtime.AfterFunc(more, func() { c.overdue(number, 0) })
		return
	}
	took := c.w.since(c.w.runtime.Now()) - c.calls.from
	if p, ok := c.lockNow().(Process); ok {
		c.recordHung(took, "its process is alive and has not answered")
		c.calls.ended = true
		p.Kill() // the client restarts
		return
	}
	c.recordHung(took, StackOf(c.calls.goroutine).Evidence())
	if c.calls.phase != nil {
		c.calls.left = true
		c.calls.phase.leave()
	}
}

// behind returns by how much the clocks of a client's process have fallen behind true time.
func behind(l Lock) time.Duration {
	if p, ok := l.(interface{ Behind() time.Duration }); ok {
		return p.Behind()
	}
	return 0
}

// recordHung records that the current call has not returned. The caller holds calls.mu.
func (c *client) recordHung(took time.Duration, evidence string) {
	c.calls.hung = true
	c.w.record(history.Op{Process: c.name, Type: history.Info, F: history.FHung, Key: c.calls.key,
		Value: &history.Value{Command: c.calls.command, Took: took, Evidence: evidence}})
}

// lockNow returns the client's lock. It is for other goroutines than the client's own.
func (c *client) lockNow() Lock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lock
}

// panicked records that the lock panicked, and ends the client's life. It does not recover a
// panic of the harness.
func (c *client) panicked(command, key string, value any) {
	if own := c.w.config.OwnPanic; own != nil && own(value) {
		panic(value)
	}
	text := fmt.Sprint(value)
	v := &history.Value{Command: command}
	c.calls.mu.Lock()
	c.calls.doomed = true
	if where := command + text; !c.calls.panics[where] { // record each stack only once
		if c.calls.panics == nil {
			c.calls.panics = map[string]bool{}
		}
		c.calls.panics[where] = true
		v.Evidence = ParseStack(string(debug.Stack())).Evidence()
	}
	c.calls.mu.Unlock()
	c.w.record(history.Op{Process: c.name, Type: history.Info, F: history.FPanicked, Key: key, Value: v, Error: text})
}

// crashed reports whether the lock has panicked, or its process was ended because it hung, and
// returns the recorded reason for the client's end. It is called once for each end.
func (c *client) crashed() error {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	doomed, ended := c.calls.doomed, c.calls.ended
	c.calls.doomed, c.calls.ended = false, false
	switch {
	case doomed:
		return errPanicked
	case ended:
		return errHung
	}
	return nil
}

var (
	errPanicked = errors.New("the lock panicked")
	errHung     = errors.New("its process hung, and was ended")
	errNeither  = errors.New("the lock returned neither a lease nor an error")
)

// limit returns how long a call without a deadline of its own may take: twice the timeout of
// each master and a second, by the client's clock.
func (c *client) limit() time.Duration {
	per := c.w.config.Timeout
	if per == 0 {
		per = min(c.w.config.TTL/20, 50*time.Millisecond)
	}
	masters := len(c.env.Addrs)
	if c.env.Masters != nil {
		masters = len(c.env.Masters.Names())
	}
	c.mu.Lock()
	rate := min(rateOf(c.confirmedClock), 1)
	c.mu.Unlock()
	return time.Duration(float64(2*masters)*float64(per)/rate) + time.Second
}

// guarded is the runtime of a client's lock. It also catches panics of the lock's background
// work.
type guarded struct {
	*Clock
	c *client
}

// Go runs f concurrently with its caller.
func (g guarded) Go(f func()) { g.Clock.Go(func() { g.run(f) }) }

// AfterFunc runs f after d on the client's clock.
func (g guarded) AfterFunc(d time.Duration, f func()) func() bool {
	return g.Clock.AfterFunc(d, func() { g.run(f) })
}

func (g guarded) run(f func()) {
	defer func() {
		if value := recover(); value != nil {
			g.c.panicked(commandBackground, "", value)
		}
	}()
	f()
}

// Stuck describes a call that has not returned in a simulation that stands still.
type Stuck struct {
	Client, Command, Key string
	Call                 int // number of the client's call
	Stack                Stack
}

// Stuck finds the calls of locks that have not returned and that are not waiting through their
// runtime. It is for a program that notices that a simulation stands still. It records nothing.
func (w *Workload) Stuck() []Stuck {
	var stuck []Stuck
	for _, c := range w.clients {
		c.calls.mu.Lock()
		s := Stuck{Client: c.name, Command: c.calls.command, Key: c.calls.key, Call: c.calls.count}
		under, goroutine := c.calls.under, c.calls.goroutine
		c.calls.mu.Unlock()
		if !under {
			continue
		}
		if s.Stack = StackOf(goroutine); s.Stack.Blocks() {
			stuck = append(stuck, s)
		}
	}
	return stuck
}

// RecordStuck records a call that Stuck found as hung. took is in real time, because no virtual
// time passes while a simulation stands still.
func (w *Workload) RecordStuck(s Stuck, took time.Duration) {
	w.record(history.Op{Process: s.Client, Type: history.Info, F: history.FHung, Key: s.Key, Value: &history.Value{
		Command: s.Command, Took: took,
		Evidence: "in real time, as it neither returned nor waited through the runtime: " + s.Stack.Evidence(),
	}})
}

// phase is a part of the run that ends when all clients have done their work in it. A client
// that hangs does not delay the end.
type phase struct {
	mu   sync.Mutex
	left int // number of clients that are still working
	end  context.CancelCauseFunc
}

func (s *phase) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		s.end(errAllDone)
	}
}

func (s *phase) back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
}

// all runs f for every client and waits for them. It waits by sleeping on a context and not on
// a channel, so that virtual time can pass meanwhile. Clients that still hang in an earlier
// phase, or have no lock any more, do not take part.
func (w *Workload) all(f func(*client)) { w.each(w.clients, f) }

// each does the same as all, for some of the clients.
func (w *Workload) each(clients []*client, f func(*client)) {
	done, end := w.runtime.WithCancelCause(context.Background())
	s := &phase{end: end}
	var able []*client
	for _, c := range clients {
		if c.enter(s) {
			able = append(able, c)
		}
	}
	if len(able) == 0 {
		return
	}
	s.left = len(able)
	w.setPhase(s)
	for _, c := range able {
		w.runtime.Go(func() {
			goroutine := w.goroutine()
			c.calls.mu.Lock()
			c.calls.goroutine = goroutine
			c.calls.mu.Unlock()
			defer c.exit(s)
			f(c)
		})
	}
	for w.runtime.Sleep(done, sleepStep) == nil {
	}
}

func (w *Workload) setPhase(s *phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = s
}

// Abandon ends the current phase without waiting for the clients.
func (w *Workload) Abandon() {
	w.mu.Lock()
	s := w.phase
	w.mu.Unlock()
	if s != nil {
		s.end(errAllDone)
	}
}

// enter makes a client part of a phase. It returns false if the client cannot take part.
func (c *client) enter(s *phase) bool {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	if c.calls.phase != nil || c.calls.close || c.out {
		return false
	}
	c.calls.phase = s
	return true
}

// exit ends a client's part in a phase.
func (c *client) exit(s *phase) {
	c.calls.mu.Lock()
	c.calls.phase = nil
	closes := c.calls.close
	c.calls.mu.Unlock()
	if closes {
		defer func() {
			if value := recover(); value != nil {
				c.panicked(commandClose, "", value)
			}
		}()
		_ = c.lockNow().Close() // the run is over: nobody waits for an error
	}
	s.leave()
}

// closesLater has a client that still hangs in a call close its lock as soon as that call has returned. A process is killed,
// so that it returns at once: it may wait for a lease of hours, and would outlive the run.
func (c *client) closesLater() {
	c.calls.mu.Lock()
	c.calls.close = c.calls.phase != nil && !c.out
	hangs := c.calls.close
	c.calls.mu.Unlock()
	if p, ok := c.lockNow().(Process); ok && hangs {
		p.Kill()
	}
}

// closing reports whether the run was over while the client was in a call.
func (c *client) closing() bool {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.calls.close
}
