package reduce

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/search"
)

// The faults of a recorded run, real or not, become an explicit schedule that is shrunk.
func TestShrinkRunOfANemesis(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried := sampletest.Of(t, 2, 1)
	for i, c := range []struct {
		name   string
		change func(*scenario.Scenario)
	}{
		{"guided", func(s *scenario.Scenario) {}},
		{"random", func(s *scenario.Scenario) { s.Nemesis, s.Faults = scenario.Random, []string{"kill"} }},
		{"client-pause", func(s *scenario.Scenario) { s.Faults, s.Properties = []string{"client-pause"}, []string{"L4"} }},
		{"clock", func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"clock"} }},
		{"failover", func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"failover", "partition"} }},
	} {
		if !tried(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := campaigntest.Simulated(c.change)
			s.TimeLimit = 60 * time.Second
			h, r, err := search.SimulateAndJudge(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := r.FirstViolation(s.Properties); v == nil {
				t.Fatal("nothing is violated: there is nothing to shrink")
			}
			h.Header.Driver = scenario.Process // so that its seed promises nothing
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
	holds := campaigntest.Simulated(func(s *scenario.Scenario) {
		s.Persistence, s.TimeLimit, s.Faults = "always", 2*time.Second, []string{"kill"}
	})
	if _, err := Shrink(t.Context(), ShrinkOptions{Scenario: holds}); !errors.Is(err, ErrNotReproduced) {
		t.Errorf("of a scenario that holds: %v", err)
	}
	h, err := campaign.Record(t.Context(), holds, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var problem *scenario.Problem
	if _, err := Shrink(t.Context(), ShrinkOptions{Scenario: holds, History: h}); !errors.As(err, &problem) {
		t.Errorf("of a run in which nothing was violated: %v", err)
	}
}

// Whoever interrupts gets the best so far, which is violated.
func TestInterruptedShrink(t *testing.T) {
	s := campaigntest.Simulated(func(s *scenario.Scenario) { s.TimeLimit = time.Minute })
	whole := struckIn(t, s)
	ctx, interrupt := context.WithCancel(t.Context())
	z, err := Shrink(ctx, ShrinkOptions{Scenario: s, Live: func(int, int, func() string) { interrupt() }})
	if err != nil {
		t.Fatal(err)
	}
	if z.Minimal || z.Stopped != "interrupted" || z.Violation.Level != "L2" || z.Size.Faults > whole {
		t.Errorf("%+v, minimal: %v, stopped by %q", z.Size, z.Minimal, z.Stopped)
	}
	if _, r, err := search.SimulateAndJudge(t.Context(), z.Scenario); err != nil || r.ResultsFor([]string{"L2"})[0].Verdict != checker.Violated {
		t.Errorf("the best so far is not violated (%v)", err)
	}
}

// struckIn is how many faults struck in a run.
func struckIn(t *testing.T, s scenario.Scenario) int {
	h, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return len(search.ExplicitSchedule(h, s))
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

// A replay on simulated masters makes the history that was stored.
func TestReplayInTheSimulatorIsTheSame(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	z := mustFind(t, hunts[0], 3)
	kept, _, _, err := search.Keep(t.Context(), z.Scenario, store)
	if err != nil {
		t.Fatal(err)
	}
	s, dir, err := store.Open("latest")
	if err != nil || dir != kept {
		t.Fatalf("latest is %s (%v), want %s", dir, err, kept)
	}
	out, err := search.Replay(t.Context(), search.ReplayOptions{Scenario: s, Driver: scenario.Sim}, campaign.Options{Store: store})
	if err != nil || out.Reproduced != 1 || out.Conclude().Verdict != checker.Violated {
		t.Fatalf("%+v, %v", out, err)
	}
	if difference, err := search.SameHistory(dir, out.Runs[0]); err != nil || difference != "" {
		t.Errorf("the history is another one (%v): %s", err, difference)
	}
	s.Seed++
	out, err = search.Replay(t.Context(), search.ReplayOptions{Scenario: s, Driver: scenario.Sim, Attempts: 4, All: true}, campaign.Options{Store: store})
	if err != nil || out.Attempts != 4 || len(out.Runs) != 4 {
		t.Fatalf("%+v, %v", out, err)
	}
	if difference, err := search.SameHistory(dir, out.Runs[0]); err != nil || difference == "" {
		t.Errorf("with another seed the history is the same (%v)", err)
	}
	if _, _, err := store.Open("nosuch"); err == nil {
		t.Error("a run that is not there was opened")
	}
}
