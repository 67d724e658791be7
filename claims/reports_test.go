package claims

import (
	"bytes"
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/checker"
	"lockpick/reports/junit"
	"lockpick/reports/term"
	"lockpick/search"
)

// sampleResult is a result with a claim of every outcome.
func sampleResult() *Result {
	at := 7283 * time.Millisecond
	violated := PropertyResult{
		Property: "mutual-exclusion", Level: "L2", Expected: checker.Violated, Found: checker.Violated, Outcome: Expected,
		Why: "1 of 12 holds began while another lease still held the lock: the first at 7.283s on k0", Schedules: 1, Proven: 1, Violated: 1,
		Seed: 1_000_000, FoundAfter: 6 * time.Millisecond, At: &at, Faults: []string{"kill"}, Run: "run-35",
		Summary: "c2 was granted k0 at 7.283s while c1 could still rely on it",
		Reason:  []string{"At 6.500s c1 was granted k0, valid until 8.485s, by the votes of m1, m2 and m3.", "At 6.510s m3 was killed (kill #2) without persistence."},
	}
	holds := PropertyResult{
		Property: "mutual-exclusion", Level: "L2", Expected: checker.Holds, Found: checker.Holds, Outcome: Expected,
		Why: "no two of 12 holds overlapped; 2 faults took effect (kill)", Schedules: 20, Proven: 18, Bound: search.Bound(18, 1), Evidence: []checker.Evidence{{What: "contended acquisitions", Got: 412, Need: 10}, {What: "contended acquisitions while a fault was in force or within a TTL after it", Got: 96, Need: 3}}, Seed: 1_000_000, FoundAfter: 90 * time.Millisecond, Run: "run-35-twin",
	}
	wrong := violated
	wrong.Expected, wrong.Outcome, wrong.Schedules, wrong.Proven, wrong.Violated, wrong.Run = checker.Holds, Unexpected, 3, 3, 1, "run-10"
	open := PropertyResult{
		Property: "extension", Level: "EXT", Expected: checker.Holds, Found: checker.Invalid, Outcome: Undecided,
		Why: "12 of 20 schedules decide nothing: the schedule did not exercise the property extension", Schedules: 20, Proven: 8, Seed: 1_000_000, Run: "run-51",
	}
	return &Result{
		JobResult: search.JobResult{Folder: "store/claims-sim", Driver: "sim", Budget: "quick", Seed: 1, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 1500 * time.Millisecond,
			Versions: map[string]string{"lockpick": "v1"},
		}, Claims: []ClaimResult{
			{ID: "35", Slug: "restart", Claim: "A restart <breaks> the lock.", Group: "Restarts", Outcome: Expected, Cases: []CaseResult{{
				Shows: "A master is killed.", Lock: "redlock", Schedules: 1, Findings: []PropertyResult{violated},
				Twin: &TwinResult{Shows: "with fsync=always", Lock: "redlock", Schedules: 20, Findings: []PropertyResult{holds}},
			}}},
			{ID: "10", Slug: "exclusion", Claim: "At most one client holds a lease.", Group: "Promise", Outcome: Unexpected, Cases: []CaseResult{
				{Name: "links", Lock: "redlock", Findings: []PropertyResult{holds}}, {Name: "clocks", Lock: "redlock", Findings: []PropertyResult{wrong}},
			}},
			{ID: "51", Slug: "extension", Claim: "An extension needs a quorum.", Group: "Promise", Outcome: Undecided, Cases: []CaseResult{{Lock: "redlock", Findings: []PropertyResult{open}}}},
			{ID: "44", Slug: "price", Claim: "fsync=always ruins performance.", Group: "Judgement", Outcome: NotHere, Cases: []CaseResult{{Name: "always", Lock: "redlock", Skipped: "a simulated disk takes as long as it is told to"}}},
			{ID: "22", Slug: "multiplexed", Claim: "All at once is faster.", Group: "Judgement", Outcome: Reported, Cases: []CaseResult{{
				Name: "five masters", Lock: "redlock", Figures: []Metric{
					{Name: "acquire-p99", Says: "99th percentile of the time of an acquire that was granted", Unit: "ms", Value: 2.2, Low: 2.13, High: 2.24, N: 20},
					{Name: "longest-wait", Says: "longest time of an acquire", Unit: "ms", Value: 5400, Low: 4295, High: 6350, N: 20},
				},
			}}},
		},
	}
}

// sampleClaims is the claims of that result.
func sampleClaims() []Claim {
	var all []Claim
	for _, c := range sampleResult().Claims {
		claim := Claim{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Group: c.Group, Sources: []string{"Redis docs"}, Denied: []string{"Kleppmann"}, Verdict: "violated", Basis: "theory", Explain: "It <is> so."}
		for _, k := range c.Cases {
			claim.Cases = append(claim.Cases, Case{Name: k.Name, Shows: k.Shows})
		}
		all = append(all, claim)
	}
	return all
}

// TestClaimsReports compares what people and scripts read with testdata/reports.txt.
func TestClaimsReports(t *testing.T) {
	datadriven.RunTest(t, "testdata/reports.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b bytes.Buffer
		var err error
		switch d.Cmd {
		case "table":
			err = Terminal(&b, sampleResult(), term.Options{Width: 100})
		case "mutants":
			r := sampleResult()
			r.Claims = r.Claims[:2]
			err = PlantedBugs(&b, r, term.Options{Width: 100})
		case "changes":
			err = WriteChanges(&b, []Change{{Claim: "35", What: "mutual-exclusion", Before: "holds", Now: "violated", Verdict: true}, {Claim: "10", What: "clocks", Before: "not there", Now: "holds"}}, "baseline.json", term.Options{Width: 80})
		case "junit":
			err = JUnit(&b, sampleResult())
		case "markdown":
			err = Markdown(&b, sampleClaims()[:1])
			if _, text, ok := strings.Cut(b.String(), "\n## "); ok && err == nil {
				return "## " + text
			}
		}
		if err != nil {
			return "error: " + err.Error()
		}
		return b.String()
	})
}

// TestJUnitIsXML: whatever stands in claims and reasons.
func TestJUnitIsXML(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, sampleResult()); err != nil {
		t.Fatal(err)
	}
	var all junit.Suites
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil || all.Failures == 0 || all.Errors == 0 {
		t.Fatalf("%d failures and %d errors (%v)", all.Failures, all.Errors, err)
	}
}

// TestClaimsPageIsGenerated: docs/claims.md says what the catalogue does.
func TestClaimsPageIsGenerated(t *testing.T) {
	var want strings.Builder
	if err := Markdown(&want, Catalogue()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/claims.md")
	if err != nil || string(got) != want.String() {
		t.Errorf("docs/claims.md is not what the catalogue makes of it (%v): make docs", err)
	}
}
