package claims

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/search"
)

// ResultFile is the file with a verification's result, in its folder of the store.
const ResultFile = "claims.json"

// Result is the result of a verification: claims.json in the store, the output of --json, and,
// when it is committed, the baseline for later verifications.
type Result struct {
	search.JobResult
	Claims []ClaimResult `json:"claims"`
}

// Outcome says how a finding, a case or a claim compares with the expected verdicts.
type Outcome string

// The outcomes.
const (
	Expected   Outcome = "as expected"
	Unexpected Outcome = "not as expected"
	Undecided  Outcome = "undecided" // unknown, invalid or interrupted
	Reported   Outcome = "reported"  // only measured values, which are a matter of judgement
	NotHere    Outcome = "not here"  // the case cannot run on this driver
)

// Outcomes lists the outcomes, the worst first.
var Outcomes = []Outcome{Unexpected, Undecided, Expected, Reported, NotHere}

// ClaimResult is the result of one claim.
type ClaimResult struct {
	ID      string       `json:"id"`
	Slug    string       `json:"slug"`
	Claim   string       `json:"claim"`
	Group   string       `json:"group,omitempty"`
	Bug     bool         `json:"bug,omitempty"`
	Outcome Outcome      `json:"outcome"`
	Cases   []CaseResult `json:"cases"`
}

// CaseResult is the result of one case.
type CaseResult struct {
	Name      string           `json:"name"`
	Shows     string           `json:"shows"`
	Lock      string           `json:"lock"`
	Skipped   string           `json:"skipped,omitempty"`   // why the case did not run
	Schedules int              `json:"schedules,omitempty"` // number of schedules that were tried
	Leases    int              `json:"leases,omitempty"`    // number of leases that were granted in them
	Findings  []PropertyResult `json:"findings,omitempty"`
	Twin      *TwinResult      `json:"twin,omitempty"`
	Figures   []Metric         `json:"figures,omitempty"`
}

// TwinResult is the result of the twin of a case.
type TwinResult struct {
	Shows     string           `json:"shows"`
	Lock      string           `json:"lock"`
	Schedules int              `json:"schedules"`
	Findings  []PropertyResult `json:"findings"`
}

// PropertyResult is the result for one property.
type PropertyResult struct {
	Property   string             `json:"property"`
	Level      string             `json:"level"`
	Expected   checker.Verdict    `json:"expected"`
	Found      checker.Verdict    `json:"found"`
	Outcome    Outcome            `json:"outcome"`
	Why        string             `json:"why"`
	Schedules  int                `json:"schedules"`             // number of schedules that were tried
	Proven     int                `json:"proven"`                // number of these that violate the property or add to the evidence that it holds
	Violated   int                `json:"violated,omitempty"`    // number of these that violate it
	Bound      float64            `json:"bound,omitempty"`       // if it holds: at most this fraction of schedules violates it, with 95 % confidence for this finding alone
	Evidence   []checker.Evidence `json:"evidence,omitempty"`    // if it holds: the evidence of all schedules together
	Seed       uint64             `json:"seed"`                  // seed of the schedule that is the evidence
	FoundAfter time.Duration      `json:"found_after,omitempty"` // ns of real time until that schedule had run
	At         *time.Duration     `json:"at,omitempty"`          // ns from the beginning of the run to the violation
	Faults     []string           `json:"faults,omitempty"`      // kinds of faults that the reason names
	Summary    string             `json:"summary,omitempty"`
	Reason     []string           `json:"reason,omitempty"`
	Run        string             `json:"run,omitempty"` // the evidence's folder below Folder
}

// Outcome returns the worst outcome of the case's findings.
func (k *CaseResult) Outcome() Outcome {
	if k.Skipped != "" {
		return NotHere
	}
	findings := k.Findings
	if k.Twin != nil {
		findings = append(slices.Clone(findings), k.Twin.Findings...)
	}
	worst := Reported
	for _, f := range findings {
		if slices.Index(Outcomes, f.Outcome) < slices.Index(Outcomes, worst) {
			worst = f.Outcome
		}
	}
	return worst
}

func (c *ClaimResult) outcome() Outcome {
	worst := NotHere
	for i := range c.Cases {
		if o := c.Cases[i].Outcome(); slices.Index(Outcomes, o) < slices.Index(Outcomes, worst) {
			worst = o
		}
	}
	return worst
}

// Count counts the claims with each outcome.
func (r *Result) Count() map[Outcome]int {
	n := map[Outcome]int{}
	for i := range r.Claims {
		n[r.Claims[i].Outcome]++
	}
	return n
}

// ReadResult reads the result of a verification, or a baseline.
func ReadResult(path string) (*Result, error) { return search.ReadResult[Result](path, "claims") }

