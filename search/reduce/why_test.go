package reduce

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/search"
)

// randomKills is a run in which kills at random times come to hit what decides.
func randomKills() scenario.Scenario {
	s := scenario.Defaults()
	s.Driver, s.Nemesis, s.Faults, s.Clients, s.Seed, s.TimeLimit = scenario.Sim, scenario.Random, []string{"kill"}, 2, 5, 8*time.Second
	return s
}

// Why names the kill without which the violation is not certain, and is sure of what has happened.
func TestWhyNamesWhatDecided(t *testing.T) {
	r, err := Why(t.Context(), WhyOptions{Scenario: randomKills()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Property != checker.MutualExclusion.Name {
		t.Fatalf("it is about %s", r.Property)
	}
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	if first.Rate.Share > 0.9 || last.Rate.Share != 1 {
		t.Errorf("the probability goes from %v to %v", first.Rate, last.Rate)
	}
	if r.Decided == nil || !slices.ContainsFunc(r.Decided.Events, func(e narrative.Event) bool { return strings.Contains(e.Text, "killed") }) {
		t.Errorf("decided by %+v", r.Decided)
	} else if r.Decided.To.Rate.Share-r.Decided.From.Rate.Share < whyRise {
		t.Errorf("it rose from %v to %v", r.Decided.From.Rate, r.Decided.To.Rate)
	}
	for i := range r.Points[1:] {
		if r.Points[i+1].Line < r.Points[i].Line-1 {
			t.Errorf("after %d choices %d lines are the same, after %d only %d", r.Points[i].Choice, r.Points[i].Line, r.Points[i+1].Choice, r.Points[i+1].Line)
		}
	}
}

// A branch goes as the run did for as long as its choices are kept.
func TestBranchesShareTheirBeginning(t *testing.T) {
	w := &why{ctx: t.Context()}
	if err := w.record(randomKills()); err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, n := range []int{0, len(w.tape) / 4, len(w.tape) / 2, len(w.tape)} {
		h, err := w.branch(n, 99)
		if err != nil {
			t.Fatal(err)
		}
		shared := sharedLines(w.h, h)
		if shared < before || n == len(w.tape) && shared < len(w.h.Ops) {
			t.Errorf("with %d of %d choices the histories share %d of %d lines, with fewer %d", n, len(w.tape), shared, len(w.h.Ops), before)
		}
		before = shared
	}
}

func TestWhyWithoutAViolation(t *testing.T) {
	s := randomKills()
	s.Persistence, s.TimeLimit = "always", 2*time.Second
	s.Properties = []string{checker.MutualExclusion.Name}
	if _, err := Why(t.Context(), WhyOptions{Scenario: s, Properties: s.Properties}); !errors.Is(err, ErrNotReproduced) {
		t.Errorf("%v", err)
	}
}

// TestNoiseIsNoMoment: a rise that the intervals of its two points allow to be chance decides nothing.
func TestNoiseIsNoMoment(t *testing.T) {
	point := func(k int) WhyPoint { return WhyPoint{Rate: search.Wilson(k, 40, 1)} }
	w := &why{how: WhyOptions{Branches: 40}, points: map[int]WhyPoint{}}
	for i := range 25 {
		w.points[i] = point(12)
	}
	if w.apart(point(12), point(20)) {
		t.Error("12 of 40 and 20 of 40 count as different, although their corrected intervals overlap")
	}
	if !w.apart(point(4), point(38)) {
		t.Error("4 of 40 and 38 of 40 are not told apart")
	}
}
