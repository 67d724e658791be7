//go:build real

package audit

import (
	"flag"
	"math/rand/v2"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/sampletest"
	"lockpick/search"
	"lockpick/workload"
)

var (
	seeds = sampletest.Flag("audit.seeds", 10, 10, 5, "audit each correct lock with so many seeds")
	most  = flag.Int("audit.most", 1, "schedules of each case, at most; 0: as many as lockpick audit tries")
)

// TestNoSeedConvictsACorrectLock: the battery breaks none of the locks that are meant to be right, whatever is drawn. What it
// breaks is a defect of the battery, or a bug. make nightly tries 100 seeds.
func TestNoSeedConvictsACorrectLock(t *testing.T) {
	first := rand.Uint64()
	t.Logf("%d seeds from %d on", seeds(), first)
	for _, k := range workload.Locks {
		if k.Twin != "" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			for i := range uint64(seeds()) {
				r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: first + i, Most: *most, Store: campaign.Store{Dir: t.TempDir()}}, Lock: k.Name})
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range r.Rows {
					for _, c := range row.Cells {
						for _, f := range c.Findings {
							if f.Outcome == Broken {
								t.Errorf("seed %d: %s: %s %s: %s\n%v\n%s", first+i, row.ID, c.Level, f.Property, f.Why, f.Reason, f.Command)
							}
						}
					}
				}
			}
		})
	}
}
