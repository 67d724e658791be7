package reports

import (
	"fmt"
	"io"

	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search"
)

// Replayed writes the result of a replay on one line.
func Replayed(w io.Writer, r *search.ReplayResult) error {
	rate, low, high := r.Rate()
	said := fmt.Sprintf("Not reproduced in %s on driver %s: the rate is at most %s with 95 %% confidence.\n", term.Plural(r.Attempts, "attempt"), r.Driver, search.Percent(search.Bound(r.Attempts, 1)))
	switch {
	case r.Attempts == 0:
		said = "Interrupted before an attempt was over.\n"
	case r.Reproduced > 0:
		said = fmt.Sprintf("Reproduced in %d of %s on driver %s: %.0f %% (95 %% interval %.0f to %.0f %%).\n", r.Reproduced, term.Plural(r.Attempts, "attempt"), r.Driver, 100*rate, 100*low, 100*high)
	}
	if _, err := io.WriteString(w, said); err != nil {
		return fmt.Errorf("reports: write what became of the replay: %w", err)
	}
	return nil
}

// ReplayedJSON writes a replay as one JSON object.
func ReplayedJSON(w io.Writer, r *search.ReplayResult) error {
	rate, low, high := r.Rate()
	c := r.Conclude()
	return term.WriteJSON(w, struct {
		Verdict    checker.Verdict `json:"verdict"` // violated means reproduced
		Why        string          `json:"why"`     // reason, if the verdict is neither violated nor holds
		Driver     string          `json:"driver"`
		Attempts   int             `json:"attempts"`
		Reproduced int             `json:"reproduced"`
		Rate       float64         `json:"rate"`
		Low        float64         `json:"rate_low"` // lower end of the 95 % interval
		High       float64         `json:"rate_high"`
		Runs       []string        `json:"runs"`
	}{c.Verdict, c.Why, r.Driver, r.Attempts, r.Reproduced, rate, low, high, r.Runs})
}
