package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/racetest"
)

// TestEstimate: what a run is said to take is what it takes, by a factor of less than two.
func TestEstimate(t *testing.T) {
	racetest.Exclude(t, "it simulates much, in one goroutine")
	for _, change := range []func(*scenario.Scenario){
		func(*scenario.Scenario) {},
		func(s *scenario.Scenario) { s.Clients, s.Keys = 30, 100 },
		func(s *scenario.Scenario) { s.Faults = nil },
		func(s *scenario.Scenario) { s.TTL, s.Interval, s.Hold = time.Minute, 30*time.Second, "20s..50s" },
	} {
		s := scenario.Defaults()
		s.TimeLimit = 5 * time.Minute
		change(&s)
		s = s.WithRequirements()
		e, err := EstimateOf(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		s.Driver = scenario.Sim
		h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), judge.HistoryFile)
		if err := history.WriteFile(path, h); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d lines for %d, %d bytes for %d: %d each", e.Lines, len(h.Ops), e.Disk, info.Size(), info.Size()/int64(len(h.Ops)))
		if n := int64(len(h.Ops)); e.Lines > 2*n || 2*e.Lines < n || e.Disk > 2*info.Size() || 2*e.Disk < info.Size() {
			t.Errorf("%d lines and %d bytes were estimated, it has %d and %d", e.Lines, e.Disk, n, info.Size())
		}
	}
}

// TestEstimateOfAnyLock: what cannot be simulated is estimated with another lock.
func TestEstimateOfAnyLock(t *testing.T) {
	s := scenario.Defaults()
	s.TimeLimit = 15 * time.Minute
	want, err := EstimateOf(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Client, s.Lock, s.Driver = []string{"python3", "lock.py"}, "theirs", "process"
	if got, err := EstimateOf(t.Context(), s.WithRequirements()); err != nil || got.Lines != want.Lines {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// TestEstimatesSayWhatIsMissing: and a short run is not estimated.
func TestEstimatesSayWhatIsMissing(t *testing.T) {
	e := Estimate{Lines: 67_000_000, Disk: 16e9, Memory: 12e9}
	if got := e.lines(20e9, true, 20e9, true); len(got) != 1 || got[0] != "this will take about 16.0 GB of disk and 12.0 GB of memory: 67.0 million lines, which are judged at the end" {
		t.Errorf("enough of everything: %q", got)
	}
	got := strings.Join(e.lines(2e9, true, 900e6, true), "\n")
	for _, want := range []string{"only 2.0 GB free", "only 900 MB of memory"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := e.lines(0, false, 0, false); len(got) != 1 {
		t.Errorf("nothing is known: %q", got)
	}
	s := scenario.Defaults()
	announceEstimate(t.Context(), s, ".", func(string, ...any) { t.Error("a short run was estimated") })
	said := 0
	s.TimeLimit = estimatedFrom
	announceEstimate(t.Context(), s, ".", func(string, ...any) { said++ })
	if said == 0 {
		t.Error("a long run was not estimated")
	}
}
