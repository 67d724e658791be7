package search

import (
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
)

// BenchmarkExplore draws, simulates and judges schedules of the correct lock within its assumptions
// as `lockpick explore` does with one worker: the figures of docs/explore.md.
func BenchmarkExplore(b *testing.B) {
	before := debug.SetGCPercent(400) // as the command does
	b.Cleanup(func() { debug.SetGCPercent(before) })
	s := campaign.Defaults()
	s.Driver, s.Seed, s.Persistence = campaign.Sim, 1, "always"
	s.Faults = []string{"kill", "pause", "partition", "client-pause", "client-kill", "slow", "reset"}
	s.Properties = []string{checker.MutualExclusion.Level}
	s = s.WithRequirements()
	e := ExploreOptions{Base: s}
	b.ReportAllocs()
	pool := campaign.NewPool()
	b.Cleanup(pool.Close)
	used, n, lines := processor(), 0, 0
	for b.Loop() {
		t, err := e.try(b.Context(), pool, n, Schedule(e.Base, n))
		if err != nil {
			b.Fatal(err)
		}
		lines += t.result.Counts.Operations
		n++
	}
	took := processor() - used
	b.ReportMetric(float64(n)/took.Seconds(), "schedules/cpu-s")
	b.ReportMetric(float64(took.Nanoseconds())/float64(n), "cpu-ns/schedule")
	b.ReportMetric(float64(lines)/float64(n), "lines/schedule")
}

// processor is how much processor time this process has used, in all its threads: what
// a benchmark takes on a host that others use too.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
