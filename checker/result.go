package checker

import (
	"slices"
	"time"

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