// Latest returns the latest result of each driver in a store, except for one folder.
func Latest(s campaign.Store, but string) map[string]*Result {
	latest := map[string]*Result{}
	paths, _ := filepath.Glob(filepath.Join(s.Dir, "*-claims-*", ResultFile))
	slices.Sort(paths)
	for _, p := range paths {
		if filepath.Dir(p) == filepath.Clean(but) {
			continue
		}
		if r, err := ReadResult(p); err == nil && !r.Interrupted {
			r.Folder = filepath.Dir(p)
			latest[r.Driver] = r
		}
	}
	return latest
}

// Baseline returns the result without the fields that differ between two verifications of the same
// code: times, folders and the texts of the evidence.
func (r *Result) Baseline() *Result {
	b := &Result{JobResult: r.JobResult.Baseline()}
	lean := func(in []PropertyResult) []PropertyResult {
		var out []PropertyResult
		for _, f := range in {
			out = append(out, PropertyResult{
				Property: f.Property, Level: f.Level, Expected: f.Expected, Found: f.Found, Outcome: f.Outcome,
				Schedules: f.Schedules, Proven: f.Proven, Violated: f.Violated, Bound: f.Bound, Seed: f.Seed, Faults: f.Faults,
			})
		}
		return out
	}
	for _, c := range r.Claims {
		c.Cases = slices.Clone(c.Cases)
		for i := range c.Cases {
			k := &c.Cases[i]
			k.Shows, k.Leases, k.Figures, k.Findings = "", 0, nil, lean(k.Findings)
			if k.Twin != nil {
				k.Twin = &TwinResult{Lock: k.Twin.Lock, Schedules: k.Twin.Schedules, Findings: lean(k.Twin.Findings)}
			}
		}
		b.Claims = append(b.Claims, c)
	}
	return b
}

// WriteBaseline writes the result as a baseline.
func (r *Result) WriteBaseline(path string) error { return search.WriteResult(path, r.Baseline()) }

// Change is one difference between a result and the baseline.
type Change struct {
	Claim   string `json:"claim"` // the claim's id
	What    string `json:"what"`  // the case and the property
	Before  string `json:"before"`
	Now     string `json:"now"`
	Verdict bool   `json:"verdict"` // the verdict or its outcome changed, which a baseline is to detect
}

// Compare returns the differences from a baseline of the same driver. A finding that only one of the
// two has is a change, but not of a verdict. Claims that were not verified at all this time do not
// count, since only some may have been selected.
func (r *Result) Compare(before *Result) []Change {
	old := map[string]*PropertyResult{}
	known := map[string]bool{}
	before.each(func(c *ClaimResult, what string, f *PropertyResult) {
		old[c.ID+" "+what] = f
		known[c.ID] = true
	})
	var changes []Change
	seen := map[string]bool{}
	now := map[string]bool{}
	r.each(func(c *ClaimResult, what string, f *PropertyResult) {
		id := c.ID + " " + what
		seen[id], now[c.ID] = true, true
		was, ok := old[id]
		switch {
		case !ok:
			changes = append(changes, Change{c.ID, what, "not there", string(f.Found), false})
		case was.Found != f.Found:
			changes = append(changes, Change{c.ID, what, string(was.Found), string(f.Found), true})
		case was.Outcome != f.Outcome:
			changes = append(changes, Change{c.ID, what, string(was.Outcome), string(f.Outcome), true})
		case strings.Join(was.Faults, " ") != strings.Join(f.Faults, " "):
			changes = append(changes, Change{c.ID, what, "violated by " + strings.Join(was.Faults, ", "), "violated by " + strings.Join(f.Faults, ", "), false})
		}
	})
	before.each(func(c *ClaimResult, what string, f *PropertyResult) {
		if id := c.ID + " " + what; now[c.ID] && !seen[id] {
			changes = append(changes, Change{c.ID, what, string(f.Found), "not there", false})
		}
	})
	return changes
}

// each calls visit with every finding, including those of twins.
func (r *Result) each(visit func(c *ClaimResult, what string, f *PropertyResult)) {
	for i := range r.Claims {
		c := &r.Claims[i]
		c.each(func(what string, f *PropertyResult) { visit(c, what, f) })
	}
}

// each calls visit with every finding of a claim, including those of twins. what is the case and the property.
func (c *ClaimResult) each(visit func(what string, f *PropertyResult)) {
	for i := range c.Cases {
		k := &c.Cases[i]
		for j := range k.Findings {
			f := &k.Findings[j]
			visit(strings.TrimSpace(k.Name+" "+f.Property), f)
		}
		if k.Twin == nil {
			continue
		}
		for j := range k.Twin.Findings {
			f := &k.Twin.Findings[j]
			visit(strings.TrimSpace(k.Name+" (twin) "+f.Property), f)
		}
	}
}
