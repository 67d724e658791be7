package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
)

// TestSchedules: what becomes of a schedule when something is left out of it.
func TestSchedules(t *testing.T) {
	datadriven.RunTest(t, "testdata/schedules.txt", func(t *testing.T, d *datadriven.TestData) string {
		s, err := campaign.ParseScenario([]byte("name: x\n" + d.Input))
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		switch d.Cmd {
		case "without":
			var i int
			d.ScanArgs(t, "step", &i)
			s = withoutStep(s, i-1)
		case "only":
			var kept [3][]string
			for i, arg := range []string{"clients", "masters", "keys"} {
				for _, a := range d.CmdArgs {
					if a.Key == arg {
						kept[i] = a.Vals
					}
				}
			}
			s = restrictTo(s, kept[0], kept[1], kept[2])
		}
		out := fmt.Sprintf("%d clients, %d masters, %d keys\n", s.Clients, s.Masters, s.Keys)
		for i, step := range s.Schedule {
			out += fmt.Sprintf("step %d: %v\n", i+1, step)
		}
		if err := s.Check(); err != nil {
			out += fmt.Sprintf("error: %v\n", err)
		}
		return out
	})
}

// TestCoverage: in which step of the protocol the clients were that a fault struck.
func TestCoverage(t *testing.T) {
	// c1 asks for the lock at 1 s, two masters answer at 1.1 and 1.3 s, it is refused and waits
	// until 2 s, is granted it at 2.2 s, extends from 3 to 3.5 s and releases from 4 to 4.2 s.
	ms := time.Millisecond
	vote := func(at, took time.Duration, command string) history.Op {
		return history.Op{Time: at, Process: "m1", Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Client: "c1", Command: command, Took: took}}
	}
	op := func(at time.Duration, typ history.Type, f string) history.Op {
		return history.Op{Time: at, Process: "c1", Type: typ, F: f, Key: "k0", Value: &history.Value{Token: "t"}}
	}
	ops := []history.Op{
		vote(900*ms, 400*ms, history.CommandRelease),
		op(1000*ms, history.Invoke, history.FAcquire),
		vote(1050*ms, 500*ms, history.CommandRelease), // of before: it does not reach back beyond the acquire
		vote(1100*ms, 100*ms, history.CommandSet), vote(1300*ms, 290*ms, history.CommandSet),
		vote(2200*ms, 200*ms, history.CommandSet),
		op(2200*ms, history.OK, history.FAcquire),
		vote(2300*ms, 300*ms, history.CommandSet), // late
		op(3000*ms, history.Invoke, history.FExtend), op(3500*ms, history.OK, history.FExtend),
		op(4000*ms, history.Invoke, history.FRelease), op(4200*ms, history.OK, history.FRelease),
	}
	for at, want := range map[time.Duration]string{
		0: Idle, 999 * ms: Idle, 1000 * ms: Acquiring, 1299 * ms: Acquiring, 1300 * ms: Waiting, 1999 * ms: Waiting,
		2000 * ms: Acquiring, 2200 * ms: Holding, 2999 * ms: Holding, 3000 * ms: Extending, 3500 * ms: Holding,
		4000 * ms: Releasing, 4199 * ms: Releasing, 4200 * ms: Idle, time.Hour: Idle,
	} {
		if got := stepAt(phasesOf(ops)["c1"], at); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	fault := func(id int, kind string, at time.Duration, clients ...string) history.Op {
		return history.Op{Time: at, Process: history.Nemesis, Type: history.OK, F: kind, Value: &history.Value{ID: id, Phase: history.PhaseInstall, Masters: []string{"m1"}, Clients: clients}}
	}
	got := Coverage{}
	got.add(Strikes(&history.History{Header: history.Header{Clients: 2}, Ops: append(ops,
		fault(1, "kill", 3200*ms), fault(2, "kill", 1500*ms), fault(3, "partition", 2500*ms, "c1"), fault(4, "partition", 2500*ms, "c2"))}))
	want := Coverage{"kill": {Extending: 1, Waiting: 1, Idle: 2}, "partition": {Holding: 1, Idle: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// The faults of a recorded run, real or not, become an explicit schedule that is shrunk.
func TestShrinkRunOfANemesis(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for name, c := range map[string]func(*campaign.Scenario){
		"guided":       func(s *campaign.Scenario) {},
		"random":       func(s *campaign.Scenario) { s.Nemesis, s.Faults = campaign.Random, []string{"kill"} },
		"client-pause": func(s *campaign.Scenario) { s.Faults, s.Properties = []string{"client-pause"}, []string{"L4"} },
		"clock":        func(s *campaign.Scenario) { s.Persistence, s.Faults = "always", []string{"clock"} },
		"failover":     func(s *campaign.Scenario) { s.Persistence, s.Faults = "always", []string{"failover", "partition"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := base(c)
			s.TimeLimit = 60 * time.Second
			h, r, err := simulateAndJudge(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := r.FirstViolation(s.Properties); v == nil {
				t.Fatal("nothing is violated: there is nothing to shrink")
			}
			h.Header.Driver = campaign.Process // so that its seed promises nothing
			z, err := Shrink(t.Context(), ShrinkOptions{Scenario: s, History: h, Properties: s.Properties, TimeLimit: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v shrunk to %+v, violated with %d of %d seeds", z.Before, z.Size, z.Rate, z.Seeds)
			if len(z.Scenario.Schedule) == 0 || z.Size.Faults > 3 || z.Size.Faults >= z.Before.Faults || z.Size.Clients > 2 || !z.Minimal {
				t.Errorf("%+v shrunk to %+v, minimal: %v", z.Before, z.Size, z.Minimal)
			}
		})
	}
}

func TestShrinkThatCannotBegin(t *testing.T) {
	holds := base(func(s *campaign.Scenario) {
		s.Persistence, s.TimeLimit, s.Faults = "always", 2*time.Second, []string{"kill"}
	})
	if _, err := Shrink(t.Context(), ShrinkOptions{Scenario: holds}); !errors.Is(err, ErrNotReproduced) {
		t.Errorf("of a scenario that holds: %v", err)
	}
	h, err := campaign.Simulate(t.Context(), holds, campaign.SimulateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var problem *campaign.Problem
	if _, err := Shrink(t.Context(), ShrinkOptions{Scenario: holds, History: h}); !errors.As(err, &problem) {
		t.Errorf("of a run in which nothing was violated: %v", err)
	}
}

// Whoever interrupts gets the best so far, which is violated.
func TestInterruptedShrink(t *testing.T) {
	s := base(func(s *campaign.Scenario) { s.TimeLimit = time.Minute })
	whole := struckIn(t, s)
	ctx, interrupt := context.WithCancel(t.Context())
	z, err := Shrink(ctx, ShrinkOptions{Scenario: s, Live: func(ShrinkStatus) { interrupt() }})
	if err != nil {
		t.Fatal(err)
	}
	if z.Minimal || z.Stopped != "interrupted" || z.Violation.Level != "L2" || z.Size.Faults > whole {
		t.Errorf("%+v, minimal: %v, stopped by %q", z.Size, z.Minimal, z.Stopped)
	}
	if _, r, err := simulateAndJudge(t.Context(), z.Scenario); err != nil || r.ResultsFor([]string{"L2"})[0].Verdict != checker.Violated {
		t.Errorf("the best so far is not violated (%v)", err)
	}
}

// struckIn is how many faults struck in a run.
func struckIn(t *testing.T, s campaign.Scenario) int {
	h, err := campaign.Simulate(t.Context(), s, campaign.SimulateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(explicitSchedule(h, s))
}

func TestRounder(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "",
		time.Second:              "0s",
		1234 * time.Millisecond:  "0s 2s 1s 1.5s 1.3s 1.2s 1.24s 1.23s",
		37200 * time.Microsecond: "0s 40ms 30ms 38ms 37ms",
		100 * time.Microsecond:   "0s",
	} {
		var got []string
		for _, r := range roundValues(d) {
			got = append(got, r.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%v: %s, want %s", d, s, want)
		}
	}
}

// TestRate: Wilson's interval, as in the tables of Brown, Cai and DasGupta.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		attempts, reproduced int
		want                 string
	}{{0, 0, "0.00 0.00 1.00"}, {10, 0, "0.00 0.00 0.28"}, {10, 10, "1.00 0.72 1.00"}, {10, 5, "0.50 0.24 0.76"}, {1, 1, "1.00 0.21 1.00"}} {
		rate, low, high := (&ReplayResult{Attempts: c.attempts, Reproduced: c.reproduced}).Rate()
		if got := fmt.Sprintf("%.2f %.2f %.2f", rate, low, high); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.reproduced, c.attempts, got, c.want)
		}
	}
}

// A replay on simulated masters makes the history that was stored.
func TestReplayInTheSimulatorIsTheSame(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	z := mustFind(t, hunts[0], 3)
	kept, _, _, err := Keep(t.Context(), z.Scenario, store)
	if err != nil {
		t.Fatal(err)
	}
	s, dir, err := store.Open("latest")
	if err != nil || dir != kept {
		t.Fatalf("latest is %s (%v), want %s", dir, err, kept)
	}
	out, err := Replay(t.Context(), ReplayOptions{Scenario: s, Driver: campaign.Sim}, campaign.Options{Store: store})
	if err != nil || out.Reproduced != 1 || out.Conclude().Verdict != checker.Violated {
		t.Fatalf("%+v, %v", out, err)
	}
	if difference, err := SameHistory(dir, out.Runs[0]); err != nil || difference != "" {
		t.Errorf("the history is another one (%v): %s", err, difference)
	}
	s.Seed++
	out, err = Replay(t.Context(), ReplayOptions{Scenario: s, Driver: campaign.Sim, Attempts: 4, All: true}, campaign.Options{Store: store})
	if err != nil || out.Attempts != 4 || len(out.Runs) != 4 {
		t.Fatalf("%+v, %v", out, err)
	}
	if difference, err := SameHistory(dir, out.Runs[0]); err != nil || difference == "" {
		t.Errorf("with another seed the history is the same (%v)", err)
	}
	if _, _, err := store.Open("nosuch"); err == nil {
		t.Error("a run that is not there was opened")
	}
}
