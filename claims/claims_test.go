package claims

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/internal/realdrivers"
	"lockpick/search"
)

// TestClaims prints the claims in catalogues, or the errors in them.
func TestClaims(t *testing.T) {
	datadriven.RunTest(t, "testdata/claims.txt", func(t *testing.T, d *datadriven.TestData) string {
		claims, err := Parse([]byte(d.Input))
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		var b strings.Builder
		for _, c := range claims {
			fmt.Fprintf(&b, "%s %s: %s\n", c.ID, c.Slug, c.Claim)
			for _, k := range c.Cases {
				fmt.Fprintf(&b, "  %s: %s\n", k.Scenario.Name, differences(k.Scenario))
				for _, e := range k.Expect {
					fmt.Fprintf(&b, "    %s %s %s %v %q\n", e.Level(), e.Property, e.Verdict, e.Faults, e.Because)
				}
				if k.Twin != nil {
					fmt.Fprintf(&b, "    twin: %s\n", differences(k.Twin.Scenario))
				}
			}
		}
		return b.String()
	})
}

// differences are a scenario's fields that are not those that a catalogue starts from.
func differences(s scenario.Scenario) string {
	lines := func(s scenario.Scenario) []string {
		b, err := s.YAML()
		if err != nil {
			return []string{err.Error()}
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	base := claimDefaults()
	base.Name = s.Name
	known := map[string]bool{}
	for _, l := range lines(base) {
		known[l] = true
	}
	var out []string
	for _, l := range lines(s) {
		if !known[l] {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, "; ")
}

// TestCatalogueIsSound checks that the built-in claims can be parsed, and that each has all texts.
func TestCatalogueIsSound(t *testing.T) {
	claims, err := Load(BuiltIn)
	if err != nil {
		t.Fatal(err)
	}
	slugs := map[string]string{}
	for _, c := range claims {
		if other := slugs[c.Slug]; other != "" {
			t.Errorf("the claims %s and %s have the same slug", other, c.ID)
		}
		slugs[c.Slug] = c.ID
		for _, f := range []struct{ name, value string }{{"verdict", c.Verdict}, {"basis", c.Basis}, {"explain", c.Explain}, {"sources", strings.Join(c.Sources, "")}} {
			if f.value == "" {
				t.Errorf("claim %s has no %s", c.ID, f.name)
			}
		}
		if (c.Truth == "") != c.Bug {
			t.Errorf("claim %s: of each claim, and of no planted bug, it is said whether it is true; its truth is %q", c.ID, c.Truth)
		}
		for _, k := range c.Cases {
			if k.Shows == "" {
				t.Errorf("claim %s, case %q: it does not say what it shows", c.ID, k.Name)
			}
			if c.Bug && k.Twin == nil && k.NotOn[scenario.Sim] == "" {
				t.Errorf("planted bug %s, case %q: it has no twin to be acquitted", c.ID, k.Name)
			}
		}
	}
}

// few is a catalogue with cases of each kind for the tests below.
const few = `
title: Few
claims:
  - id: a
    slug: restart
    claim: A restart without persistence breaks it.
    sources: [test]
    verdict: violated
    basis: theory
    explain: It does.
    scenario:
      time_limit: 4s
      hold: 1s..1500ms
      schedule:
        - {fault: partition, clients: [c1], masters: [m4, m5], for: 60s}
        - {fault: kill, after: c1 acquires k0, plus: 10ms, repeat: true, masters: [m3]}
    cases:
      - name: restart
        shows: It restarts.
        expect: [{property: mutual-exclusion, verdict: violated, faults: [kill]}]
        twin: {shows: with fsync=always, scenario: {persistence: always, time_limit: 10s}}
        schedules: {quick: 8}
      - name: no faults
        shows: Nothing happens.
        scenario: {faults: [], time_limit: 10s, hold: 0s..200ms}
        expect: [{property: mutual-exclusion, verdict: holds}]
        measure: [acquire-p99, L2-violated]
        schedules: {quick: 8}
      - name: elsewhere
        shows: Nothing.
        expect: [{property: mutual-exclusion, verdict: holds}]
        not_on: {sim: it needs a disk}
`

func verified(t *testing.T, text string, change func(*Options)) *Result {
	t.Helper()
	claims, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Drivers: realdrivers.All(), Budget: search.Quick, Seed: 1, Store: campaign.Store{Dir: t.TempDir()}}}
	if change != nil {
		change(&opt)
	}
	r, err := Verify(t.Context(), claims, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVerifyIsDeterministic checks that the result is the same for any number of workers, except
// for times and folders.
func TestVerifyIsDeterministic(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	var before *Result
	for _, workers := range []int{1, 2, 5} {
		r := verified(t, few, func(v *Options) { v.Workers = workers })
		r.Folder, r.Took = "", 0
		if before == nil {
			before = r
			continue
		}
		ignore := cmpopts.IgnoreFields(PropertyResult{}, "FoundAfter", "Run")
		if diff := cmp.Diff(before, r, ignore, cmpopts.IgnoreFields(Result{}, "Started")); diff != "" {
			t.Errorf("with %d workers (+) it is not what it is with 1 (-):\n%s", workers, diff)
		}
	}
}

// TestVerifyKeepsTheEvidence checks that each finding has a run with the same verdict.
func TestVerifyKeepsTheEvidence(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	reported := 0
	r := verified(t, few, func(v *Options) {
		v.Report = func(dir string, _ *history.History, _ *judge.Result) error {
			reported++
			return os.WriteFile(filepath.Join(dir, judge.ReportFile), nil, 0o644)
		}
	})
	if got := r.Claims[0].Outcome; got != Expected {
		t.Errorf("the claim is %s", got)
	}
	findings := 0
	r.each(func(_ *ClaimResult, what string, f *PropertyResult) {
		findings++
		_, run, err := judge.File(filepath.Join(r.Folder, f.Run, judge.HistoryFile))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, v := range run.Verdicts {
			if v.Name == f.Property && v.Verdict != f.Found {
				t.Errorf("%s: found %s, but its evidence says %s", what, f.Found, v.Verdict)
			}
		}
		if run.Seed != f.Seed {
			t.Errorf("%s: the evidence has the seed %d, the finding %d", what, run.Seed, f.Seed)
		}
	})
	if findings != 3 || reported != findings {
		t.Errorf("%d findings and %d reports, want 3 of each", findings, reported)
	}
	if k := r.Claims[0].Cases[1]; len(k.Figures) != 2 || k.Figures[0].N != 8 || !(k.Figures[0].Value > 0) || k.Figures[1].Value != 0 || k.Figures[1].High < 20 {
		t.Errorf("measured: %+v", k.Figures)
	}
	if k := r.Claims[0].Cases[2]; k.Skipped != "it needs a disk" || k.Outcome() != NotHere {
		t.Errorf("what cannot run here: %+v", k)
	}
}

// TestNotAsExpected checks that a catalogue with wrong expectations fails, and says why.
func TestNotAsExpected(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for _, x := range []struct {
		name, from, to string
		outcome        Outcome
		why            string
	}{
		{"a claim that is wrong", "expect: [{property: mutual-exclusion, verdict: violated, faults: [kill]}]\n        twin: {shows: with fsync=always, scenario: {persistence: always, time_limit: 10s}}",
			"expect: [{property: mutual-exclusion, verdict: holds}]", Unexpected, "holds began while another"},
		{"a violation that never comes", "        scenario: {faults: [], time_limit: 10s, hold: 0s..200ms}\n        expect: [{property: mutual-exclusion, verdict: holds}]",
			"        scenario: {faults: [], time_limit: 10s, hold: 0s..200ms}\n        expect: [{property: mutual-exclusion, verdict: violated}]", Unexpected, "it was never violated: no two of"},
		{"another reason", "verdict: violated, faults: [kill]", "verdict: violated, faults: [kill], because: the moon", Unexpected, "violated, but not for the claimed reason"},
		{"a twin that is guilty too", "{persistence: always, time_limit: 10s}", "{persistence: none, time_limit: 10s}", Unexpected, "holds began while another"},
		{"schedules that prove nothing", "time_limit: 10s, hold: 0s..200ms", "time_limit: 1s, hold: 2s, clients: 1", Undecided, "needs 10 contended acquisitions, got 0"},
		{"too few schedules to prove it together", "{faults: [], time_limit: 10s, hold: 0s..200ms}\n        expect: [{property: mutual-exclusion, verdict: holds}]\n        measure: [acquire-p99, L2-violated]\n        schedules: {quick: 8}",
			"{faults: [], time_limit: 2s, hold: 500ms}\n        expect: [{property: mutual-exclusion, verdict: holds}]\n        schedules: {quick: 1}", Undecided, "1 schedule together: needs 10 contended acquisitions, got "},
	} {
		t.Run(x.name, func(t *testing.T) {
			if !strings.Contains(few, x.from) {
				t.Fatalf("the catalogue has no %q", x.from)
			}
			r := verified(t, strings.Replace(few, x.from, x.to, 1), nil)
			if got := r.Claims[0].Outcome; got != x.outcome {
				t.Errorf("the claim is %s, want %s", got, x.outcome)
			}
			said := ""
			r.each(func(_ *ClaimResult, _ string, f *PropertyResult) {
				if f.Outcome == x.outcome {
					said += f.Why + "\n"
				}
			})
			if !strings.Contains(said, x.why) {
				t.Errorf("it says %q, want %q", said, x.why)
			}
		})
	}
}

// TestSchedulesProveItTogether checks that schedules that are each too short to prove that a
// property holds can prove it together.
func TestSchedulesProveItTogether(t *testing.T) {
	const short = `
title: Short
claims:
  - id: a
    slug: short
    claim: It holds.
    sources: [test]
    verdict: holds
    basis: theory
    explain: It does.
    scenario: {persistence: always, hold: 500ms, time_limit: 3s, nemesis: random, faults: [kill], interval: 500ms}
    cases:
      - name: short
        shows: Little happens.
        expect: [{property: mutual-exclusion, verdict: holds}]
        schedules: {quick: 12}
`
	r := verified(t, short, nil)
	f := r.Claims[0].Cases[0].Findings[0]
	if f.Outcome != Expected || f.Found != checker.Holds || f.Proven < 6 || f.Bound != search.Bound(f.Proven, 1) {
		t.Fatalf("%s, %s in %d schedules: %s", f.Outcome, f.Found, f.Proven, f.Why)
	}
	if len(f.Evidence) != 2 {
		t.Fatalf("the evidence is %+v, want contended acquisitions, and those under faults", f.Evidence)
	}
	for _, e := range f.Evidence {
		if e.Got < e.Need || e.Need == 0 || !strings.Contains(f.Why, fmt.Sprintf("%d %s", e.Got, e.What)) {
			t.Errorf("%+v is not evidence, or not told: %s", e, f.Why)
		}
	}
	_, run, err := judge.File(filepath.Join(r.Folder, f.Run, judge.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	if v := run.ResultsFor([]string{"L2"})[0]; v.Verdict != checker.Invalid {
		t.Errorf("a schedule by itself is %s, so this tests nothing: %s", v.Verdict, v.Why)
	}
}

// TestBaseline checks that a baseline can be written and read, and that Compare finds only differences
// of verdicts.
func TestBaseline(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	r := verified(t, few, nil)
	path := filepath.Join(t.TempDir(), "baseline.json")
	if err := r.WriteBaseline(path); err != nil {
		t.Fatal(err)
	}
	before, err := ReadResult(path)
	if err != nil {
		t.Fatal(err)
	}
	if changes := verified(t, few, func(v *Options) { v.Workers = 3 }).Compare(before); len(changes) > 0 {
		t.Errorf("nothing changed, but: %v", changes)
	}
	before.Claims[0].Cases[0].Findings[0].Found = checker.Holds
	before.Claims[0].Cases[1].Findings[0].Property = "another"
	want := []Change{
		{"a", "restart mutual-exclusion", "holds", "violated", true},
		{"a", "no faults mutual-exclusion", "not there", "holds", false},
		{"a", "no faults another", "holds", "not there", false},
	}
	if diff := cmp.Diff(want, r.Compare(before)); diff != "" {
		t.Errorf("changes: %s", diff)
	}
	b, err := json.Marshal(r.Baseline())
	if err != nil || strings.Contains(string(b), r.Folder) || strings.Contains(string(b), `"reason"`) {
		t.Errorf("a baseline has folders or reasons in it (%v): %.300s", err, b)
	}
}

// TestVerifyRefuses checks the errors for an unknown driver and an unknown budget.
func TestVerifyRefuses(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for _, x := range []struct {
		v    Options
		want string
	}{
		{Options{JobOptions: search.JobOptions{Driver: "moon", Budget: search.Quick}}, `driver: "moon" is unknown: use one of auto, docker, process, sim`},
		{Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: "huge"}}, `budget: "huge" is unknown: use one of quick, full`},
	} {
		// A program with the package campaign/bubble in it has one driver more.
		if _, err := Verify(t.Context(), nil, x.v); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

// runsOf returns the folders of a verification's runs, and whether each finding has one.
func runsOf(t *testing.T, r *Result) (runs []string, evident []bool) {
	t.Helper()
	runs, err := campaign.Store{Dir: r.Folder}.Runs()
	if err != nil {
		t.Fatal(err)
	}
	if latest, err := os.Readlink(filepath.Join(r.Folder, "latest")); err == nil && !slices.Contains(runs, latest) {
		t.Errorf("latest points at %s, which is gone", latest)
	}
	r.each(func(_ *ClaimResult, what string, f *PropertyResult) {
		evident = append(evident, f.Run != "")
		if f.Run != "" && !slices.Contains(runs, f.Run) {
			t.Errorf("%s: the evidence %s is gone", what, f.Run)
		}
	})
	return runs, evident
}

// TestVerifyKeepsWhatIsAskedFor checks each value of Options.Keep. Of the three findings of few, one
// is a violation, and all are as expected.
func TestVerifyKeepsWhatIsAskedFor(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for keep, want := range map[string][]bool{
		KeepAll: {true, true, true}, KeepViolated: {true, false, false}, KeepUnexpected: {false, false, false}, KeepNone: {false, false, false},
	} {
		runs, evident := runsOf(t, verified(t, few, func(v *Options) { v.Keep = keep }))
		if !slices.Equal(evident, want) {
			t.Errorf("%s: evidence for %v, want %v", keep, evident, want)
		}
		if n := len(runs); n > 0 != want[0] {
			t.Errorf("%s: %d runs are kept", keep, n)
		}
	}
	claims, err := Parse([]byte(few))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), claims, Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Store: campaign.Store{Dir: t.TempDir()}}, Keep: "some"}); err == nil || !strings.Contains(err.Error(), "violated") {
		t.Errorf("unknown evidence: %v", err)
	}
}

// TestVerifyDiscardsRunsOnRealMasters checks that runs are removed there, too, where every schedule
// makes one.
func TestVerifyDiscardsRunsOnRealMasters(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	const quiet = `
title: Quiet
claims:
  - id: a
    slug: quiet
    claim: Without faults it holds.
    sources: [test]
    verdict: holds
    basis: theory
    explain: It does.
    scenario: {time_limit: 1s, hold: 1ms..20ms}
    cases:
      - name: quiet
        shows: Nothing happens.
        expect: [{property: mutual-exclusion, verdict: holds}]
        schedules: {quick: 1}
`
	for keep, want := range map[string]bool{KeepAll: true, KeepNone: false} { // whatever is found: the machine may be busy
		runs, evident := runsOf(t, verified(t, quiet, func(v *Options) { v.Driver, v.Keep = scenario.Process, keep }))
		if len(runs) > 0 != want || !slices.Equal(evident, []bool{want}) {
			t.Errorf("%s: %d runs, evidence %v", keep, len(runs), evident)
		}
	}
}

// TestClaimsAboutOtherStoresSayWhatTheyNeed: the driver process, and programs that are not installed here.
func TestClaimsAboutOtherStoresSayWhatTheyNeed(t *testing.T) {
	const stores = `
title: Stores
claims:
  - id: a
    slug: a
    claim: It holds.
    sources: [test]
    verdict: holds
    basis: theory
    explain: It does.
    cases:
      - {name: a, shows: Nothing happens., scenario: {driver: process, client: [etcd]}, expect: [{property: mutual-exclusion, verdict: holds}]}
`
	t.Setenv("PATH", "")
	for driver, want := range map[string]string{scenario.Sim: "the servers of etcd run as processes: use --driver process", scenario.Process: "sudo apt-get install etcd-server"} {
		all, err := Parse([]byte(stores))
		if err != nil {
			t.Fatal(err)
		}
		v := &verifier{opt: Options{JobOptions: search.JobOptions{Driver: driver, Budget: search.Quick}}}
		v.plan(&all[0])
		if k := v.claims[0].result.Cases[0]; !strings.Contains(k.Skipped, want) || k.Outcome() != NotHere {
			t.Errorf("%s: %+v, want %q", driver, k, want)
		}
	}
}
