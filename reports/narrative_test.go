package reports

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/history"
)

// TestStoriesOfAnyRun: whatever was violated in whatever run, its story is told in
// order of time, names both leases' clients, keeps to the width, and its diagram has a
// row for each step.
func TestStoriesOfAnyRun(t *testing.T) {
	stories := map[string]int{} // by level
	rapid.Check(t, func(t *rapid.T) {
		s := campaign.Defaults()
		s.Driver, s.TimeLimit, s.Fencing = campaign.Sim, 4*time.Second, rapid.Bool().Draw(t, "fencing")
		s.Seed = rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		s.Masters = rapid.SampledFrom([]int{1, 2, 3, 5, 9, 15}).Draw(t, "masters")
		s.Clients, s.Keys = rapid.IntRange(2, 6).Draw(t, "clients"), rapid.IntRange(1, 2).Draw(t, "keys")
		s.Nemesis = rapid.SampledFrom([]string{campaign.Random, campaign.Guided}).Draw(t, "nemesis")
		s.Faults = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"kill", "pause", "partition", "slow", "reset", "clock", "powercut", "shutdown", "client-pause", "client-kill", "client-clock",
		}), 1, 4, rapid.ID).Draw(t, "faults")
		if !slices.Contains(s.Faults, "kill") {
			s.Faults = append(s.Faults, "kill")
		}
		width := rapid.SampledFrom([]int{60, 80, 100, 120}).Draw(t, "width")
		h, err := campaign.Simulate(t.Context(), s.Completed(), campaign.Simulation{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checker.Check(h).Results {
			for i := range r.Violations[:min(len(r.Violations), 3)] {
				stories[r.Level]++
				checkStory(t, h, &r.Violations[i], width)
			}
		}
	})
	t.Logf("stories told, by level: %v", stories)
	if stories["L2"] == 0 || len(stories) < 3 {
		t.Errorf("the runs broke too little to tell of: %v", stories)
	}
}

func checkStory(t *rapid.T, h *history.History, v *checker.Violation, width int) {
	s := sceneOf(h, v)
	if !slices.IsSortedFunc(s.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) }) {
		t.Errorf("the steps are out of order")
	}
	var prose, drawn bytes.Buffer
	if err := errors.Join(Story(&prose, h, v, StoryOptions{width}), SpaceTime(&drawn, h, v, StoryOptions{width})); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{prose.String(), drawn.String()} {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, more than %d: %q", n, width, line)
			}
		}
	}
	if len(s.steps) > 60 {
		t.Errorf("%s: %d steps are no story", v.Level, len(s.steps))
	}
	for i, x := range s.steps {
		if strings.TrimSpace(x.text) == "" {
			t.Errorf("step %d says nothing:\n%s", i+1, prose.String())
		}
	}
	names, _, _ := strings.Cut(drawn.String(), "\n")
	for _, l := range s.leases {
		if !strings.Contains(names, l.Process) {
			t.Errorf("%s has no column: %q", l.Process, names)
		}
	}
	if v.Level == "L2" && (!strings.Contains(drawn.String(), "#") || !strings.Contains(drawn.String(), "!%!")) {
		t.Errorf("the diagram shows no two leases:\n%s", drawn.String())
	}
}
