// Package campaigntest provides scenarios for tests.
package campaigntest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Simulated returns the default scenario on simulated masters, with some changes.
func Simulated(change func(*scenario.Scenario)) scenario.Scenario {
	s := scenario.Defaults()
	s.Driver = scenario.Sim
	change(&s)
	return s
}

// AnyScenario draws a valid scenario for a property test.
func AnyScenario(t *rapid.T) scenario.Scenario {
	duration := func(name string, min time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(min), int64(time.Hour)).Draw(t, name))
	}
	some := func(name string, from []string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, len(from), rapid.ID[string]).Draw(t, name)
	}
	s := scenario.Defaults()
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
	s.Faults = nilIfEmpty(some("faults", fault.NamesOn("sim")))
	s.Targets, s.Properties = nilIfEmpty(some("targets", withoutLeader)), nilIfEmpty(some("properties", checker.Levels()))
	s.Scheduler, s.Stall = rapid.SampledFrom(append(scenario.Schedulers, "")).Draw(t, "scheduler"), duration("stall", 0)
	s.Seed = rapid.Uint64().Draw(t, "seed")
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		s.Schedule = append(s.Schedule, scenario.Step{
			Fault: "partition", After: rapid.SampledFrom([]string{"", "c1 acquires k0", "any enters any", "step 1 heals"}).Draw(t, "after"),
			For: duration("for", 0), Masters: []string{"m1"}, Clients: nilIfEmpty(some("clients", []string{"c1"})),
			Mode: rapid.SampledFrom([]cluster.Mode{cluster.Pass, cluster.Hold, cluster.Drop}).Draw(t, "mode"),
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

// withoutLeader are the targets of masters that know nothing of each other.
var withoutLeader = slices.DeleteFunc(slices.Clone(nemesis.Targets), func(word string) bool { return word == nemesis.Leader })
