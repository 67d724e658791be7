package campaign

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSimulatedRunsAreTheSame: the same seed makes the same history, byte by byte, on
// any number of processors; another seed makes another.
func TestSimulatedRunsAreTheSame(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	history := func(seed uint64) []byte {
		s := scenario.Defaults()
		s.Driver, s.Seed, s.TimeLimit, s.Fencing = scenario.Sim, seed, 10*time.Second, true
		s.Faults = []string{"kill", "pause", "partition", "slow", "clock", "powercut", "client-pause", "client-kill", "client-clock"}
		s.Nemesis, s.Persistence = scenario.Random, "everysec"
		dir, _, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, judge.HistoryFile))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for seed := range uint64(3) {
		first := history(seed)
		for _, n := range []int{1, 2, 4} {
			runtime.GOMAXPROCS(n)
			if again := history(seed); !bytes.Equal(first, again) {
				t.Errorf("seed %d with %d processors: %s", seed, n, firstDifference(first, again))
			}
		}
		if bytes.Equal(first, history(seed+100)) {
			t.Errorf("seeds %d and %d make the same history", seed, seed+100)
		}
	}
}

// TestSimulateKeepsWhatRunWrites: the history in memory is the one that the driver sim
// writes, also while somebody watches.
func TestSimulateKeepsWhatRunWrites(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.TimeLimit, s.Faults = scenario.Sim, 10*time.Second, []string{"kill", "partition", "clock", "client-pause"}
	looked := 0
	_, written, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Live: func(Status) { looked++ }})
	if err != nil {
		t.Fatal(err)
	}
	if looked == 0 {
		t.Error("nobody was told how the run was getting on")
	}
	kept, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept.Header.Scenario = written.Header.Scenario // which only a written history needs
	if diff := cmp.Diff(written, kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("written (-) and kept (+) differ:\n%.2000s", diff)
	}
}

func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("line %d is\n%s\nand then\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
