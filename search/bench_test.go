package search

import (
	"runtime/debug"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/processor"
)

// BenchmarkExplore draws, simulates and judges schedules of the correct lock within its assumptions
// as `lockpick search` does with one worker: the figures of docs/search.md.
func BenchmarkExplore(b *testing.B) {
	before := debug.SetGCPercent(400) // as the command does
	b.Cleanup(func() { debug.SetGCPercent(before) })
	for name, faults := range map[string][]string{
		"kill and partition": {"kill", "partition"},
		"many kinds":         {"kill", "pause", "partition", "client-pause", "client-kill", "slow", "reset"},
	} {
		b.Run(name, func(b *testing.B) {
			s := scenario.Defaults()
			s.Driver, s.Seed, s.Persistence, s.Faults = scenario.Sim, 1, "always", faults
			s.Properties = []string{checker.MutualExclusion.Level}
			s = s.WithRequirements()
			e := ExploreOptions{Base: s}
			b.ReportAllocs()
			pool := campaign.NewPool()
			b.Cleanup(pool.Close)
			used, n, lines, conclusive := processor.Time(), 0, 0, 0
			for b.Loop() {
				t, err := e.try(b.Context(), pool, n)
				if err != nil {
					b.Fatal(err)
				}
				lines += t.result.Counts.Operations
				if v := t.result.ResultOf(checker.MutualExclusion); v != nil && v.Verdict == checker.Holds {
					conclusive++
				}
				n++
			}
			took := processor.Time() - used
			b.ReportMetric(float64(n)/took.Seconds(), "schedules/cpu-s")
			b.ReportMetric(float64(conclusive)/took.Seconds(), "conclusive/cpu-s")
			b.ReportMetric(100*float64(conclusive)/float64(n), "%conclusive")
			b.ReportMetric(float64(lines)/float64(n), "lines/schedule")
		})
	}
}
