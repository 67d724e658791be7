package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/workload"
)

func shortScenario(driver string, change func(*scenario.Scenario)) scenario.Scenario {
	s := scenario.Defaults()
	s.Driver, s.TimeLimit = driver, 12*time.Second
	s.Hold, s.LongHolds = "0s..600ms", 0.1 // many leases in little time
	change(&s)
	return s
}

// untilBroken makes a scenario go on until the lock is broken, however long this machine takes, with
// leases that are held long enough for a container to come back.
func untilBroken(s *scenario.Scenario) {
	s.StopOnViolation, s.TimeLimit = true, 5*time.Minute
	s.TTL, s.Interval, s.Hold, s.LongHolds = 10*time.Second, 2*time.Second, "3s..8s", 0
}

// onTheVoteOfM3 makes a fault strike m3 again and again, after an event, while c1 reaches only m1,
// m2 and m3, and c2 only m3, m4 and m5: the lock is broken as soon as m3 forgets one vote.
func onTheVoteOfM3(s *scenario.Scenario, fault, after string) {
	s.Clients, s.Faults = 2, nil
	s.Schedule = append(s.Schedule,
		scenario.Step{Fault: "partition", Clients: []string{"c1"}, Masters: []string{"m4", "m5"}, For: s.TimeLimit},
		scenario.Step{Fault: "partition", Clients: []string{"c2"}, Masters: []string{"m1", "m2"}, For: s.TimeLimit},
		scenario.Step{Fault: fault, After: after, Plus: 10 * time.Millisecond, Repeat: true, Masters: []string{"m3"}})
}

func mustRun(t *testing.T, s scenario.Scenario) (*history.History, *judge.Result) {
	t.Helper()
	_, h, r, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf, Client: command, Trust: TrustAll})
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

// mustShow runs a scenario and checks the verdicts at some levels.
func mustShow(t *testing.T, s scenario.Scenario, verdicts ...string) (h *history.History, r *judge.Result) {
	t.Helper()
	untilShown(t, s, func(s scenario.Scenario) *judge.Result {
		h, r = mustRun(t, s)
		return r
	}, verdicts...)
	return h, r
}

// untilShown runs a scenario and checks the verdicts at some levels. A busy machine sees less in the same time, and what happens while
// Lockpick itself stands still decides nothing: a run that could not show a verdict is made again, twice as long.
func untilShown(t *testing.T, s scenario.Scenario, run func(scenario.Scenario) *judge.Result, verdicts ...string) {
	t.Helper()
	r := run(s)
	for again := 0; again < 2 && showsTooLittle(r, verdicts); again++ {
		s.TimeLimit *= 2
		r = run(s)
	}
	want(t, r, verdicts...)
}

// showsTooLittle says whether a run does not show some verdicts, and nothing to the contrary: where a level must not be violated,
// none of its properties is.
func showsTooLittle(r *judge.Result, verdicts []string) bool {
	missing := false
	for _, w := range verdicts {
		v, verdict := wanted(r, w)
		if v != nil && verdict != checker.Violated && violatedAt(r, v.Level).Verdict == checker.Violated {
			return false
		}
		missing = missing || v == nil || v.Verdict != verdict
	}
	return missing
}

// wanted returns the result of which a level and its verdict, "L2 violated", speak, or nil, and the verdict.
func wanted(r *judge.Result, w string) (*checker.Result, checker.Verdict) {
	level, verdict, _ := strings.Cut(w, " ")
	if checker.Verdict(verdict) == checker.Violated {
		return violatedAt(r, level), checker.Violated
	}
	return verdictAt(r, level), checker.Verdict(verdict)
}

// want checks the verdicts at some levels: "L2 violated".
func want(t *testing.T, r *judge.Result, verdicts ...string) {
	t.Helper()
	for _, w := range verdicts {
		v, verdict := wanted(r, w)
		if v == nil {
			t.Errorf("not judged, want %s", w)
			continue
		}
		if v.Verdict != verdict {
			t.Errorf("%s is %s (%s), want %s", v.Level, v.Verdict, v.Why, verdict)
			for _, x := range v.Violations[:min(1, len(v.Violations))] {
				t.Logf("%s\n%s", x.Summary, strings.Join(x.Reason, "\n"))
			}
		}
	}
}

// violatedAt is the result of a level's first property that is violated, or else of its first.
func violatedAt(r *judge.Result, level string) *checker.Result {
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Level == level && v.Verdict == checker.Violated {
			return v
		}
	}
	return verdictAt(r, level)
}

// verdictAt is the result of a level's first property.
func verdictAt(r *judge.Result, level string) *checker.Result {
	i := slices.IndexFunc(r.Verdicts, func(v checker.Result) bool { return v.Level == level })
	if i < 0 {
		return nil
	}
	return &r.Verdicts[i]
}

