package judge_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/internal/racetest"
)

// TestVeryLongHistories: a history that is too long for its report is judged as a whole, exactly as if it
// were shorter, and what is shown has what proves each violation.
func TestVeryLongHistories(t *testing.T) {
	racetest.Exclude(t, "it simulates and judges much, in one goroutine")
	for _, lock := range []string{"redlock", "single"} {
		s := longRun(2 * time.Minute)
		s.Lock, s.Persistence = lock, "none"
		s = s.WithRequirements()
		h := simulated(t, s)
		path := historyFile(t, h)
		_, want, err := judge.File(path)
		if err != nil {
			t.Fatal(err)
		}
		part, got, err := judge.ForReportOf(path, 1000, len(h.Ops)/10)
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Ops) > len(h.Ops)/2 || part.Whole != len(h.Ops) {
			t.Errorf("%s: %d of %d lines are shown, Whole is %d", lock, len(part.Ops), len(h.Ops), part.Whole)
		}
		note := got.Notes[len(got.Notes)-1]
		if !strings.HasPrefix(note, judge.ExcerptNote) {
			t.Errorf("%s: the last note is %q", lock, note)
		}
		got.Notes = got.Notes[:len(got.Notes)-1]
		if len(got.Notes) == 0 {
			got.Notes = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the result is\n%+v, want\n%+v", lock, got, want)
		}
		violations := 0
		for _, v := range got.Verdicts {
			for i := range v.Violations {
				violations++
				for _, index := range v.Violations[i].Ops {
					for near := max(index-judge.LinesAround, 0); near <= min(index+judge.LinesAround, len(h.Ops)-1); near++ {
						if at, found := part.At(near); !found || part.Ops[at].Time != h.Ops[near].Time {
							t.Fatalf("%s: line %d near %d of a violation of %s is not shown", lock, near, index, v.Name)
						}
					}
				}
			}
		}
		if lock == "single" && violations == 0 {
			t.Error("nothing is violated, so nothing was tested")
		}
		whole, _, err := judge.ForReportOf(path, len(h.Ops), 100)
		if err != nil || whole.Whole != 0 || len(whole.Ops) != len(h.Ops) {
			t.Errorf("%s: a history that is just short enough: %d of %d lines, %v", lock, len(whole.Ops), len(h.Ops), err)
		}
	}
}
