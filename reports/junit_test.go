package reports

import (
	"bytes"
	"encoding/xml"
	"testing"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/junit"
)

// TestJUnitFailsWhenTheExitCodeDoes: a run's JUnit has failures or errors if and only if its overall verdict is
// something else than holds, whatever was found and asked for.
func TestJUnitFailsWhenTheExitCodeDoes(t *testing.T) {
	names := []string{"L1", "L2", "L3", "DF", "FM", checker.MutualExclusion.Name, checker.DeadOnArrival.Name, checker.OwnKeys.Name}
	rapid.Check(t, func(t *rapid.T) {
		r := &judge.Result{Lock: "redlock", Driver: "sim"}
		for _, p := range checker.Properties {
			verdict := rapid.SampledFrom([]checker.Verdict{"", checker.Holds, checker.Holds, checker.Violated, checker.Unknown, checker.Invalid}).Draw(t, p.Name)
			if verdict != "" {
				r.Verdicts = append(r.Verdicts, checker.Result{Property: p, Verdict: verdict, Why: "needs 10 acquisitions, got 2"})
			}
		}
		if rapid.Bool().Draw(t, "most hold") {
			for i := range r.Verdicts {
				if r.Verdicts[i].Verdict == checker.Violated {
					r.Verdicts[i].Verdict = checker.Holds
				}
			}
		}
		r.CutShort = rapid.SampledFrom([]string{"", "", "interrupted"}).Draw(t, "cut short")
		r.SetProperties(rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "asked"))
		var text bytes.Buffer
		if err := exportJUnit(&text, &Export{Result: r}); err != nil {
			t.Fatal(err)
		}
		var all junit.Suites
		if err := xml.Unmarshal(text.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		if fails := all.Failures+all.Errors > 0; fails != (r.Overall != checker.Holds) {
			t.Fatalf("the run is %s (%s), and its JUnit says %d failures and %d errors", r.Overall, r.Why, all.Failures, all.Errors)
		}
		if (all.Failures > 0) != (r.Overall == checker.Violated) {
			t.Fatalf("the run is %s (%s), and its JUnit says %d failures", r.Overall, r.Why, all.Failures)
		}
	})
}
