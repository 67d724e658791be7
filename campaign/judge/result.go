package judge

import (
	"maps"
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history/logs"
)

// Result is the result of a campaign: result.json in the store and, without the details of violations, the
// output of --json.
type Result struct {
	Run         string            `json:"run"`  // name of the run's folder in the store
	Name        string            `json:"name"` // name of the scenario
	Started     time.Time         `json:"started"`
	Duration    time.Duration     `json:"duration"` // ns, from the first operation to the last
	Driver      string            `json:"driver"`
	Seed        uint64            `json:"seed"`
	Lock        string            `json:"lock"`
	Client      []string          `json:"client,omitempty"` // the command of each client, if it was not Lockpick's own
	Masters     int               `json:"masters"`
	Persistence string            `json:"persistence"`
	Clients     int               `json:"clients"`
	Keys        int               `json:"keys"`
	TTL         time.Duration     `json:"ttl"`    // ns
	Faults      []string          `json:"faults"` // the kinds of fault in the scenario
	Nemesis     string            `json:"nemesis"`
	Versions    map[string]string `json:"versions"`        // of lockpick, go, the client's library, and the server by its own name (ServerOf)
	Command     string            `json:"command"`         // repeats the scenario
	Notes       []string          `json:"notes,omitempty"` // such as: interrupted, torn, a master never came back
	Hints       []Hint            `json:"hints,omitempty"` // rules that the lock's commands broke
	Since       *Since            `json:"since,omitempty"` // nil: the store has no earlier run of the scenario

	Overall    checker.Verdict   `json:"verdict"`              // on Properties: see Conclude
	Why        string            `json:"why,omitempty"`        // why the verdict is not holds
	CutShort   string            `json:"cut_short,omitempty"`  // why the history is not that of a whole run
	Properties []string          `json:"properties,omitempty"` // they decide the verdict; empty: see Conclude
	Untested   map[string]string `json:"untested,omitempty"`   // why a property has no result, by its name
	Unseen     string            `json:"unseen,omitempty"`     // why the votes do not describe the lock; empty: they do
	TooFew     string            `json:"too_few,omitempty"`    // why it is not known how many masters the lock needs; empty: it is

	Verdicts         []checker.Result `json:"verdicts"`
	Causes           []Cause          `json:"causes,omitempty"` // of the violations, those first that say most
	Counts           Counts           `json:"counts"`
	Waiting          Waiting          `json:"waiting"`
	FirstViolationMS *float64         `json:"first_violation_ms"` // from the beginning of the run; null: none

	// PossibleCount counts overlaps in imported logs that may not have happened, because they are not longer
	// than the uncertainty of their times.
	PossibleCount int             `json:"possible_count,omitempty"`
	Possible      []logs.Possible `json:"possible,omitempty"` // the first of these overlaps

	Report  string `json:"report"`  // path of report.html
	History string `json:"history"` // path of history.jsonl
}

// ResultsFor returns the verdicts on some properties, named by level or name, or all verdicts if none is
// named.
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

// ResultOf returns the result for a property, or nil.
func (r *Result) ResultOf(p checker.Property) *checker.Result { return checker.ResultOf(r.Verdicts, p) }

// FirstViolation returns the earliest violation of some properties, and the property's name, or nil if there
// is none.
func (r *Result) FirstViolation(properties []string) (first *narrative.Violation, of string) {
	for _, v := range r.ResultsFor(properties) {
		if v.Verdict == checker.Violated && len(v.Violations) > 0 && (first == nil || v.Violations[0].At < first.At) {
			first, of = &v.Violations[0], v.Name
		}
	}
	return first, of
}

// Verdict returns the most severe verdict: violated before unknown before invalid before holds.
func (r *Result) Verdict() checker.Verdict {
	worst := checker.Holds
	for _, v := range r.Verdicts {
		if Worse(v.Verdict, worst) {
			worst = v.Verdict
		}
	}
	return worst
}

// ServerOf returns the name by which the masters of a run call themselves, such as redis or valkey, and their version; empty: not known.
func ServerOf(versions map[string]string) (name, version string) {
	if all := ServersOf(versions); len(all) > 0 {
		return all[0], versions[all[0]]
	}
	return "", ""
}

// ServersOf returns the names of all programs of servers among the versions of several results.
func ServersOf(versions map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(versions)), func(n string) bool { return n == "lockpick" || n == "go" || n == "library" })
}
