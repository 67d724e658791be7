//go:build real

package reports

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAddress: the address of the page follows what is shown, leads others to the same place, and
// the browser's back and forward go from violation to violation.
func TestAddress(t *testing.T) {
	b := open(t, browser(t), violatedPlan(), 1400, 900, false)
	scrollToTimeline(b)
	b.do(chromedp.Click(chromedp.CSS("#next")))
	b.wait("the first violation in the address", `lockpick.violation === 0 && /#v=1&from=/.test(location.hash)`)
	b.do(chromedp.Click(chromedp.CSS("#next")))
	b.wait("the second one", `lockpick.violation === 1 && /#v=2&from=/.test(location.hash)`)
	b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	b.wait("the closer window in the address", `Math.abs(parseFloat(new URLSearchParams(location.hash.slice(1)).get('from')) * 1e6 - lockpick.view.from) < 2`)
	there := ask[string](b, `location.hash + ' ' + Math.round(lockpick.view.from) + ' ' + Math.round(lockpick.view.to)`)
	link, window, _ := strings.Cut(there, " ")

	ask[bool](b, `(history.back(), true)`)
	b.wait("the first one again", `lockpick.violation === 0 && lockpick.pinned.i === 0`)
	ask[bool](b, `(history.forward(), true)`)
	b.wait("the second one again", `lockpick.violation === 1 && lockpick.pinned.i === 1`)
	b.do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.wait("nothing in the address but the key", `!/v=|from=/.test(location.hash)`)

	// A link is followed by a page that is opened anew.
	ask[bool](b, `(location.hash = '`+link+`', true)`)
	b.do(chromedp.Reload())
	b.wait("the page again", `window.lockpick && lockpick.drawn > 0`)
	b.wait("the second violation by its link", `lockpick.pinned && lockpick.pinned.kind === 'violation' && lockpick.pinned.i === 1`)
	if got := ask[string](b, `Math.round(lockpick.view.from) + ' ' + Math.round(lockpick.view.to)`); got != window {
		b.Errorf("the link shows the window %s, want %s", got, window)
	}
	b.wait("the timeline in sight", `Math.abs(document.getElementById('timeline').getBoundingClientRect().top) < innerHeight / 2`)

	// Links within the page leave it as it is, and the button to the timeline makes it that of the first violation.
	before := ask[string](b, `location.hash`)
	ask[bool](b, `(document.querySelector('.go a[href="#first"]').click(), true)`)
	if after := ask[string](b, `location.hash`); after != before {
		b.Errorf("the button to the reason turned %s into %s", before, after)
	}
	ask[bool](b, `(document.querySelector('.go a[data-violation]').click(), true)`)
	b.wait("the first violation in the address again", `/#v=\d+&from=/.test(location.hash) && lockpick.violation === +document.querySelector('.go a[data-violation]').dataset.violation`)
	ask[bool](b, `(location.hash = '`+link+`', true)`)
	b.wait("the second violation by its link again", `lockpick.pinned && lockpick.pinned.i === 1`)

	// An address that means nothing here changes nothing.
	ask[bool](b, `(location.hash = '#v=999&from=x&key=nobody', true)`)
	b.wait("the same as before", `lockpick.pinned && lockpick.pinned.i === 1`)
	b.quiet()
}

// TestAServedReportLeadsBack: a report below /store/ has a link to the list of all runs, a file has none.
func TestAServedReportLeadsBack(t *testing.T) {
	ctx := browser(t)
	b := open(t, ctx, violatedPlan(), 1280, 900, false)
	if ask[bool](b, `document.getElementById('back').checkVisibility()`) {
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
	b = openAddress(t, ctx, served.URL+"/store/run/report.html", 1280, 900, false)
	b.wait("the way back", `document.getElementById('back') && document.getElementById('back').checkVisibility() && document.getElementById('back').getAttribute('href') === '/'`)
}
