//go:build real

package serve

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"lockpick/checker"
	"lockpick/internal/browsertest"
)

// TestStorePage: the list of runs is searched and filtered, and two runs that are ticked can be compared.
func TestStorePage(t *testing.T) {
	var entries []Entry
	for i := range 12 {
		e := Entry{Name: fmt.Sprintf("run-%d", i), Kind: "run", Href: "/store/run", Started: time.Unix(int64(i), 0), Verdict: checker.Holds, Lock: "redlock", Faults: "pause", Duration: time.Minute, Bytes: 1500}
		if i%3 == 0 {
			e.Verdict, e.Violations, e.Faults = checker.Violated, 30, "kill"
		}
		entries = append(entries, e)
	}
	entries = append(entries, Entry{Name: "<b>claims</b>", Kind: "claims", Verdict: checker.Invalid}, Entry{Name: "cut", Kind: "run", Why: "it was cut off"})
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error {
		return listPage.Write(w, &pageData{entryList: entryList{Dir: "store", Entries: entries}})
	}, 1200, 800, false)
	shown := `[...document.querySelectorAll('.store tbody tr')].filter((r) => r.checkVisibility()).length`
	b.Wait("all rows", shown+` === 14 && document.getElementById('compare').disabled`)
	b.Picture("store")
	b.Do(chromedp.SendKeys(chromedp.CSS("#search"), "kill redlock"))
	b.Wait("four runs", shown+` === 4 && document.getElementById('shown').textContent === '4 of 14 are shown'`)
	choose := func(search, verdict string) {
		browsertest.Ask[bool](b, fmt.Sprintf(`(document.getElementById('search').value = %q, document.getElementById('verdict').value = %q, document.getElementById('verdict').dispatchEvent(new Event('input')))`, search, verdict))
	}
	choose("", "none")
	b.Wait("the run without a result", shown+` === 1`)
	choose("", "")
	b.Do(chromedp.Click(chromedp.CSS(`input[value="run-1"]`)))
	b.Wait("one run alone", `document.getElementById('compare').disabled`)
	b.Do(chromedp.Click(chromedp.CSS(`input[value="run-4"]`)))
	b.Wait("two runs", `!document.getElementById('compare').disabled && new URLSearchParams(new FormData(document.getElementById('compare-form'))).getAll('run').join() === 'run-1,run-4'`)
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('.store b').length`); n != 0 {
		b.Error("a name became markup")
	}
	b.Quiet()
}
