package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// asked is asks, and what its caller does: to wait where that is said to be worth while.
func (c *crowd) asked(now time.Duration) presence {
	p := c.asks(now)
	if p == some && !c.awaited {
		c.awaited, c.since, c.alarm = true, now, time.NewTimer(time.Hour)
	}
	return p
}

func TestCrowd(t *testing.T) {
	want := func(t *testing.T, what string, got, want presence) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	const soon, late = crowdFor / 10, crowdFor + 1
	t.Run("comes back together", func(t *testing.T) {
		var c crowd
		want(t, "nobody was woken", c.asked(0), unknown)
		c.wakes(2, 0)
		c.wakes(1, soon) // by another master's answer
		want(t, "the first", c.asked(soon), some)
		want(t, "the second", c.asked(late), some) // they are waited for by now
		want(t, "the last", c.asked(late), all)
		want(t, "another", c.asked(late), unknown)
	})
	t.Run("one alone", func(t *testing.T) {
		var c crowd
		c.wakes(1, 0)
		want(t, "that one", c.asked(soon), all)
	})
	t.Run("does something else first", func(t *testing.T) {
		var c crowd
		c.wakes(3, 0)
		want(t, "the first", c.asked(late), unknown)
		want(t, "the second", c.asked(late), unknown)
		c.wakes(2, 2*late)
		want(t, "the first of the next", c.asked(2*late), some)
		want(t, "the last of the next", c.asked(2*late), all)
	})
	t.Run("is too many", func(t *testing.T) {
		var c crowd
		c.wakes(crowdMost+1, 0)
		want(t, "the first", c.asked(soon), unknown)
	})
	t.Run("scatters", func(t *testing.T) {
		var c crowd
		now, waited := time.Duration(0), 0
		round := func() presence {
			now += 10 * late
			c.wakes(2, now)
			p := c.asked(now)
			if p == some {
				waited++
				if c.late(now + crowdFor - 1) {
					t.Fatal("late before its time")
				}
				if !c.late(now + crowdFor) {
					t.Fatal("not late after its time")
				}
			}
			return p
		}
		for range tryEach {
			round()
		}
		if waited == 0 || waited > lately {
			t.Errorf("%d crowds were waited for in vain before it was given up, want at most %d", waited, lately)
		}
		waited = 0
		for range 10 * tryEach {
			round()
		}
		if waited < 9 || waited > 10 {
			t.Errorf("%d of %d were tried after that, want one of %d", waited, 10*tryEach, tryEach)
		}
		// Now they come back together, and after some tries they are trusted again.
		for range 2 * tryEach {
			now += 10 * late
			c.wakes(2, now)
			c.asked(now)
			c.asked(now)
		}
		now += 10 * late
		c.wakes(2, now)
		want(t, "after many that came back together", c.asked(now), some)
	})
}

// The last of those who were woken together carries the questions of all, in one write
// per master; and if one of them does not come, the others are not held up for long.
func TestACrowdLeavesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, conns := listening(3)
		writes := func(want int) {
			t.Helper()
			for _, c := range conns {
				if len(c.writes) != want {
					t.Fatalf("%d writes, want %d", len(c.writes), want)
				}
			}
			for _, l := range m.lanes { // they are answered
				l.mu.Lock()
				l.pipe.flight, l.pipe.first = nil, 0
				l.mu.Unlock()
			}
		}
		keys := 0
		ask := func() {
			keys++
			m.ask(t, m.Begin(nil), setCommand(fmt.Sprintf("k%d", keys), "t", 1000, false))
		}
		ask() // somebody asks beside them
		writes(1)
		m.wake(4, m.now())
		for range 3 {
			ask()
			writes(1)
		}
		ask()
		writes(2)

		m.wake(4, m.now())
		for range 3 {
			ask()
		}
		time.Sleep(crowdFor - 1)
		synctest.Wait()
		writes(2)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		writes(3)

		m.wake(4, m.now())
		ask()
		m.wake(1, m.now()+crowdFor) // other votes come, after that time
		synctest.Wait()
		writes(4)
		for _, l := range m.lanes {
			l.alarm.Stop()
		}
	})
}
