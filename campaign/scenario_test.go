package campaign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/nemesis"
	"lockpick/workload"
)

// TestScenarioFiles reads scenarios as users write them. "parse" prints what
// differs from the defaults, or the error.
func TestScenarioFiles(t *testing.T) {
	datadriven.RunTest(t, "testdata/scenario.txt", func(t *testing.T, d *datadriven.TestData) string {
		s, err := ParseScenario([]byte(d.Input))
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		return difference(t, s)
	})
}

// difference lists the lines of a scenario's YAML that the defaults do not have.
func difference(t *testing.T, s Scenario) string {
	d := Defaults()
	before, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, line := range strings.Split(string(before), "\n") {
		have[line] = true
	}
	var out strings.Builder
	for _, line := range strings.Split(string(after), "\n") {
		if !have[line] {
			fmt.Fprintln(&out, line)
		}
	}
	if out.Len() == 0 {
		return "the defaults\n"
	}
	return out.String()
}

// TestScenarioPrintsAsItReads is parse ∘ print = id.
func TestScenarioPrintsAsItReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScenario(t)
		b, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseScenario(b)
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Fatalf("not the same (-want +got):\n%s\nin\n%s", d, b)
		}
	})
}

func anyScenario(t *rapid.T) Scenario {
	duration := func(name string, min time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(min), int64(time.Hour)).Draw(t, name))
	}
	some := func(name string, from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, len(from), rapid.ID[string]).Draw(t, name)
	}
	s := Defaults()
	s.Name = rapid.StringMatching(`[a-z0-9 :#'"-]{1,20}`).Draw(t, "name")
	s.Lock = rapid.SampledFrom(workload.LockNames()).Draw(t, "lock")
	kind, _ := workload.LockNamed(s.Lock)
	s.Fencing = kind.Fencing && rapid.Bool().Draw(t, "fencing")
	s.Masters = rapid.IntRange(1, 9).Draw(t, "masters")
	s.Persistence = string(rapid.SampledFrom(cluster.Persistences).Draw(t, "persistence"))
	s.Clients, s.Keys = rapid.IntRange(1, 9).Draw(t, "clients"), rapid.IntRange(1, 9).Draw(t, "keys")
	s.TTL, s.TimeLimit = duration("ttl", 50*time.Millisecond), duration("time limit", time.Second)
	s.Interval, s.RestartDelay = duration("interval", 0), duration("restart delay", 0)
	s.Hold = fmt.Sprintf("%v..1h", duration("hold", 0))
	s.Extend = rapid.Float64Range(0, 1).Draw(t, "extend")
	s.Faults = nilIfEmpty(some("faults", nemesis.KindNames()))
	s.Targets, s.Properties = nilIfEmpty(some("targets", nemesis.Targets)), nilIfEmpty(some("properties", Levels()))
	s.Scheduler, s.Stall = rapid.SampledFrom(append(Schedulers, "")).Draw(t, "scheduler"), duration("stall", 0)
	s.Seed = rapid.Uint64().Draw(t, "seed")
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		s.Schedule = append(s.Schedule, Step{
			Fault: "partition", After: rapid.SampledFrom([]string{"", "c1 acquires k0", "any enters any", "step 1 heals"}).Draw(t, "after"),
			For: duration("for", 0), Masters: []string{"m1"}, Clients: nilIfEmpty(some("clients", []string{"c1"})),
			Mode: rapid.SampledFrom([]string{"", "hold", "drop"}).Draw(t, "mode"),
		})
	}
	return s
}

func nilIfEmpty(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
}
