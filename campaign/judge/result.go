package judge

import (
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/history/logs"
)

// Result is the result of a campaign: result.json in the store, and (without the violations'
// details) the output of --json.
type Result struct {
	Run         string            `json:"run"`  // its folder in the store
	Name        string            `json:"name"` // of the scenario
	Started     time.Time         `json:"started"`
	Duration    time.Duration     `json:"duration"` // ns, from the first operation to the last
	Driver      string            `json:"driver"`
	Seed        uint64            `json:"seed"`
	Lock        string            `json:"lock"`
	Client      []string          `json:"client,omitempty"` // the command that ran as each client, if it was not Lockpick's own
	Masters     int               `json:"masters"`
	Persistence string            `json:"persistence"`
	Clients     int               `json:"clients"`
	Keys        int               `json:"keys"`
	TTL         time.Duration     `json:"ttl"`    // ns
	Faults      []string          `json:"faults"` // that were asked for
	Nemesis     string            `json:"nemesis"`
	Versions    map[string]string `json:"versions"`
	Command     string            `json:"command"`         // runs the same scenario again
	Notes       []string          `json:"notes,omitempty"` // what a reader should know: interrupted, torn, a master that never came back

	Overall    checker.Verdict   `json:"verdict"`              // on the properties that were asked for (Conclude)
	Why        string            `json:"why,omitempty"`        // it is not holds
	CutShort   string            `json:"cut_short,omitempty"`  // why the history is not that of a whole run
	Properties []string          `json:"properties,omitempty"` // that were requested; empty: all
	Untested   map[string]string `json:"untested,omitempty"`   // why a property has no result, by its name

	Verdicts         []checker.Result `json:"verdicts"`
	Counts           Counts           `json:"counts"`
	FirstViolationMS *float64         `json:"first_violation_ms"` // since the run began; null: none

	// Of imported logs: overlaps that may not have happened, because they are not longer than
	// the uncertainty of their times.
	PossibleCount int             `json:"possible_count,omitempty"`
	Possible      []logs.Possible `json:"possible,omitempty"` // the first of them

	Report  string `json:"report"`  // path of report.html
	History string `json:"history"` // path of history.jsonl
}

// ResultsFor returns the verdicts on some properties, by their levels or names; with none, all
// verdicts.
func (r *Result) ResultsFor(properties []string) []checker.Result {
	wanted := checker.PropertiesOf(properties)
	var out []checker.Result
	for _, v := range r.Verdicts {
		if slices.ContainsFunc(wanted, func(p checker.Property) bool { return p.Name == v.Name }) {
			out = append(out, v)
		}
	}
	return out
}

// FirstViolation returns the first violation of some properties, and the property's name; nil:
// none.
func (r *Result) FirstViolation(properties []string) (first *checker.Violation, of string) {
	for _, v := range r.ResultsFor(properties) {
		if v.Verdict == checker.Violated && len(v.Violations) > 0 && (first == nil || v.Violations[0].At < first.At) {
			first, of = &v.Violations[0], v.Name
		}
	}
	return first, of
}

// Verdict returns the worst of the verdicts: violated before unknown before invalid before
// holds.
func (r *Result) Verdict() checker.Verdict {
	worst := checker.Holds
	for _, v := range r.Verdicts {
		if Worse(v.Verdict, worst) {
			worst = v.Verdict
		}
	}
	return worst
}
