package search

import (
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
	"lockpick/internal/processor"
)

// plantedSearches are searches for locks that are wrong on purpose, each for what its bug violates.
var plantedSearches = []struct {
	lock, persistence string
	faults            []string
	property          checker.Property
}{
	{"redlock", "none", []string{"kill", "partition"}, checker.MutualExclusion},
	{"redlock-extend-lies", "always", []string{"partition"}, checker.MutualExclusion},
	{"redlock-reachable-quorum", "always", []string{"partition"}, checker.MutualExclusion},
	{"redlock-renews-blindly", "always", []string{"kill", "partition"}, checker.MutualExclusion},
	{"redlock-plain-del", "always", []string{"kill", "partition"}, checker.MutualExclusion},
	{"redlock-weak-token", "always", []string{"kill", "partition"}, checker.MutualExclusion},
	{"redlock-one-token", "always", []string{"kill", "pause"}, checker.MutualExclusion},
	{"redlock-get-del", "always", []string{"client-pause"}, checker.MutualExclusion},
	{"redlock-late-start", "always", []string{"client-pause", "slow"}, checker.MutualExclusion},
	{"redlock-wall-clock", "always", []string{"client-clock"}, checker.MutualExclusion},
	{"redisson-redlock", "always", []string{"client-pause"}, checker.MutualExclusion},
	{"set-del", "always", []string{"client-pause"}, checker.MutualExclusion},
	{"redlock-extend-recreates", "none", []string{"kill"}, checker.Continuity},
	{"redlock-extend-lies", "always", []string{"partition"}, checker.Extension},
	{"redlock-minority-error", "always", []string{"kill", "pause"}, checker.QuorumGranted},
	{"redlock-cancelled-release", "always", []string{"pause"}, checker.OrphanKeys},
	{"redlock-release-overtakes", "always", []string{"pause"}, checker.OrphanKeys},
	{"redlock-release-believed", "always", []string{"partition"}, checker.OrphanKeys},
	{"redlock-evalsha", "always", []string{"kill"}, checker.OrphanKeys},
	{"redlock-renews-untold", "always", []string{"pause"}, checker.Notified},
	{"redlock-no-rollback", "always", []string{"partition"}, checker.Progress},
	{"setnx", "always", []string{"client-kill"}, checker.HolderLoss},
}

// BenchmarkPlantedBugs searches for each planted bug with several seeds, and reports the medians of the schedules and
// of the processor time that it took to find it. A search that finds nothing in mostSchedules counts with all of them.
func BenchmarkPlantedBugs(b *testing.B) {
	const seeds, mostSchedules = 11, 300
	pool := campaign.NewPool()
	b.Cleanup(pool.Close)
	for _, p := range plantedSearches {
		b.Run(p.lock+"/"+p.property.Name, func(b *testing.B) {
			var schedules []int
			var took []time.Duration
			for b.Loop() {
				for seed := range uint64(seeds) {
					e := ExploreOptions{Base: campaigntest.Simulated(func(s *scenario.Scenario) {
						s.Lock, s.Persistence, s.Faults, s.Seed, s.Properties = p.lock, p.persistence, p.faults, seed+1, []string{p.property.Name}
					}).WithRequirements()}
					before, n := processor.Time(), 0
					for found := false; n < mostSchedules && !found; n++ {
						t, err := e.try(b.Context(), pool, n)
						if err != nil {
							b.Fatal(err)
						}
						v := t.result.ResultOf(p.property)
						found = v != nil && v.Verdict == checker.Violated
					}
					schedules, took = append(schedules, n), append(took, processor.Time()-before)
				}
			}
			slices.Sort(schedules)
			slices.Sort(took)
			b.ReportMetric(float64(schedules[len(schedules)/2]), "schedules")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "cpu-ms")
		})
	}
}
