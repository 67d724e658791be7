package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
)

// Verdict is the decision on one property.
type Verdict string

// The verdicts.
const (
	Violated Verdict = "violated"
	Holds    Verdict = "holds"   // no violation was found, and the run has the evidence that the property needs
	Unknown  Verdict = "unknown" // the run was interrupted, or the checker could not decide; Why says why
	Invalid  Verdict = "invalid" // the run has too little evidence; Why says what is missing
)

// Word returns the word for a verdict in texts for people: "inconclusive" for an invalid one.
func (v Verdict) Word() string {
	if v == Invalid {
		return "inconclusive"
	}
	return string(v)
}

// Result is the verdict on one property.
type Result struct {
	Property
	Key        string                `json:"key,omitempty"` // the key of the first violation
	Verdict    Verdict               `json:"verdict"`
	Why        string                `json:"why"`                  // one sentence
	Finding    string                `json:"finding,omitempty"`    // if Verdict is Holds: Why without the evidence and the faults
	Faults     string                `json:"-"`                    // if Verdict is Holds: which faults took effect, in words; the same for all properties of a run
	Checked    int                   `json:"checked"`              // how many leases, sections, writes or acquires were judged
	Evidence   []Evidence            `json:"evidence,omitempty"`   // the evidence that the property needs to hold, and how much of it the run had
	Short      *Evidence             `json:"-"`                    // if too little evidence is all that keeps Verdict from Holds: the first of Evidence that it lacks
	Count      int                   `json:"count,omitempty"`      // how many violations were found
	Violations []narrative.Violation `json:"violations,omitempty"` // the first MaxViolations violations, in order of time
	Others     []Mark                `json:"-"`                    // the violations after these, without reasons

	lacks lack // what Why says, if there is an advice in it
}

// lack is what a history lacks for the verdict Holds, and what helps.
type lack struct {
	what, separator string
	helps           Advice
}

// lack makes too little evidence, one of res.Evidence, the reason of the verdict.
func (res *Result) lack(e *Evidence) {
	res.Short, res.Why, res.lacks = e, e.Needs(), lack{e.amounts(), ": ", e.Advice}
}

// Reword returns the result with each advice in other words; nil: in those that it has.
func (res Result) Reword(w Wording) Result {
	if w == nil {
		return res
	}
	if res.lacks != (lack{}) {
		res.Why = w.of(res.lacks)
	}
	evidence := res.Evidence
	res.Evidence = slices.Clone(evidence)
	for i := range evidence {
		e := &res.Evidence[i]
		e.Help = w[e.Advice]
		if res.Short == &evidence[i] {
			res.Short = e
		}
	}
	return res
}

// Mark is a violation without its reason.
type Mark struct {
	Key       string
	At, Until time.Duration
	Clients   []string
	Op        int             // the first line of its evidence
	Cause     narrative.Cause // zero: it was not looked for, see MaxCaused
	Faults    []int           // ids of the faults that explain it; nil if Cause is zero
	TakenOver bool            // see narrative.Violation
}

// MaxViolations is the maximum number of violations that a Result contains in full.
const MaxViolations = 50

// MaxCaused is the maximum number of further violations of a Result whose cause is looked for.
const MaxCaused = 950

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
