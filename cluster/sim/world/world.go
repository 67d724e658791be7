package world

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Epoch is the time at which every world begins. It is so far from the present that a time of the
// real clock in a world is conspicuous.
var Epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// World runs a program in virtual time, in which everything follows from one seed. It belongs to
// the goroutine that calls Run. Nothing in it is safe for concurrent use, and nothing needs to be,
// because its coroutines take turns.
type World struct {
	// Limit is the virtual time since Epoch at which Run gives up; 0: never.
	Limit time.Duration
	// Strategy may change the order of events; nil: random.
	Strategy Strategy
	// Search decides what happens first; nil: random. It excludes a Strategy.
	Search Search
	// Spares is what a Pool keeps for the next world besides the parts of this one; nil: nothing.
	Spares Spares

	seed    uint64
	choices Choices
	now     int64 // ns since Epoch
	steps   int64
	queue   queue
	who     []int // the processes of the events that are due, for the Strategy

	current  *Coroutine // nil during an event that is not a coroutine's
	counting bool       // the function of a taker processes a vote, and the taker was not woken
	living   int        // number of coroutines that run something
	all      []*Coroutine
	idle     []*Coroutine // coroutines that have nothing to run
	kept     []*Coroutine // coroutines from the pool, until they are used, and at the end those for the pool
	keeps    bool         // coroutines are kept for a pool
	failure  error
	began    bool
	over     bool // all coroutines are being unwound

	clients map[string]*Client
	root    *Client // true time, for the harness and the nemesis
	foreign []*Coroutine

	here    *Client // with a Search: the client to whose process something happens now
	choice  []Due
	scratch []byte
	adopted []*Context
}

// New makes a world in which every choice is drawn from seed.
func New(seed uint64) *World { return NewOf(seed, NewRandom(seed)) }

// NewOf makes a world whose choices c makes. The seed only names the run in reports.
func NewOf(seed uint64, c Choices) *World {
	w := &World{}
	w.init(seed, c)
	return w
}

func (w *World) init(seed uint64, c Choices) {
	w.seed, w.choices, w.clients = seed, c, map[string]*Client{}
	w.root = newClient(w, "")
}

// Seed returns the seed of the world.
func (w *World) Seed() uint64 { return w.seed }

// Elapsed returns the true time since Epoch.
func (w *World) Elapsed() time.Duration { return time.Duration(w.now) }

// Now returns the true time in ns since Epoch.
func (w *World) Now() int64 { return w.now }

// Steps returns the number of events so far, messages included.
func (w *World) Steps() int64 { return w.steps }

// Panic is the error of Run after a panic in the world.
type Panic struct {
	Seed  uint64
	At    time.Duration // since Epoch
	Who   string        // name of the coroutine
	Value any           // value of the panic
	Stack string
}

// Error contains the seed, which is necessary to reproduce the panic.
func (p *Panic) Error() string {
	return fmt.Sprintf("simulation with seed %d: panic at %v in %s: %v\n%s", p.Seed, p.At, p.Who, p.Value, p.Stack)
}

// Unwrap returns the value, if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// ErrDeadlock says that some coroutines wait, and that no event can wake them.
var ErrDeadlock = errors.New("deadlock: nothing can happen any more")

// ErrLimit says that the world had not ended by its Limit.
var ErrLimit = errors.New("not ended within the limit of virtual time")

// Stuck is the error of Run if a world did not reach its end.
type Stuck struct {
	Kind    error // ErrDeadlock or ErrLimit
	Seed    uint64
	At      time.Duration // since Epoch
	Waiting []string      // which coroutines wait, since when and for what
}

// Error lists the coroutines that wait.
func (s *Stuck) Error() string {
	return fmt.Sprintf("simulation with seed %d: %v at %v; waiting:\n\t%s", s.Seed, s.Kind, s.At, strings.Join(s.Waiting, "\n\t"))
}

// Unwrap returns the kind.
func (s *Stuck) Unwrap() error { return s.Kind }

// Run runs f as the first coroutine, and returns when f and all coroutines that it started have
// ended. Messages and timers that are in flight then never happen. The error is a *Panic or a
// *Stuck, or that of Stop. Coroutines that have not ended then are unwound: their deferred
// functions run, but cannot wait. A world runs once.
func (w *World) Run(f func()) error {
	if w.began {
		panic("sim: a World runs once: make a new one")
	}
	w.began = true
	defer w.unwind()
	w.spawn(w.root, f)
	w.loop()
	return w.failure
}

func (w *World) loop() {
	limit := int64(w.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	q := &w.queue
	for w.living > 0 && w.failure == nil {
		if len(q.due) == 0 {
			at, one, ok := q.advance(w.now)
			if !ok {
				w.failure = w.stuck(ErrDeadlock)
				return
			}
			if at > limit {
				w.now = limit
				w.failure = w.stuck(ErrLimit)
				return
			}
			w.now = at
			if one != nil {
				w.fire(one)
				continue
			}
		}
		i := 0
		if len(q.due) > 1 {
			if q.prune(); len(q.due) > 1 {
				i = w.next()
			} else if len(q.due) == 0 {
				continue
			}
		} else if q.due[0].stale() {
			q.due = q.due[:0]
			continue
		}
		w.fire(q.take(i))
	}
}

func (w *World) fire(e *Event) {
	w.steps++
	if w.Search != nil {
		w.observe(e)
	}
	e.Do.Fire()
	if len(w.foreign)+len(w.adopted) > 0 {
		w.poll()
	}
}

// next chooses one of several events that are due.
func (w *World) next() int {
	due := w.queue.due
	if w.Search != nil {
		return w.search()
	}
	if w.Strategy == nil {
		return w.choices.Intn(len(due), WhatNext)
	}
	w.who = w.who[:0]
	for _, x := range due {
		w.who = append(w.who, x.event.who)
	}
	return w.Strategy.Next(w.choices, w.who)
}

// After schedules an event after d.
func (w *World) After(d time.Duration, e *Event) {
	w.queue.schedule(w.now, w.now+int64(max(d, 0)), e)
}

// At schedules an event for the true time t, in ns since Epoch, or for now if that is past.
func (w *World) At(t int64, e *Event) { w.queue.schedule(w.now, max(t, w.now), e) }

// Cancel cancels an event. It reports whether the event was scheduled.
func (w *World) Cancel(e *Event) bool { return w.queue.cancel(e) }

func (w *World) stuck(kind error) *Stuck {
	s := &Stuck{Kind: kind, Seed: w.seed, At: w.Elapsed()}
	for _, c := range w.all {
		if c.run != nil {
			s.Waiting = append(s.Waiting, c.String())
		}
	}
	return s
}

// unwind ends every coroutine, the youngest first. It keeps idle coroutines for the pool, if there
// is one.
func (w *World) unwind() {
	w.over = true
	for _, c := range slices.Backward(w.all) {
		if w.keeps && c.run == nil {
			continue
		}
		w.current = c
		c.stop()
	}
	w.current = nil
	if w.keeps {
		w.kept = append(w.kept, w.idle...)
	}
	clear(w.all)
	clear(w.idle)
	w.all, w.idle = w.all[:0], w.idle[:0]
}
