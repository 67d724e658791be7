package world

import (
	"runtime"
	"strings"
	"time"

	"lockpick/internal/processor"
)

// Virtual time may stop for ever: something blocks or computes and never waits in it. Whoever runs a
// simulation gives up if nothing has happened in StandstillLooks checks in a row, StandstillEvery of real
// time apart. Checks are counted, so that a suspended machine loses only one of them.
const (
	StandstillLooks = 20
	StandstillEvery = 500 * time.Millisecond
)

// Standstill counts checks in a row in which nothing has happened. A check counts only if something could have happened:
// on a busy machine a program may have no processor for seconds, and nothing in it is to blame for that.
type Standstill struct {
	Every time.Duration // real time between two checks

	last  int64
	used  time.Duration // processor time at the last check that counted
	looks int
}

// Check takes how far the simulation has got, and returns how many checks in a row found it there. counts is false if this
// check does not count.
func (s *Standstill) Check(progress int64) (looks int, counts bool) {
	used := processor.Time()
	switch {
	case progress != s.last:
		s.last, s.used, s.looks = progress, used, 0
		return 0, true
	case used != 0 && used-s.used < s.Every/4 && anyRunnable(): // 0: the system does not tell
		return s.looks, false
	}
	s.used = used
	s.looks++
	return s.looks, true
}

// anyRunnable reports whether a goroutine other than the caller's waits for nothing but a processor.
func anyRunnable() bool {
	room := make([]byte, 1<<20)
	stacks := string(room[:runtime.Stack(room, true)])
	_, others, _ := strings.Cut(stacks, "\n\n") // the caller's stack is the first
	return strings.Contains(others, " [runnable") || strings.Contains(others, " [running")
}
