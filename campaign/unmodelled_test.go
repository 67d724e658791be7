package campaign

import (
	"testing"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
)

// TestACommandThatIsNotModelledEndsARun: no property holds, and each says which command it was.
func TestACommandThatIsNotModelledEndsARun(t *testing.T) {
	for lock, command := range map[string][]any{
		"sends-geoadd": {"GEOADD", "places", "1", "2", "x"}, "waits": {"BLPOP", "none", "0"}, "other-database": {"MOVE", "k", "1"}, "sends-get": {"GET", "k"}, "sends-flushall": {"FLUSHALL"},
	} {
		want := map[string]string{
			"sends-geoadd": "not modelled: GEOADD", "waits": "not modelled: BLPOP THAT WAITS, FROM A CLIENT WITHOUT A CONNECTION OF ITS OWN", "other-database": "not modelled: MOVE BETWEEN DATABASES",
		}[lock]
		if err := campaigntest.RegisterSending(lock, command...); err != nil {
			t.Fatal(err)
		}
		s := campaigntest.Simulated(func(s *scenario.Scenario) { s.Lock, s.Faults, s.Persistence = lock, nil, "always" })
		h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := judge.History(h)
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, v := range r.Verdicts {
			if v.Verdict == checker.Holds {
				held++
			}
			if want != "" && (v.Verdict != checker.Invalid || v.Why != want) {
				t.Errorf("%s: %s is %s: %s", lock, v.Name, v.Verdict, v.Why)
			}
		}
		if (held == 0) != (want != "") {
			t.Errorf("%s: %d properties hold", lock, held)
		}
	}
}
