//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/checker"
	"lockpick/internal/browsertest"
)

// TestFirstScreen: whoever opens a report of a violation sees the verdict, the reason and its picture
// without scrolling; what holds and what was not tested is one line each.
func TestFirstScreen(t *testing.T) {
	ctx := browsertest.Start(t)
	b := open(t, ctx, violatedPlan(), 1280, 900, false)
	for what, selector := range map[string]string{"the reason": ".reason", "the picture": "figure svg"} {
		if bottom := browsertest.Ask[float64](b, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom`, selector)); bottom > 900 || bottom < 200 {
			b.Errorf("%s ends at %v pixels: it must be seen at once", what, bottom)
		}
	}
	steps := browsertest.Ask[float64](b, `document.querySelectorAll('.reason li').length`)
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('figure text.number').length`); n != steps {
		b.Errorf("the picture has %v numbers for %v steps", n, steps)
	}
	if n := browsertest.Ask[float64](b, `new Set([...document.querySelectorAll('figure rect[class^=client-]')].map((r) => getComputedStyle(r).fill)).size`); n < 2 {
		b.Errorf("the bars have %v colours: those of two clients were expected", n)
	}
	b.Picture("first-screen")

	if n := browsertest.Ask[float64](b, `document.querySelectorAll('details.fold').length`); n != 2 {
		b.Errorf("%v folded lists: what holds and what was not tested were expected", n)
	}
	if browsertest.Ask[bool](b, `[...document.querySelectorAll('details.fold tr')].some((r) => r.checkVisibility())`) {
		b.Error("what holds is shown before anybody opened it")
	}
	browsertest.Ask[bool](b, `(document.querySelector('details.fold.holds summary').click(), true)`)
	b.Wait("the properties that hold", `document.querySelector('details.fold.holds tbody tr').checkVisibility()`)

	// The whole list of violations is one stop of the tab key; arrows go through it.
	stops := browsertest.Ask[float64](b, `document.querySelectorAll('.violations button:not([tabindex="-1"])').length`)
	if all := browsertest.Ask[float64](b, `document.querySelectorAll('.violations button').length`); stops != 1 || all < 2 {
		b.Errorf("%v tab stops for %v violations", stops, all)
	}
	browsertest.Ask[bool](b, `(document.querySelector('.violations button').focus(), true)`)
	b.Do(chromedp.KeyEvent("\u0301")) // arrow down
	b.Wait("the second violation in focus", `document.activeElement === document.querySelectorAll('.violations button')[1] && document.activeElement.tabIndex === 0`)
	b.Quiet()

	holding := open(t, ctx, soundPlan(), 1280, 900, false)
	if n := browsertest.Ask[float64](holding, `document.querySelectorAll('figure').length`); n != 0 {
		holding.Errorf("%v pictures of violations where there was none", n)
	}
	holding.Picture("first-screen-holds")
	holding.Quiet()
}

// TestNoFlagBreaksAcrossLines: flags in sentences stay on one line, also on a phone.
func TestNoFlagBreaksAcrossLines(t *testing.T) {
	h, r := synthesize(soundPlan())
	for i := range r.Verdicts {
		r.Verdicts[i].Verdict, r.Verdicts[i].Why, r.Verdicts[i].Finding = checker.Invalid, "needs 10 contended acquisitions, got 4: try a longer --time-limit, a shorter --interval, --time-limit 30s or fewer --keys", ""
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return HTML(w, h, r, nil) }, 390, 844, false)
	b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('.flag').length`); n < 10 {
		b.Errorf("%v flags", n)
	}
	if broken := browsertest.Ask[float64](b, `[...document.querySelectorAll('.flag')].filter((e) => e.getClientRects().length > 1).length`); broken > 0 {
		b.Errorf("%v flags are broken", broken)
	}
}

// TestThePictureOfAViolationIsSaved: the button of the page saves the first violation as PNG of 1200 by 630, though the
// page may load nothing.
func TestThePictureOfAViolationIsSaved(t *testing.T) {
	b := open(t, browsertest.Start(t), violatedPlan(), 1280, 900, false)
	browsertest.Ask[bool](b, `(URL.createObjectURL = (blob) => { createImageBitmap(blob).then((p) => { window.saved = blob.type + ' ' + p.width + 'x' + p.height; }); return '#'; },
		HTMLAnchorElement.prototype.click = function () { window.file = this.download; }, document.getElementById('save-picture').dispatchEvent(new MouseEvent('click', {cancelable: true, bubbles: true})), true)`)
	b.Wait("the picture", `window.saved === 'image/png 1200x630' && window.file === 'lockpick-L2.png'`)
	if got := browsertest.Ask[string](b, `document.querySelector('meta[property="og:description"]').content`); got == "" {
		b.Error("the page has no description for other sites")
	}
	b.Quiet()
}
