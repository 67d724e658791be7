package world

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/internal/processor"
)

// TestStandstillBlamesNoBusyMachine: a check counts if all wait for something that is not a processor, or if there was enough of
// it. It does not count while something could run and got none.
func TestStandstillBlamesNoBusyMachine(t *testing.T) {
	if processor.Time() == 0 {
		t.Skip("this system does not tell how much processor time a program has used")
	}
	check := func(s *Standstill, progress int64, looks int, counts bool) {
		t.Helper()
		if l, c := s.Check(progress); l != looks || c != counts {
			t.Errorf("got %d checks, counts %t; want %d, %t", l, c, looks, counts)
		}
	}
	for anyRunnable() { // what earlier tests left ends
		runtime.Gosched()
	}
	s := &Standstill{Every: time.Hour}
	check(s, 1, 0, true) // something has happened
	check(s, 1, 1, true)
	check(s, 1, 2, true)

	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
		}
	}()
	check(s, 1, 2, false) // it has not had a quarter of an hour
	s.Every = 0
	check(s, 1, 3, true) // it never waits
	stop.Store(true)
	<-ended
	check(s, 2, 0, true)
}
