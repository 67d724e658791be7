//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/browsertest"
)

// TestStepper: the steps of a violation's reason are gone through one by one, in the panel and in
// the timeline, with what masters stored and clients believed.
func TestStepper(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Seed, s.Faults = scenario.Sim, 5, []string{"kill"}
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h, checker.MutualExclusion)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := r.FirstViolation(nil)
	if v == nil {
		t.Fatal("nothing is violated")
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return HTML(w, h, r, nil) }, 1400, 900, false)
	b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	scrollToTimeline(b)
	b.Do(chromedp.Click(chromedp.CSS("#violation")))
	b.Wait("the steps", fmt.Sprintf(`document.querySelectorAll('#details .steps li').length === %d && lockpick.cursor === null`, len(v.Steps())))

	var times []int64
	for _, e := range v.Events {
		if !e.Detail {
			times = append(times, e.At.Microseconds())
		}
	}
	at := func(step int) {
		b.Helper()
		b.Wait(fmt.Sprintf("step %d", step), fmt.Sprintf(`lockpick.cursor === %d && [...document.querySelectorAll('#details .steps li')].findIndex((e) => e.classList.contains('current')) === %d &&
			lockpick.view.from <= lockpick.cursor && lockpick.cursor <= lockpick.view.to`, times[step], step))
	}
	click := func(name string) { b.Do(chromedp.Click(chromedp.CSS(`#details [data-step="` + name + `"]`))) }
	click("next")
	at(0)
	click("next")
	at(1)
	click("last")
	at(len(times) - 1)
	b.Picture("stepper")
	// At the end, two clients rely on the lock.
	if n := browsertest.Ask[float64](b, `[...document.querySelectorAll('#details .state td')].filter((e) => e.textContent.startsWith('relies on')).length`); n != 2 {
		b.Errorf("%v clients rely on the lock in the end, want 2", n)
	}
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('#details .state th').length`); n != float64(len(v.Clients)+s.Masters) && n != float64(s.Clients+s.Masters) {
		b.Errorf("the state has %v rows", n)
	}
	click("previous")
	at(len(times) - 2)
	click("first")
	at(0)
	b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("."))
	at(1)
	b.Do(chromedp.KeyEvent(","))
	at(0)
	b.Do(chromedp.Click(chromedp.CSS("#close")))
	b.Wait("no cursor", `lockpick.cursor === null`)
	b.Quiet()
}
