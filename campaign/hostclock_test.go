package campaign

import (
	"testing"
	"time"
)

// TestHostClock: a step is told once, and one that only a single reading shows is none.
func TestHostClock(t *testing.T) {
	var ahead, once time.Duration
	k := newHostClock(func() time.Duration {
		x := ahead + once
		once = 0
		return x
	})
	for _, c := range []struct{ ahead, once, want time.Duration }{
		{0, 0, 0},
		{0, time.Second, 0},
		{5 * time.Millisecond, 0, 0},
		{3 * time.Second, 0, 3 * time.Second},
		{3 * time.Second, 0, 0},
		{-time.Hour, 7 * time.Second, -time.Hour - 3*time.Second + 7*time.Second},
		{-time.Hour, 0, -7 * time.Second},
		{-time.Hour, 0, 0},
	} {
		ahead, once = c.ahead, c.once
		if got := k.stepped(); got != c.want {
			t.Errorf("at %v and once %v more: %v, want %v", c.ahead, c.once, got, c.want)
		}
	}
	if by := wallAhead()(); by.Abs() > time.Second {
		t.Errorf("this machine's clock is %v ahead of itself", by)
	}
}
