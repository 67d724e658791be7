//go:build real

package reduce

import (
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/internal/realdrivers"
	"lockpick/search"
)

// What was found in the simulator happens on real masters too.
func TestCounterexamplesReproduceOnProcesses(t *testing.T) {
	all := realdrivers.All()
	process := all.Real[1]
	any := scenario.Defaults()
	if ok, why := process.Available(t.Context(), any.Software()); !ok {
		t.Skipf("no driver %s: %s", process.Name, why)
	}
	for _, h := range hunts[:3] {
		t.Run(h.name, func(t *testing.T) {
			z := mustFind(t, h, 7)
			tried := 0
			out, err := search.Replay(t.Context(), search.ReplayOptions{Scenario: z.Scenario, Driver: scenario.Process, Attempts: 10, Each: func(_ string, h *history.History, r *judge.Result, _ bool) error {
				tried++
				if r.Driver != scenario.Process {
					t.Errorf("attempt %d ran on %s", tried, r.Driver)
				}
				return nil
			}}, campaign.Options{Drivers: all, Store: campaign.Store{Dir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			if out.Reproduced != 1 || out.First == nil || tried != out.Attempts || len(out.Runs) != tried {
				t.Errorf("%+v after %d attempts, want one that reproduces it", out, tried)
			}
		})
	}
}

// TestWhyFindsTheFewestFaults: of several kills one is enough, with the clients and masters of the run.
func TestWhyFindsTheFewestFaults(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s := randomKills()
	r, err := Why(t.Context(), WhyOptions{Scenario: s, Points: 2, Branches: 5, Minimize: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Faults
	if f == nil || len(f.Steps) != 1 || !strings.HasPrefix(f.Steps[0], "kill ") || !f.Minimal || f.Rate < f.Seeds/10 || f.Of < 2 {
		t.Errorf("the fewest faults: %+v", f)
	}
	if h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{}); err != nil || !r.Begins(h) {
		t.Errorf("the same run does not begin as it did (%v)", err)
	}
	s.Seed++
	if h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{}); err != nil || r.Begins(h) {
		t.Errorf("another run begins as it did (%v)", err)
	}
}
