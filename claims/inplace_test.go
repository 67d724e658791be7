package claims

import (
	"slices"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/search"
)

// TestInPlace checks that the lock replaces another in cases and twins, that other cases are left
// out, and that cases that the lock cannot run say why.
func TestInPlace(t *testing.T) {
	all := Catalogue()
	before := 0
	for _, c := range all {
		for _, k := range c.Cases {
			if k.Scenario.Lock == "redlock" {
				before++
			}
		}
	}
	got := InPlace(all, Replacement{Lock: "textbook", For: "redlock", Lacks: func(s *scenario.Scenario) string {
		if s.Fencing {
			return "no tokens"
		}
		return ""
	}})
	cases, without := 0, 0
	for _, c := range got {
		for _, k := range c.Cases {
			cases++
			if k.Scenario.Lock != "textbook" || k.Twin != nil && k.Twin.Scenario.Lock != "textbook" {
				t.Errorf("claim %s %s is about %s", c.ID, k.Name, k.Scenario.Lock)
			}
			if why := k.CannotRun(scenario.Sim, search.Quick); k.Scenario.Fencing != (why == "no tokens") {
				t.Errorf("claim %s %s: it cannot run: %q", c.ID, k.Name, why)
			}
			if k.Scenario.Fencing {
				without++
			}
		}
	}
	if cases != before || cases == 0 || without == 0 {
		t.Errorf("%d cases of %d, %d of them with fencing", cases, before, without)
	}
	if !slices.ContainsFunc(all[9].Cases, func(k Case) bool { return k.Scenario.Lock == "redlock" }) {
		t.Error("the catalogue itself was changed")
	}
}
