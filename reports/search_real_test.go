//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/history"
	"lockpick/internal/browsertest"
)

// TestSearch: acquires are found by client, outcome, duration and token, alone and together, and
// shown one after the other.
func TestSearch(t *testing.T) {
	p := violatedPlan()
	h, _ := synthesize(p)
	refused, token := 0, ""
	for _, op := range h.Ops {
		if op.F == history.FAcquire && op.Process == "c2" && op.Type == history.Fail {
			refused++
		}
		if op.F == history.FAcquire && op.Type == history.OK {
			token = op.Value.Token
		}
	}
	if refused == 0 || token == "" {
		t.Fatal("the history has nothing to look for")
	}
	b := open(t, browsertest.Start(t), p, 1400, 900, false)
	scrollToTimeline(b)
	look := func(words string, want int) {
		b.Helper()
		b.Do(chromedp.SetValue(chromedp.CSS("#search"), words))
		browsertest.Ask[bool](b, `document.getElementById('search').dispatchEvent(new Event('input'))`)
		b.Wait(fmt.Sprintf("%d for %q", want, words), fmt.Sprintf(`lockpick.found === %d`, want))
	}
	look(token[:8], 1)
	b.Do(chromedp.Click(chromedp.CSS("#search-next")))
	b.Wait("its acquire", fmt.Sprintf(`lockpick.pinned.kind === 'attempt' && document.getElementById('details').textContent.includes(%q)`, token))
	look("c2 refused", refused)
	b.Do(chromedp.Click(chromedp.CSS("#search-next")), chromedp.Click(chromedp.CSS("#search-next")))
	b.Wait("the second one", fmt.Sprintf(`document.getElementById('search-count').textContent === '2 of %d' && document.getElementById('details-title').textContent.startsWith('c2')`, refused))
	b.Picture("search")
	look("c2 refused >100s", 0)
	b.Wait("that there is none", `document.getElementById('search-count').textContent === 'none found'`)
	look("nobody", 0)
	b.Quiet()
}