// A restart without persistence breaks the lock (distlock, "Performance, Crash
// Recovery and fsync"), and the report says that this is why.
func TestRestartWithoutPersistenceBreaksRedlock(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		s := shortScenario(driver, untilBroken)
		_, r := mustShow(t, s, "L2 violated")
		l2 := verdictAt(r, "L2")
		if len(l2.Violations) == 0 {
			t.Fatal("no violation is told")
		}
		v := l2.Violations[0]
		reason := strings.Join(v.Reason, "\n")
		t.Logf("%s\n%s", v.Summary, reason)
		for _, part := range []string{"killed", "without persistence", "was granted k0", "by the votes of"} {
			if !strings.Contains(reason, part) {
				t.Errorf("the reason does not say %q:\n%s", part, reason)
			}
		}
		if len(v.Faults) == 0 {
			t.Error("no fault is blamed")
		}
		if r.FirstViolationMS == nil || r.Duration > s.TimeLimit {
			t.Errorf("first violation at %v ms, ran %v: it should have stopped there", r.FirstViolationMS, r.Duration)
		}
	})
}

// A restart delayed beyond the TTL replaces persistence.
func TestDelayedRestartHolds(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.Faults, s.RestartDelay, s.TimeLimit = []string{"kill"}, 3*time.Second, 16*time.Second
		}), "L2 holds", "DF holds", "AV holds")
	})
}

// fsync=always survives what kills processes, stops them and cuts them off.
func TestAlwaysHolds(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.Persistence, s.Faults = "always", []string{"kill", "pause", "partition"}
		}), "L2 holds", "DF holds", "AV holds")
	})
}

// Without faults nothing is violated, and nobody waits long.
func TestNoFaultsHolds(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		_, r := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) { s.Faults, s.Fencing = nil, true }), "L2 holds", "L4 holds", "L5 holds", "FM holds", "DF holds", "AV holds")
		if r.Counts.Faults != 0 {
			t.Errorf("%d faults were injected, none was asked for", r.Counts.Faults)
		}
	})
}

// A client that is stopped between its check and its write breaks L4, whatever the
// lock does; fencing repairs that (Kleppmann's example). The schedule is explicit.
func TestClientPauseBreaksEffectsButNotLeases(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		h, _ := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.Fencing, s.Faults = true, nil
			for _, at := range []time.Duration{1, 5, 9} {
				s.Schedule = append(s.Schedule, scenario.Step{Fault: "client-pause", At: at * time.Second, For: 3500 * time.Millisecond, Point: workload.BeforeWrite})
			}
			s.TimeLimit = 14 * time.Second
		}), "L2 holds", "L4 violated", "L5 holds", "FM holds")
		if h.Header.Nemesis != "schedule" {
			t.Errorf("the nemesis is %q", h.Header.Nemesis)
		}
		for _, f := range history.Faults(h.Ops) {
			if f.Installed && (!f.Healed || f.Params["step"] == "") {
				t.Errorf("fault %+v: want it healed, with the number of its step", f)
			}
		}
	})
}

// The end of the context ends a run in order: faults heal, masters go, and what was
// recorded is judged.
func TestInterruptedRunIsJudged(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		store := Store{t.TempDir()}
		dir, h, r, err := Run(ctx, shortScenario(driver, func(s *scenario.Scenario) { s.TimeLimit = time.Hour }), Options{
			Drivers: testDrivers,
			Store:   store, Progress: t.Logf,
			Live: func(s Status) {
				if s.Granted >= 3 && len(s.Faults) > 0 {
					interrupt(errors.New("enough"))
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range history.Faults(h.Ops) {
			if f.Installed && !f.Healed {
				t.Errorf("fault %d (%s) was left unhealed", f.ID, f.Name)
			}
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "interrupted: enough") }) {
			t.Errorf("the notes %q do not tell of the interruption", r.Notes)
		}
		want(t, r, "DF unknown", "AV unknown")
		again, err := judge.ReadResult(dir)
		if err != nil || again.Counts != r.Counts {
			t.Errorf("result.json: %v, %+v, want %+v", err, again, r.Counts)
		}
		for i := 1; i <= 5 && driver != scenario.Sim; i++ {
			log := filepath.Join(dir, mastersDir, fmt.Sprintf("m%d.log", i))
			if b, err := os.ReadFile(log); err != nil || len(b) == 0 {
				t.Errorf("%s: %v, %d bytes: the masters' logs are kept", log, err, len(b))
			}
		}
		if latest, err := os.Readlink(filepath.Join(store.Dir, "latest")); err != nil || latest != filepath.Base(dir) {
			t.Errorf("latest is %q, %v; want %q", latest, err, filepath.Base(dir))
		}
	})
}
