//go:build real

package reports

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestAddress: the address of the page follows what is shown, leads others to the same place, and
// the browser's back and forward go from violation to violation.
func TestAddress(t *testing.T) {
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	scrollToTimeline(b)
	b.Do(chromedp.Click(chromedp.CSS("#next")))
	b.Wait("the first violation in the address", `lockpick.violation === 0 && /#v=1&from=/.test(location.hash)`)
	b.Do(chromedp.Click(chromedp.CSS("#next")))
	b.Wait("the second one", `lockpick.violation === 1 && /#v=2&from=/.test(location.hash)`)
	b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	b.Wait("the closer window in the address", `Math.abs(parseFloat(new URLSearchParams(location.hash.slice(1)).get('from')) * 1e6 - lockpick.view.from) < 2`)
	there := browsertest.Ask[string](b, `location.hash + ' ' + Math.round(lockpick.view.from) + ' ' + Math.round(lockpick.view.to)`)
	link, window, _ := strings.Cut(there, " ")

	browsertest.Ask[bool](b, `(history.back(), true)`)
	b.Wait("the first one again", `lockpick.violation === 0 && lockpick.pinned.i === 0`)
	browsertest.Ask[bool](b, `(history.forward(), true)`)
	b.Wait("the second one again", `lockpick.violation === 1 && lockpick.pinned.i === 1`)
	b.Do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.Wait("nothing in the address but the key", `!/v=|from=/.test(location.hash)`)

	// A link is followed by a page that is opened anew.
	browsertest.Ask[bool](b, `(location.hash = '`+link+`', true)`)
	b.Do(chromedp.Reload())
	b.Wait("the page again", `window.lockpick && lockpick.drawn > 0`)
	b.Wait("the second violation by its link", `lockpick.pinned && lockpick.pinned.kind === 'violation' && lockpick.pinned.i === 1`)
	if got := browsertest.Ask[string](b, `Math.round(lockpick.view.from) + ' ' + Math.round(lockpick.view.to)`); got != window {
		b.Errorf("the link shows the window %s, want %s", got, window)
	}
	b.Wait("the timeline in sight", `Math.abs(document.getElementById('timeline').getBoundingClientRect().top) < innerHeight / 2`)

	// Links within the page leave it as it is, and the button to the timeline makes it that of the first violation.
	before := browsertest.Ask[string](b, `location.hash`)
	browsertest.Ask[bool](b, `(document.querySelector('.go a[href="#first"]').click(), true)`)
	if after := browsertest.Ask[string](b, `location.hash`); after != before {
		b.Errorf("the button to the reason turned %s into %s", before, after)
	}
	browsertest.Ask[bool](b, `(document.querySelector('.go a[data-violation]').click(), true)`)
	b.Wait("the first violation in the address again", `/#v=\d+&from=/.test(location.hash) && lockpick.violation === +document.querySelector('.go a[data-violation]').dataset.violation`)
	browsertest.Ask[bool](b, `(location.hash = '`+link+`', true)`)
	b.Wait("the second violation by its link again", `lockpick.pinned && lockpick.pinned.i === 1`)

	// An address that means nothing here changes nothing.
	browsertest.Ask[bool](b, `(location.hash = '#v=999&from=x&key=nobody', true)`)
	b.Wait("the same as before", `lockpick.pinned && lockpick.pinned.i === 1`)
	b.Quiet()
}

// TestAServedReportLeadsBack: a report below /store/ has a link to the list of all runs, a file has none.
func TestAServedReportLeadsBack(t *testing.T) {
	ctx := browsertest.Start(t)
	b := open(t, ctx, violatedPlan(), 1280, 900, false)
	if browsertest.Ask[bool](b, `document.getElementById('back').checkVisibility()`) {
		b.Error("a file leads to a list of runs that is not there")
	}
	h, r := synthesize(violatedPlan())
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-downloads")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := HTML(w, h, r, nil); err != nil {
			t.Error(err)
		}
	}))
	defer served.Close()
	b = browsertest.OpenAddress(t, ctx, served.URL+"/store/run/report.html", 1280, 900, false)
	b.Wait("the way back", `document.getElementById('back') && document.getElementById('back').checkVisibility() && document.getElementById('back').getAttribute('href') === '/'`)
}
