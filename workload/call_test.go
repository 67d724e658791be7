package workload

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
)

// TestOnlyCallsBeyondTheirBoundHang: a call hangs if it has not returned by its deadline and
// the bound, and time in which the client was stopped does not count.
func TestOnlyCallsBeyondTheirBoundHang(t *testing.T) {
	for _, c := range []struct {
		name    string
		slow    time.Duration // of each release
		stopped time.Duration // for how long the first client is stopped in its first acquire
		want    bool
	}{
		{"in time", 10 * time.Millisecond, 0, false},
		{"late, within the bound", 4 * time.Second, 0, false},
		{"beyond the bound", 30 * time.Second, 0, true},
		{"stopped for long", 10 * time.Millisecond, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMasters(5)
				kind, _ := LockNamed("redlock")
				env := share(m)
				if c.stopped == 0 {
					kind, env = fake(func(l *fakeLock) { l.slow = c.slow }), nil
				}
				s := on(t, two(kind), env)
				if c.stopped > 0 {
					resume := s.Pauses.Stop([]string{"c1"}, AfterQuorum)
					s.runtime.AfterFunc(c.stopped, func() { resume() })
				}
				s.Run(s.ending(2 * time.Minute))
				_ = s.Close()
				time.Sleep(5 * time.Minute) // nothing outlives the bubble
				hung := slices.ContainsFunc(s.recorded(), func(op history.Op) bool { return op.F == history.FHung })
				if hung != c.want {
					t.Errorf("hung: %v, want %v", hung, c.want)
				}
			})
		})
	}
}

// TestNobodyWaitsForAHungClient: the run goes on without a client whose release hangs, what the release returns
// after all is recorded, and its lock is closed then.
func TestNobodyWaitsForAHungClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeLock
		s := on(t, two(fake(func(l *fakeLock) {
			made = append(made, l)
			if l.env.Client == "c1" {
				l.slow = 20 * time.Second
			}
		})), nil)
		began := s.runtime.Now()
		s.Run(s.ending(5 * time.Second))
		s.FinalCheck(s.ending(30*time.Second), time.Second)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := s.runtime.Now().Sub(began); took > 12*time.Second {
			t.Errorf("the run took %v", took)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, l := range made {
			if l.closed != 1 {
				t.Errorf("the lock of %s was closed %d times", l.env.Client, l.closed)
			}
		}
		var told []string
		for _, op := range s.of("c1") {
			switch {
			case op.F == history.FHung:
				told = append(told, "hung in "+op.Value.Command)
				if !strings.Contains(op.Value.Evidence, "fakeLease).Release") {
					t.Errorf("the evidence does not say where:\n%s", op.Value.Evidence)
				}
			case op.F == history.FRelease && op.Type == history.OK:
				told = append(told, "released")
			}
		}
		if !slices.Equal(told, []string{"hung in release", "released"}) {
			t.Errorf("told %q", told)
		}
	})
}

// TestHungProcessIsEnded: a process that hangs is recorded as hung, ended and started anew.
func TestHungProcessIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeProcess
		cfg := two(processes(&made, func(p *fakeProcess) {
			if len(made) == 0 {
				p.hangs = true
			}
		}))
		cfg.Clients = 1
		s := on(t, cfg, nil)
		s.Run(s.ending(20 * time.Second))
		_ = s.Close()
		var got []string
		for _, op := range s.of("c1") {
			if op.F == history.FHung || op.F == history.FCrash {
				got = append(got, op.F+" "+op.Error)
			}
		}
		if len(got) != 2 || got[0] != "hung " || !strings.HasPrefix(got[1], "crash its process hung, and was ended") || len(made) != 2 {
			t.Errorf("%d processes, told: %q", len(made), got)
		}
	})
}

// TestStartOfAProcessIsNoCallOfItsLock: an interpreter that loads for half a minute convicts no lock, but a
// lock in this program has no program to load.
func TestStartOfAProcessIsNoCallOfItsLock(t *testing.T) {
	for _, process := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			cfg := two(fake(func(*fakeLock) {}))
			make := cfg.Lock.New
			cfg.Lock.New = func(s Env) (Lock, error) {
				time.Sleep(30 * time.Second)
				return make(s)
			}
			cfg.Processes = process
			s := on(t, cfg, nil)
			s.Run(s.ending(time.Minute))
			_ = s.Close()
			time.Sleep(5 * time.Minute) // nothing outlives the bubble
			hung := slices.ContainsFunc(s.recorded(), func(op history.Op) bool { return op.F == history.FHung })
			if hung == process {
				t.Errorf("as a process: %v, hung: %v", process, hung)
			}
		})
	}
}

// TestAHangingProcessDoesNotOutliveTheRun: a process whose call has not returned when the run is over is ended with it,
// although the call may last for hours, and is not started anew.
func TestAHangingProcessDoesNotOutliveTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeProcess
		cfg := two(processes(&made, func(p *fakeProcess) { p.hangs = true }))
		cfg.Clients, cfg.TTL, cfg.AcquireTimeout = 1, time.Hour, time.Hour
		s := on(t, cfg, nil)
		time.AfterFunc(10*time.Second, s.Abandon)
		s.Run(s.ending(5 * time.Second))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(made) != 1 || made[0].is() == nil {
			t.Errorf("%d processes were started, and the first one lives", len(made))
		}
	})
}
