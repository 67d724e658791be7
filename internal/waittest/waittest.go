// Package waittest waits for conditions in tests that run in real time. No test says how long something may
// take: a machine may stand still at any moment.
package waittest

import (
	"runtime/debug"
	"time"
)

// Limit is the time after which a test fails because what it waits for does not happen. It is far more than
// anything takes on a busy machine.
const Limit = 2 * time.Minute

// T is the part of testing.TB that a test of package rapid has too.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until waits until the condition is true, and fails the test if that takes longer than Limit.
func Until(t T, what string, condition func() bool) {
	t.Helper()
	if !BecomesTrue(condition) {
		t.Fatalf("not within %v: %s", Limit, what)
	}
}

// BecomesTrue waits until the condition is true, and returns false if that takes longer than Limit.
func BecomesTrue(condition func() bool) bool {
	pause, deadline := time.Millisecond, time.Now().Add(Limit)
	for !condition() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(pause+pause/4, 50*time.Millisecond)
	}
	return true
}

// Returns calls f. If f does not return within Limit, the program ends with the stacks of all goroutines.
func Returns(what string, f func()) {
	hung := time.AfterFunc(Limit, func() {
		debug.SetTraceback("all")
		panic("it does not return: " + what)
	})
	defer hung.Stop()
	f()
}

// Receive returns what arrives on a channel, or the zero value of one that is closed, and fails the test if that
// takes longer than Limit.
func Receive[V any](t T, what string, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Limit):
		t.Fatalf("not within %v: %s", Limit, what)
		panic("unreachable")
	}
}
