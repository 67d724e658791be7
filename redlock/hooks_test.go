package redlock_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// An error that hooks were given does not change under their hands.
func TestHooksSeeEachAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		var failed atomic.Int32
		m.fate = func(int, protocol.Command) fate {
			if failed.Load() < 2 {
				return no
			}
			return fate{arrives: time.Millisecond}
		}
		var attempts []redlock.Attempt
		var decisions []redlock.Decision
		var extensions []redlock.Extension
		var ends []error
		var mu sync.Mutex
		votes := map[redlock.Purpose]int{}
		c := open(t, m, redlock.WithHooks(redlock.Hooks{
			Attempt:  func(a redlock.Attempt) { attempts = append(attempts, a); failed.Add(1) },
			Decided:  func(d redlock.Decision) { decisions = append(decisions, d) },
			Extended: func(e redlock.Extension) { extensions = append(extensions, e) },
			Ended:    func(_ *redlock.Lease, cause error) { ends = append(ends, cause) },
			Vote: func(v redlock.Vote) {
				mu.Lock()
				defer mu.Unlock()
				votes[v.Purpose]++
			},
		}))
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		longer, err := lease.Extend(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := longer.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle()
		if n := len(attempts); n != 3 || len(decisions) != n+1 || decisions[n].Purpose != redlock.Extend {
			t.Fatalf("%d attempts, %d decisions", n, len(decisions))
		}
		for i, a := range attempts {
			var failure *redlock.Error
			last := i == len(attempts)-1
			switch {
			case a.Number != i+1 || a.Key != "k" || decisions[i].Token != a.Token || len(a.Votes) != 2:
				t.Errorf("%+v", a)
			case last && (a.Err != nil || a.Token != lease.Token()):
				t.Errorf("%+v", a)
			case !last && (!errors.As(a.Err, &failure) || failure.Attempts != i+1 || failure.Context != nil):
				t.Errorf("%+v", a)
			}
		}
		if len(extensions) != 1 || extensions[0].Err != nil || !extensions[0].Until.Equal(longer.Until()) {
			t.Errorf("%+v", extensions)
		}
		if len(ends) != 1 || !errors.Is(ends[0], redlock.ErrReleased) {
			t.Errorf("%v", ends)
		}
		// Every master's vote is seen, also the late ones.
		if votes[redlock.Set] != 3*len(attempts) || votes[redlock.Extend] != 3 || votes[redlock.Release] != 3*len(attempts) {
			t.Errorf("%v", votes)
		}
	})
}
