package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// coroutine runs functions in turn with other coroutines. It is an iter.Pull over an iterator
// that yields whenever the function has to wait. That costs a tenth of a switch between
// goroutines and is deterministic.
type coroutine struct {
	world *World
	id    int
	born  int64   // number of coroutines that its owner had started before
	owner *Client // the process to which it belongs
	run   func()  // nil: none at present
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	wake   event // lets it continue
	timer  timer // the timer of Sleep
	waits  string
	since  int64
	parked bool   // it waits, and no event has told it to continue
	stack  string // the stack of its panic, if the panic began in other code

	goroutine string // name of its goroutine; empty until Goroutine is called

	ctx        *Context // a context whose end wakes it; nil: none
	other      stopper  // the same for a context of another type
	prev, succ *coroutine
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
	var c *coroutine
	if n := len(w.idle); n > 0 {
		c, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		c = w.newCoroutine()
		c.world, c.id = w, len(w.all)+1
		c.wake.do, c.wake.who = c, c.id
		c.timer.event.do, c.timer.event.who, c.timer.sleeper = &c.timer, c.id, c
		w.all = append(w.all, c)
	}
	c.owner, c.run, c.born = owner, f, owner.started
	owner.started++
	c.waits, c.since, c.parked = "its turn to begin", w.now, true
	c.wakeUp()
}

// newCoroutine returns a coroutine that runs nothing yet.
func (w *World) newCoroutine() *coroutine {
	if n := len(w.kept); n > 0 {
		c := w.kept[n-1]
		w.kept = w.kept[:n-1]
		return c
	}
	c := &coroutine{}
	c.next, c.stop = iter.Pull(c.live)
	return c
}

// live runs one function after the other, and waits between them.
func (c *coroutine) live(yield func(struct{}) bool) {
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

// fire lets the coroutine continue. It is the event of its wake-up.
func (c *coroutine) fire() {
	w := c.world
	if c.owner.paused {
		c.owner.defers(&c.wake)
		return
	}
	w.resume(c)
}

func (w *World) resume(c *coroutine) {
	w.current = c
	c.next()
	w.current = nil
}

// wakeUp lets a waiting coroutine continue in its turn, later in this instant.
func (c *coroutine) wakeUp() {
	if c.parked {
		c.parked = false
		c.world.after(c.stall(), &c.wake)
	}
}

// proceed lets a waiting coroutine continue immediately if an event calls it as its last act,
// otherwise in its turn.
func (c *coroutine) proceed() {
	if !c.parked {
		return
	}
	if c.world.current != nil { // another coroutine called proceed, as when it resets a link, and continues first
		c.wakeUp()
		return
	}
	c.parked = false
	if d := c.stall(); d > 0 {
		c.world.after(d, &c.wake)
		return
	}
	c.world.resume(c)
}

func (c *coroutine) stall() time.Duration {
	if s := c.world.Strategy; s != nil && c.run != nil {
		return s.Stall(c.world.choices, c.id)
	}
	return 0
}

// park waits until an event tells the coroutine to continue. what names the event for
// reports.
func (c *coroutine) park(what string) {
	c.waits, c.since, c.parked = what, c.world.now, true
	if c.world.over || !c.yield(struct{}{}) {
		panic(errOver)
	}
	c.parked = false
}

// running returns the current coroutine. Code outside of coroutines must not wait.
func (w *World) running(what string) *coroutine {
	if w.counting {
		panic("sim: " + what + " in a loop over votes: take the votes, and wait after it")
	}
	if w.current == nil {
		panic("sim: " + what + " outside of a coroutine: only what World.Run and Runtime.Go run can wait")
	}
	return w.current
}

func (c *coroutine) name() string {
	if c.owner != nil && c.owner.name != "" {
		return fmt.Sprintf("coroutine %d of %s", c.id, c.owner.name)
	}
	return fmt.Sprintf("coroutine %d", c.id)
}

// String returns the name of the coroutine, the start of its wait, and the event for which it
// waits.
func (c *coroutine) String() string {
	return fmt.Sprintf("%s, since %v, for %s", c.name(), time.Duration(c.since), c.waits)
}
