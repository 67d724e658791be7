//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"lockpick/checker"
)

// TestStorePage: the list of runs is searched and filtered, and two runs that are ticked can be compared.
func TestStorePage(t *testing.T) {
	var entries []StoreEntry
	for i := range 12 {
		e := StoreEntry{Name: fmt.Sprintf("run-%d", i), Kind: "run", Href: "/store/run", Started: time.Unix(int64(i), 0), Verdict: checker.Holds, Lock: "redlock", Faults: "pause", Duration: time.Minute, Bytes: 1500}
		if i%3 == 0 {
			e.Verdict, e.Violations, e.Faults = checker.Violated, 30, "kill"
		}
		entries = append(entries, e)
	}
	entries = append(entries, StoreEntry{Name: "<b>claims</b>", Kind: "claims", Verdict: checker.Invalid}, StoreEntry{Name: "cut", Kind: "run", Why: "it was cut off"})
	b := openPage(t, browser(t), func(w io.Writer) error { return StorePage(w, StoreList{Dir: "store", Entries: entries}) }, 1200, 800, false)
	shown := `[...document.querySelectorAll('.store tbody tr')].filter((r) => r.checkVisibility()).length`
	b.wait("all rows", shown+` === 14 && document.getElementById('compare').disabled`)
	b.picture("store")
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "kill redlock"))
	b.wait("four runs", shown+` === 4 && document.getElementById('shown').textContent === '4 of 14 are shown'`)
	choose := func(search, verdict string) {
		ask[bool](b, fmt.Sprintf(`(document.getElementById('search').value = %q, document.getElementById('verdict').value = %q, document.getElementById('verdict').dispatchEvent(new Event('input')))`, search, verdict))
	}
	choose("", "none")
	b.wait("the run without a result", shown+` === 1`)
	choose("", "")
	b.do(chromedp.Click(chromedp.CSS(`input[value="run-1"]`)))
	b.wait("one run alone", `document.getElementById('compare').disabled`)
	b.do(chromedp.Click(chromedp.CSS(`input[value="run-4"]`)))
	b.wait("two runs", `!document.getElementById('compare').disabled && new URLSearchParams(new FormData(document.getElementById('compare-form'))).getAll('run').join() === 'run-1,run-4'`)
	if n := ask[float64](b, `document.querySelectorAll('.store b').length`); n != 0 {
		b.Error("a name became markup")
	}
	b.quiet()
}
