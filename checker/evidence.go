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
	Help string `json:"help,omitempty"` // Advice in words

	Advice Advice `json:"-"` // what helps if there are too few

	// UnderFaults says that these are the events of the row before that happened while a fault was in
	// force or within a TTL after it.
	UnderFaults bool `json:"-"`
}

// Needs returns how much of the evidence is needed and was there, and what helps, as the end of a sentence.
func (e *Evidence) Needs() string {
	if e.Help == "" {
		return e.amounts()
	}
	return e.amounts() + ": " + e.Help
}

func (e *Evidence) amounts() string {
	return fmt.Sprintf("needs %d %s, got %d", e.Need, e.What, e.Got)
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
func (r *run) need(what string, at []time.Duration, helps Advice) []Evidence {
	return r.needs(what, at, MinEvidence, MinUnderFaults, helps)
}

func (r *run) needs(what string, at []time.Duration, total, faulted int, helps Advice) []Evidence {
	rows := r.count(what, len(at), total, helps)
	if !r.ExpectsFaults() {
		return rows
	}
	faulty, n := r.FaultyPeriod(), 0
	for _, t := range at {
		if facts.Contains(faulty, t) {
			n++
		}
	}
	under := r.count(what+underFaults, n, faulted, MoreUnderFaults)
	under[0].UnderFaults = true
	return append(rows, under...)
}

// count returns evidence that is not counted under faults.
func (r *run) count(what string, got, need int, helps Advice) []Evidence {
	return []Evidence{{What: what, Got: got, Need: need, Advice: helps, Help: wordingFor(&r.History.Header)[helps]}}
}

// contendedAcquisitions names the evidence that the verdicts on exclusion need.
const contendedAcquisitions = "contended acquisitions"
