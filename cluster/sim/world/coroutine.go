package world

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// Coroutine runs functions in turn with other coroutines. It is an iter.Pull over an iterator
// that yields whenever the function has to wait. That costs a tenth of a switch between
// goroutines and is deterministic.
type Coroutine struct {
	world *World
	id    int
	born  int64   // number of coroutines that its owner had started before
	owner *Client // the process to which it belongs
	run   func()  // nil: none at present
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	wake   Event // lets it continue
	timer  Timer // the timer of Sleep
	waits  string
	since  int64
	parked bool   // it waits, and no event has told it to continue
	broke  any    // a panic in InPlace, which it raises when it continues
	stack  string // the stack of that panic

	goroutine string // name of its goroutine; empty until Goroutine is called

	ctx        *Context // a context whose end wakes it; nil: none
	other      stopper  // the same for a context of another type
	prev, succ *Coroutine
}

// stopper is the part of a context that a sleeper needs.
type stopper interface{ Err() error }

// errOver unwinds the coroutines that have not ended when the world ends. Goexit would unwind
// the goroutine that runs the world, too.
var errOver = fmt.Errorf("sim: the world is over")

// spawn runs f concurrently with everything else, from this instant on.
func (w *World) spawn(owner *Client, f func()) {
	if w.over {
		return
	}
	w.living++
	var c *Coroutine
	if n := len(w.idle); n > 0 {
		c, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		c = w.newCoroutine()
		c.world, c.id = w, len(w.all)+1
		c.wake.Do, c.wake.who = c, c.id
		c.timer.event.Do, c.timer.event.who, c.timer.sleeper = &c.timer, c.id, c
		w.all = append(w.all, c)
	}
	c.owner, c.run, c.born = owner, f, owner.started
	owner.started++
	c.waits, c.since, c.parked = "its turn to begin", w.now, true
	c.Wake()
}

// newCoroutine returns a coroutine that runs nothing yet.
func (w *World) newCoroutine() *Coroutine {
	if n := len(w.kept); n > 0 {
		c := w.kept[n-1]
		w.kept = w.kept[:n-1]
		return c
	}
	c := &Coroutine{}
	c.next, c.stop = iter.Pull(c.live)
	return c
}

// live runs one function after the other, and waits between them.
func (c *Coroutine) live(yield func(struct{}) bool) {
	deepen(0)
	c.yield = yield
	defer func() {
		r := recover()
		if r == nil || r == errOver {
			return
		}
		if c.world.failure == nil {
			c.world.failure = &Panic{Seed: c.world.seed, At: c.world.Elapsed(), Who: c.name(), Value: r, Stack: c.stack + string(debug.Stack())}
		}
	}()
	for {
		c.run()
		c.run, c.owner = nil, nil
		c.world.living--
		c.world.idle = append(c.world.idle, c)
		if !yield(struct{}{}) {
			return
		}
	}
}

// deepen grows a new coroutine's stack at once, while the stack contains next to nothing that
// has to be moved.
//
//go:noinline
func deepen(at int) byte {
	var room [6 << 10]byte
	return room[at]
}

// Fire lets the coroutine continue. It is the event of its wake-up.
func (c *Coroutine) Fire() {
	w := c.world
	if c.owner.paused {
		c.owner.Defer(&c.wake)
		return
	}
	w.resume(c)
}

func (w *World) resume(c *Coroutine) {
	w.current = c
	c.next()
	w.current = nil
}

// Wake lets a waiting coroutine continue in its turn, later in this instant.
func (c *Coroutine) Wake() {
	if c.parked {
		c.parked = false
		c.world.After(c.stall(), &c.wake)
	}
}

// Proceed lets a waiting coroutine continue immediately if an event calls it as its last act,
// otherwise in its turn.
func (c *Coroutine) Proceed() {
	if !c.parked {
		return
	}
	if c.world.current != nil { // another coroutine called Proceed, as when it resets a link, and continues first
		c.Wake()
		return
	}
	c.parked = false
	if d := c.stall(); d > 0 {
		c.world.After(d, &c.wake)
		return
	}
	c.world.resume(c)
}

func (c *Coroutine) stall() time.Duration {
	if s := c.world.Strategy; s != nil && c.run != nil {
		return s.Stall(c.world.choices, c.id)
	}
	return 0
}

// Wait waits until an event tells the coroutine to continue. what names the event for
// reports.
func (c *Coroutine) Wait(what string) {
	c.waits, c.since, c.parked = what, c.world.now, true
	if c.world.over || !c.yield(struct{}{}) {
		panic(errOver)
	}
	c.parked = false
}

// WaitOn waits like Wait, and also ends when ctx does.
func (c *Coroutine) WaitOn(ctx context.Context, what string) {
	c.attend(ctx)
	c.Wait(what)
	c.leave()
	if broke := c.broke; broke != nil {
		c.broke = nil
		panic(broke)
	}
}

// Idle reports whether an event may call InPlace: the coroutine waits, only an event can end its wait, and
// no other coroutine runs. A Strategy counts how often a process continues, so with a Strategy the
// coroutine must be woken each time.
func (c *Coroutine) Idle() bool {
	w := c.world
	return c.parked && c.other == nil && w.current == nil && w.Strategy == nil
}

// InPlace calls f in place of an idle coroutine, without waking it: usually it would only wait again. f
// must not wait. A panic of f is raised when the coroutine continues from WaitOn.
func (c *Coroutine) InPlace(f func()) {
	w := c.world
	w.counting = true
	defer func() {
		w.counting = false
		if c.broke = recover(); c.broke != nil {
			c.stack = string(debug.Stack())
		}
	}()
	f()
}

// BelongTo makes the coroutine a part of the process of a client, until it waits through another one.
func (c *Coroutine) BelongTo(x *Client) { c.owner = x }

// Current returns the current coroutine; nil if no coroutine runs, or if it cannot wait because the world
// is over.
func (w *World) Current() *Coroutine {
	if w.over {
		return nil
	}
	return w.current
}

// Running returns the current coroutine, for a call that may wait. It panics outside of coroutines, and in a
// loop over votes (InPlace): code there must not wait. what names the call.
func (w *World) Running(what string) *Coroutine {
	if w.counting {
		panic("sim: " + what + " in a loop over votes: take the votes, and wait after it")
	}
	if w.current == nil {
		panic("sim: " + what + " outside of a coroutine: only what World.Run and Runtime.Go run can wait")
	}
	return w.current
}

func (c *Coroutine) name() string {
	if c.owner != nil && c.owner.name != "" {
		return fmt.Sprintf("coroutine %d of %s", c.id, c.owner.name)
	}
	return fmt.Sprintf("coroutine %d", c.id)
}

// String returns the name of the coroutine, the start of its wait, and the event for which it
// waits.
func (c *Coroutine) String() string {
	return fmt.Sprintf("%s, since %v, for %s", c.name(), time.Duration(c.since), c.waits)
}
