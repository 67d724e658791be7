package story

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
)

// TestStoriesOfAnyRun: whatever was violated in whatever run, its story is told in
// order of time, names both leases' clients, keeps to the width, and its diagram has a
// row for each step.
func TestStoriesOfAnyRun(t *testing.T) {
	stories := map[string]int{} // by level
	rapid.Check(t, func(t *rapid.T) {
		s := scenario.Defaults()
		s.Driver, s.TimeLimit, s.Fencing = scenario.Sim, 4*time.Second, rapid.Bool().Draw(t, "fencing")
		s.Seed = rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		s.Masters = rapid.SampledFrom([]int{1, 2, 3, 5, 9, 15}).Draw(t, "masters")
		s.Clients, s.Keys = rapid.IntRange(2, 6).Draw(t, "clients"), rapid.IntRange(1, 2).Draw(t, "keys")
		s.Nemesis = rapid.SampledFrom([]string{scenario.Random, scenario.Guided}).Draw(t, "nemesis")
		s.Faults = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"kill", "pause", "partition", "slow", "reset", "clock", "powercut", "shutdown", "client-pause", "client-kill", "client-clock",
		}), 1, 4, rapid.ID).Draw(t, "faults")
		if !slices.Contains(s.Faults, "kill") {
			s.Faults = append(s.Faults, "kill")
		}
		width := rapid.SampledFrom([]int{60, 80, 100, 120}).Draw(t, "width")
		h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checker.Check(h).Results {
			for i := range r.Violations[:min(len(r.Violations), 3)] {
				stories[r.Level]++
				checkStory(t, &r.Violations[i], width, max(80, 8*s.Masters))
			}
		}
	})
	t.Logf("stories told, by level: %v", stories)
	if stories["L2"] == 0 || len(stories) < 3 {
		t.Errorf("the runs broke too little to tell of: %v", stories)
	}
}

// checkStory checks a story with all its details: each master answers by itself.
func checkStory(t *rapid.T, v *narrative.Violation, width, most int) {
	steps, conclusion := stepsOf(v)
	if !slices.IsSortedFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) }) {
		t.Errorf("the steps are out of order")
	}
	text, drawn := Prose(v, width), Diagram(v, width)
	for _, text := range []string{text, drawn} {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, more than %d: %q", n, width, line)
			}
		}
	}
	if len(steps) > most {
		t.Errorf("%s: %d steps are not a story:\n%s", v.Level, len(steps), text)
	}
	if conclusion == nil {
		t.Errorf("the story says nowhere what is wrong:\n%s", text)
	}
	for i := range steps {
		if steps[i].text() == "" {
			t.Errorf("step %d says nothing:\n%s", i+1, text)
		}
	}
	names, _, _ := strings.Cut(drawn, "\n")
	for _, client := range v.Clients[:min(len(v.Clients), 2)] {
		if !strings.Contains(names, client) {
			t.Errorf("%s has no column: %q", client, names)
		}
	}
	checkFigure(t, v)
	if v.Level == "L2" && (!strings.Contains(drawn, "#") || !strings.Contains(drawn, "!%!")) {
		t.Errorf("the diagram shows no two leases:\n%s%s", text, drawn)
	}
}

// TestTheStorageHasALifelineInEveryPicture: where a run has a storage, every picture of a violation shows what the
// storage did with the late write; where it has none, no picture has such a lifeline.
func TestTheStorageHasALifelineInEveryPicture(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Seed, s.Faults, s.Nemesis, s.Fencing, s.TimeLimit = scenario.Sim, 1, []string{"client-pause"}, scenario.Guided, true, 30*time.Second
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := &checker.Check(h, checker.BeliefExclusion).Results[0].Violations[0]
	word := ""
	for _, e := range v.Events {
		if e.Kind == narrative.EventRejected && !e.Detail {
			word = e.Word
		}
	}
	if word == "" {
		t.Fatalf("no step says that the fence refused a write:\n%s", Prose(v, 100))
	}
	pictures := func() map[string]string {
		drawn, _ := Figure(v, v.Clients)
		return map[string]string{"story": Prose(v, 100), "diagram": Diagram(v, 120), "figure": string(drawn), "svg": SVG(v), "mermaid": Mermaid(v)}
	}
	for name, text := range pictures() {
		text = strings.NewReplacer("&lt;", "<", "#60;", "<").Replace(text)
		if !strings.Contains(text, "storage") || !strings.Contains(text, word) {
			t.Errorf("the %s does not show that the storage refused the write: %s", name, word)
		}
	}
	v.Events = slices.DeleteFunc(v.Events, func(e narrative.Event) bool { return e.AtStorage() })
	for name, text := range pictures() {
		if strings.Contains(text, "storage") {
			t.Errorf("the %s has a storage that no event tells of", name)
		}
	}
}
