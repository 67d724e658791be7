//go:build real

package reduce

import (
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/search"
)

// What was found in the simulator happens on real masters too.
func TestCounterexamplesReproduceOnProcesses(t *testing.T) {
	process := campaign.RealDrivers[1]
	if ok, why := process.Available(t.Context(), ""); !ok {
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
			}}, campaign.Options{Store: campaign.Store{Dir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			if out.Reproduced != 1 || out.First == nil || tried != out.Attempts || len(out.Runs) != tried {
				t.Errorf("%+v after %d attempts, want one that reproduces it", out, tried)
			}
		})
	}
}
