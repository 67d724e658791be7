package waittest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// failing records the failure of a test instead of failing.
type failing struct{ said string }

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// fails runs f, which fails its test, and returns what it said.
func fails(f func(t T)) (said string) {
	t := &failing{}
	defer func() { _, said = recover(), t.said }()
	f(t)
	return
}

func TestUntilWaitsForTheConditionAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{0, time.Second, Limit - time.Second} {
			began := time.Now()
			Until(t, "a time has come", func() bool { return time.Since(began) >= after })
			if took := time.Since(began); took > after+50*time.Millisecond {
				t.Errorf("after %v: it took %v", after, took)
			}
		}
		if said := fails(func(t T) { Until(t, "never", func() bool { return false }) }); said != "not within 2m0s: never" {
			t.Errorf("a condition that never holds: %q", said)
		}
	})
}

func TestReceiveWaitsForTheChannelAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		time.AfterFunc(time.Minute, func() { c <- 7 })
		if got := Receive(t, "a number", c); got != 7 {
			t.Errorf("received %d", got)
		}
		if said := fails(func(t T) { Receive(t, "another number", c) }); said != "not within 2m0s: another number" {
			t.Errorf("a channel that nobody sends on: %q", said)
		}
	})
}

func TestReturnsStopsItsAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := false
		Returns("setting a variable", func() { called = true })
		time.Sleep(2 * Limit)
		if !called {
			t.Error("it called nothing")
		}
	})
}
