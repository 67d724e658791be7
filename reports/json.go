package reports

import (
	"io"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history/logs"
	"lockpick/reports/term"
)

// summary is the result as JSON for scripts. Its fields are a contract.
type summary struct {
	Run              string          `json:"run"`
	Driver           string          `json:"driver"`
	Seed             uint64          `json:"seed"`
	Verdict          checker.Verdict `json:"verdict"` // of the requested properties; it decides the exit code
	Why              string          `json:"why"`     // reason, if the verdict is not holds
	Notes            []string        `json:"notes"`
	Hints            []judge.Hint    `json:"hints,omitempty"` // rules of lockpick watch that the lock's commands broke
	Since            *judge.Since    `json:"since,omitempty"` // beside the last run of the same scenario
	Verdicts         []verdictJSON   `json:"verdicts"`
	Causes           []judge.Cause   `json:"causes,omitempty"` // of the violations, those first that say most
	Counts           judge.Counts    `json:"counts"`
	Waiting          judge.Waiting   `json:"waiting"`
	FirstViolationMS *float64        `json:"first_violation_ms"`
	PossibleCount    int             `json:"possible_count,omitempty"` // of imported logs: uncertain overlaps
	Possible         []logs.Possible `json:"possible,omitempty"`       // the first of these overlaps
	Report           string          `json:"report"`
	History          string          `json:"history"`
}

type verdictJSON struct {
	Property string          `json:"property"`
	Level    string          `json:"level"`
	Key      string          `json:"key"`
	Verdict  checker.Verdict `json:"verdict"`
	Why      string          `json:"why"`
}

// JSON writes the result as one JSON object, without the details of violations. These are in
// result.json and in the history.
func JSON(w io.Writer, r *judge.Result) error {
	c := r.Conclude(r.Properties)
	s := summary{
		Run: r.Run, Driver: r.Driver, Seed: r.Seed, Verdict: c.Verdict, Why: c.Why,
		Notes: append([]string{}, r.Notes...), Hints: r.Hints, Since: r.Since, Verdicts: []verdictJSON{}, Causes: r.Causes, Counts: r.Counts, Waiting: r.Waiting,
		FirstViolationMS: r.FirstViolationMS, PossibleCount: r.PossibleCount, Possible: r.Possible, Report: r.Report, History: r.History,
	}
	for _, v := range r.Verdicts {
		s.Verdicts = append(s.Verdicts, verdictJSON{v.Name, v.Level, v.Key, v.Verdict, v.Why})
	}
	return term.WriteJSON(w, s)
}
