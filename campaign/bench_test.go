package campaign

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/processor"
)

// BenchmarkSimulate is what a search runs by the ten thousands: a short scenario with
// two or three clients and one to three faults, simulated and judged: by mutual exclusion,
// as a search does unless it is told otherwise, or by all properties.
func BenchmarkSimulate(b *testing.B) {
	b.Run("by=L2", func(b *testing.B) { simulate(b, checker.MutualExclusion) })
	b.Run("by=all", func(b *testing.B) { simulate(b) })
}

func simulate(b *testing.B, by ...checker.Property) {
	before := debug.SetGCPercent(800) // as a search does: the live heap of a run is tiny
	b.Cleanup(func() { debug.SetGCPercent(before) })
	b.ReportAllocs()
	used := processor.Time()
	n, operations := 0, 0
	for b.Loop() {
		h, err := Record(b.Context(), short(uint64(n)), Simulation{}.Driver(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := judge.History(h, by...); err != nil {
			b.Fatal(err)
		}
		operations += len(h.Ops)
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "schedules/s")
	b.ReportMetric(float64(n)/(processor.Time()-used).Seconds(), "schedules/cpu-s")
	b.ReportMetric(float64(operations)/float64(n), "operations")
}

// short is a scenario as a search draws them.
func short(seed uint64) scenario.Scenario {
	s := scenario.Defaults()
	s.Driver, s.Seed, s.Faults = scenario.Sim, seed, nil
	s.Clients, s.TimeLimit = int(2+seed%2), time.Duration(5+seed%6)*time.Second
	master := func(n uint64) []string { return []string{fmt.Sprintf("m%d", 1+n%5)} }
	steps := []scenario.Step{
		{Fault: "kill", At: time.Duration(1000+seed%997) * time.Millisecond, Masters: master(seed)},
		{Fault: "partition", At: time.Duration(2000+seed%499) * time.Millisecond, For: time.Second, Masters: master(seed + 1), Clients: []string{"c1"}},
		{Fault: "clock", After: "c1 acquires k0", For: time.Second, Clock: "+3s", Masters: master(seed + 2)},
	}
	s.Schedule = steps[:1+seed%3]
	return s.WithRequirements()
}

// BenchmarkRun is `lockpick run --driver sim` with the defaults: the history written to a
// file, read back, judged, the result written.
func BenchmarkRun(b *testing.B) {
	used, virtual := processor.Time(), time.Duration(0)
	seed := uint64(0)
	for b.Loop() {
		seed++
		s := scenario.Defaults()
		s.Driver, s.Seed = scenario.Sim, seed
		_, h, _, err := Run(b.Context(), s, Options{Drivers: testDrivers, Store: Store{b.TempDir()}})
		if err != nil {
			b.Fatal(err)
		}
		virtual += h.Ops[len(h.Ops)-1].Time
	}
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
	b.ReportMetric(virtual.Seconds()/(processor.Time()-used).Seconds(), "virtual/cpu")
}
