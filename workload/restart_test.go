package workload

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
)

// TestStartsAgain: a client that is a process and cannot start, since its masters cannot be
// reached, is started until it can; not for ever, and not beyond the end of the run.
func TestStartsAgain(t *testing.T) {
	for _, c := range []struct {
		name          string
		back, ends    time.Duration // when it can start, and when the run ends
		acquired, err bool
	}{
		{"masters come back", 3 * time.Second, 10 * time.Second, true, false},
		{"the run ends first", 20 * time.Second, 5 * time.Second, false, false},
		{"never", time.Hour, 2 * time.Minute, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var made []*fakeProcess
				kind := processes(&made, func(*fakeProcess) {})
				start := kind.New
				began := time.Now()
				kind.New = func(s Env) (Lock, error) {
					if at := time.Since(began); at > 50*time.Millisecond && at < c.back {
						return nil, errors.New("connection refused")
					}
					return start(s)
				}
				s := on(t, one(kind), nil)
				s.runtime.AfterFunc(100*time.Millisecond, func() { made[0].Kill() })
				s.Run(s.ending(c.ends))
				got := steps(s.of("c1"))
				crashed := slices.Index(got, "crash info")
				if crashed < 0 || slices.Contains(got[crashed:], "acquire ok") != c.acquired || (s.Err() != nil) != c.err {
					t.Fatalf("%q, error %v", got, s.Err())
				}
				if c.err {
					return
				}
				time.Sleep(c.back)
				s.FinalCheck(s.ending(time.Hour), time.Second)
				all := s.of("c1")
				if last := all[len(all)-1]; last.F != history.FRelease || last.Type != history.OK || s.Err() != nil {
					t.Errorf("the final check ends with %s, error %v", line(last), s.Err())
				}
			})
		})
	}
}
