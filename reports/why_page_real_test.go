//go:build real

package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/internal/browsertest"
	"lockpick/internal/racetest"
	"lockpick/search/reduce"
)

// TestWhyInTheReport: the probability stands above the overview, on the same scale, and what decided it.
func TestWhyInTheReport(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s := scenario.Defaults()
	s.Driver, s.Nemesis, s.Faults, s.Clients, s.Seed, s.TimeLimit = scenario.Sim, scenario.Random, []string{"kill"}, 2, 5, 8*time.Second
	found, err := reduce.Why(t.Context(), reduce.WhyOptions{Scenario: s, Minimize: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	var why reduce.WhyResult // as it is kept
	if err := json.Unmarshal(b, &why); err != nil {
		t.Fatal(err)
	}
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	ctx := browsertest.Start(t)
	for _, width := range []int64{1280, 400} {
		p := browsertest.Open(t, ctx, func(w io.Writer) error { return HTML(w, h, r, &why) }, width, 900, width == 400)
		p.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
		// The curve is as wide as the chart, and ends where the violation is there, which may be long before the run ends.
		p.Wait("a curve up to the violation", fmt.Sprintf(`(() => { const v = document.querySelector('.chance svg').viewBox.baseVal, last = document.querySelector('.chance .curve').getBBox();
			return Math.abs(last.x + last.width - %d) <= 1 && last.width > 0.97 * v.width })()`, why.By.Microseconds()))
		text := browsertest.Ask[string](p, `document.querySelector('.why-curve').textContent`)
		for _, want := range []string{"were killed", "It was decided at ", "kill ", "this one is enough"} {
			if !strings.Contains(text, want) {
				t.Errorf("it does not say %q: %s", want, text)
			}
		}
		if width == 1280 {
			browsertest.Ask[bool](p, `(document.documentElement.style.scrollBehavior = 'auto', document.querySelector('.why-curve').scrollIntoView({block: 'start'}), true)`)
			p.Picture("why")
		}
		p.Quiet()
	}
}
