package crew

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// most runs 100 tasks of a second with a crew and returns how many ran at a time, at most and when the last one began.
func most(t *testing.T, c Crew) (atMost, last int) {
	t.Helper()
	var mu sync.Mutex
	var done []int
	at := 0
	tasks := make([]int, 100)
	for i := range tasks {
		tasks[i] = i
	}
	Each(c, slices.Values(tasks), func(i int) {
		mu.Lock()
		at++
		atMost = max(atMost, at)
		last = at
		done = append(done, i)
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		at--
		mu.Unlock()
	})
	slices.Sort(done)
	if !slices.Equal(done, tasks) {
		t.Errorf("these tasks were done: %v", done)
	}
	return atMost, last
}

func TestACrewGrowsWhileTheProcessorsAreIdle(t *testing.T) {
	for _, x := range []struct {
		name   string
		crew   Crew
		atMost int
		last   int
	}{
		{"a fixed number", Of(3), 3, 3},
		{"idle processors", Crew{2, 8, func() float64 { return 0.1 }}, 8, 8},
		{"busy processors", Crew{2, 8, func() float64 { return 0.7 }}, 2, 2},
		{"overloaded processors", Crew{2, 8, func() float64 { return 1 }}, 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			if atMost, last := most(t, x.crew); atMost != x.atMost || last != x.last {
				t.Errorf("%s: at most %d tasks ran at a time and %d at the end, want %d and %d", x.name, atMost, last, x.atMost, x.last)
			}
		})
	}
}

func TestACrewShrinksWhenTheProcessorsAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		measured := 0
		atMost, last := most(t, Crew{2, 8, func() float64 {
			if measured++; measured > 8 {
				return 1
			}
			return 0
		}})
		if atMost != 8 || last > 2 { // the last task may run alone
			t.Errorf("at most %d tasks ran at a time and %d at the end, want 8 and at most 2", atMost, last)
		}
	})
}

func TestTheMeterTellsAPart(t *testing.T) {
	busy := meter()
	if busy == nil {
		t.Skip("this system does not tell how busy its processors are")
	}
	for range 3 {
		if part := busy(); part < 0 || part > 1 {
			t.Errorf("the processors are used to %v", part)
		}
	}
}
