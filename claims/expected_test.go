package claims

import (
	"strings"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/search"
)

// TestCatalogueIsAsExpected verifies all built-in claims, with few schedules for each.
func TestCatalogueIsAsExpected(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	var catalogue []Claim
	tried := sampletest.Of(t, 8, 2)
	for i, c := range Catalogue() {
		if tried(i) {
			catalogue = append(catalogue, c)
		}
	}
	r, err := Verify(t.Context(), catalogue, Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 6, Store: campaign.Store{Dir: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	r.each(func(c *ClaimResult, what string, f *PropertyResult) {
		if f.Outcome != Expected {
			t.Errorf("claim %s, %s: expected %s, found %s: %s\n%s\n%s", c.ID, what, f.Expected, f.Found, f.Why, f.Summary, strings.Join(f.Reason, "\n"))
		}
	})
}
