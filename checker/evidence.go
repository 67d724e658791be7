package checker

import (
	"fmt"
	"strings"
	"time"

	"lockpick/checker/facts"
)

// Evidence is a count of events that a property needs before its verdict may be Holds, and how many
// the run had.
type Evidence struct {
	What string `json:"what"`           // a plural: contended acquisitions
	Got  int    `json:"got"`            // how many the run had
	Need int    `json:"need"`           // how many the verdict Holds needs
	Help string `json:"help,omitempty"` // what the user can do if there are too few

	// UnderFaults says that these are the events of the row before that happened while a fault was in
	// force or within a TTL after it.
	UnderFaults bool `json:"-"`
}

// Needs returns how much of the evidence is needed and was there, and what helps, as the end of a sentence.
func (e *Evidence) Needs() string {
	s := fmt.Sprintf("needs %d %s, got %d", e.Need, e.What, e.Got)
	if e.Help != "" {
		s += ": " + e.Help
	}
	return s
}

// The verdict Holds needs this evidence, unless the property says otherwise.
const (
	// MinEvidence is the number of events of the kind that a property judges that a run must
	// have: with fewer, the property was hardly ever at risk.
	MinEvidence = 10
	// MinUnderFaults is the number of these events that must have happened in the faulty
	// period, if the run was to have faults: a lock that does nothing under faults is
	// not tested by them.
	MinUnderFaults = 3
	// MaxStalled is the fraction of a run for which the harness's machine may have
	// stood still. Beyond it, violations may have gone unrecorded.
	MaxStalled = 0.5
)

// found returns how much evidence there was, as the end of a sentence.
func found(evidence []Evidence) string {
	var parts []string
	for _, e := range evidence {
		what := e.What
		if e.UnderFaults {
			what = "of them" + underFaults
		}
		parts = append(parts, fmt.Sprintf("%d %s", e.Got, what))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// underFaults ends the name of the evidence that counts for the faults of a run.
const underFaults = " while a fault was in force or within a TTL after it"

// need returns the evidence of a property that judges events of one kind: how many there were, and
// how many of them were in the faulty period. at holds the time of each event.
func (r *run) need(what string, at []time.Duration, help string) []Evidence {
	return r.needs(what, at, MinEvidence, MinUnderFaults, help)
}

func (r *run) needs(what string, at []time.Duration, total, faulted int, help string) []Evidence {
	faultHelp := "try a longer --time-limit, a shorter --interval or milder faults"
	if r.History.Header.Reported { // no flag makes others acquire
		help, faultHelp = "let the tests acquire more often, and report it", "let the tests acquire while a fault is installed"
	}
	rows := []Evidence{{What: what, Got: len(at), Need: total, Help: help}}
	if !r.ExpectsFaults() {
		return rows
	}
	faulty, n := r.FaultyPeriod(), 0
	for _, t := range at {
		if facts.Contains(faulty, t) {
			n++
		}
	}
	return append(rows, Evidence{What: what + underFaults, Got: n, Need: faulted, UnderFaults: true,
		Help: faultHelp})
}

// countEvidence returns evidence that is not counted under faults.
func countEvidence(what string, got, need int, help string) []Evidence {
	return []Evidence{{What: what, Got: got, Need: need, Help: help}}
}

// moreWork is the advice for most evidence.
const moreWork = "try a longer --time-limit"

// moreContention is the advice if clients did not compete enough.
const moreContention = "try more --clients, fewer --keys or a longer --time-limit"

// moreContention returns the advice if clients did not compete enough in a run, or its log does not
// show that they did.
func (r *run) moreContention() string {
	if r.Imported() {
		return "check a longer time and the logs of all hosts together"
	}
	return moreContention
}

// contendedAcquisitions names the evidence that the verdicts on exclusion need.
const contendedAcquisitions = "contended acquisitions"
