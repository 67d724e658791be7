package world

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Live is a world that follows the clock of the package time, for clients that are
// goroutines: it connects what they call to the simulation. In a testing/synctest
// bubble that time is virtual, and passes when all goroutines wait.
//
// Goroutines enter the world one at a time, through Call and Do. All events that are due
// happen before a goroutine enters.
type Live struct {
	*World
	mu    sync.Mutex
	timer *time.Timer
	calls atomic.Int64
	armed int64 // time at which the timer fires; MaxInt64: never
	ended bool
}

// NewLive makes a world that follows the clock from now on. Its random choices follow from
// seed; the order in which goroutines enter it does not.
func NewLive(seed uint64) *Live {
	l := &Live{World: New(seed), armed: math.MaxInt64}
	l.began = true
	l.now = int64(time.Since(Epoch))
	l.root.clock.Set(l.now, l.now, 0)
	return l
}

// Call runs f in the world. It must not wait.
func (l *Live) Call(f func()) {
	l.calls.Add(1)
	l.mu.Lock()
	defer l.leave()
	l.catchUp()
	f()
}

// Calls returns the number of calls so far, which shows from outside whether the world makes
// progress.
func (l *Live) Calls() int64 { return l.calls.Load() }

// Do runs f as a coroutine of the world, which may wait, and returns when f has ended.
func (l *Live) Do(f func()) {
	done := make(chan struct{})
	l.Call(func() {
		if l.over {
			close(done)
			return
		}
		l.spawn(l.root, func() {
			defer close(done)
			f()
		})
	})
	<-done
}

// End unwinds the coroutines that have not ended. Nothing happens in the world afterwards.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.unwind()
}

// leave executes the events that f has made due at this instant, and sets the timer for the
// next one.
func (l *Live) leave() {
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.catchUp()
	next := l.queue.next(l.now)
	if next == l.armed {
		return
	}
	l.armed = next
	switch {
	case next == math.MaxInt64:
		l.timer.Stop()
	case l.timer == nil:
		l.timer = time.AfterFunc(time.Duration(next-l.now), l.fire)
	default:
		l.timer.Reset(time.Duration(next - l.now))
	}
}

// fire is called by the timer.
func (l *Live) fire() {
	l.calls.Add(1)
	l.mu.Lock()
	l.armed = math.MaxInt64
	defer l.leave()
	l.catchUp()
}

// catchUp executes all events that are due by the clock.
func (l *Live) catchUp() {
	if l.ended {
		return
	}
	until := max(int64(time.Since(Epoch)), l.now)
	q := &l.queue
	for l.failure == nil {
		if len(q.due) == 0 {
			if q.next(l.now) > until {
				break
			}
			at, one, _ := q.advance(l.now)
			l.now = at
			if one != nil {
				l.World.fire(one)
				continue
			}
		}
		i := 0
		if q.prune(); len(q.due) == 0 {
			continue
		} else if len(q.due) > 1 {
			i = l.World.next()
		}
		l.World.fire(q.take(i))
	}
	if l.failure != nil {
		panic(l.failure)
	}
	l.now = until
}

// next returns the time of the next event; MaxInt64: there is none.
func (q *queue) next(now int64) int64 {
	if len(q.due) > 0 {
		return now
	}
	at := q.far.first()
	if near := q.near.first(now); near != nil {
		at = min(at, near.at)
	}
	return at
}
