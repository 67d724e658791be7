package reports

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// open writes the page of a plan and opens it in a tab of its own.
func open(t *testing.T, parent context.Context, p plan, width, height int64, dark bool) *browsertest.Tab {
	t.Helper()
	h, r := synthesize(p)
	b := browsertest.Open(t, parent, func(w io.Writer) error { return HTML(w, h, r, nil) }, width, height, dark)
	b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	return b
}

// scrollToTimeline brings the lanes onto the screen.
func scrollToTimeline(b *browsertest.Tab) {
	b.Helper()
	browsertest.Ask[bool](b, `(document.documentElement.style.scrollBehavior = 'auto', document.getElementById('timeline').scrollIntoView({block: 'start'}), true)`)
}

// TestPageInABrowser tries the report of a violated run; the other pages are tried with the tag real.
func TestPageInABrowser(t *testing.T) {
	violatedRun(open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false))
}

func violatedRun(b *browsertest.Tab) {
	if word := browsertest.Ask[string](b, `document.querySelector('h1').innerText`); !strings.Contains(word, "VIOLATED") || !strings.Contains(word, "mutual exclusion") {
		b.Errorf("the headline reads %q", word)
	}
	if top := browsertest.Ask[float64](b, `document.querySelector('h1').getBoundingClientRect().bottom`); top > 300 {
		b.Errorf("the headline ends %v pixels down: it must be seen at once", top)
	}
	b.Picture("violated-top")

	// The violation's button goes there, and the window holds the violation.
	scrollToTimeline(b)
	b.Do(chromedp.Click(chromedp.CSS("#violation")))
	b.Wait("the violation", `lockpick.violation >= 0 && lockpick.view.to - lockpick.view.from < (lockpick.view.stop - lockpick.view.start) / 2`)
	b.Wait("the details of the violation", `lockpick.pinned.kind === 'violation' && !document.getElementById('details').hidden`)
	b.Wait("the votes of the acquires that are at odds", `lockpick.arrows >= 2 * Math.ceil(lockpick.counts.masters / 2)`)
	b.Picture("violated-zoomed")

	// The wheel zooms around the pointer.
	b.Do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.Wait("the whole run", `lockpick.view.from === lockpick.view.start`)
	at := browsertest.Ask[browsertest.Point](b, `(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return {X: r.left + r.width / 2, Y: r.top + 120}; })()`)
	b.Do(chromedp.MouseEvent(chromedp.MouseWheel, at.X, at.Y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.01, -400 }))
	b.Wait("a closer window", `lockpick.view.from > lockpick.view.start && lockpick.view.to < lockpick.view.stop`)

	// Dragging moves the window without changing its length.
	before := browsertest.Ask[float64](b, `lockpick.view.from`)
	left := func(p *input.DispatchMouseEventParams) {
		p.Button = input.MouseButtonLeft
		p.Buttons = 1
		p.ClickCount = 1
	}
	b.Do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+60, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+60, at.Y, left),
	)
	b.Wait("an earlier window", fmt.Sprintf(`lockpick.view.from < %f`, before))

	// Hovering tells, clicking pins.
	b.Do(chromedp.Click(chromedp.CSS("#fit")))
	b.Wait("the whole run again", `lockpick.view.from === lockpick.view.start`)
	bar := browsertest.Ask[browsertest.Point](b, `(() => { const p = lockpick.place('stored', 0); return {X: p.x, Y: p.y}; })()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, bar.X, bar.Y))
	b.Wait("the tip", `lockpick.hover && lockpick.hover.kind === 'stored' && !document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('Token')`)
	b.Do(chromedp.MouseClickXY(bar.X, bar.Y))
	b.Wait("the panel", `lockpick.pinned && lockpick.pinned.kind === 'stored' && !document.getElementById('details').hidden`)
	b.Do(chromedp.Click(chromedp.CSS("#details .more button")))
	b.Wait("the replies of the masters", `lockpick.pinned.kind === 'attempt' && document.querySelectorAll('#details table tr').length > 5`)
	b.Picture("violated-pinned")

	// Everything works by keys.
	b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	b.Wait("a closer window by keys", `lockpick.view.from > lockpick.view.start`)
	b.Do(chromedp.KeyEvent("v"))
	b.Wait("a violation by keys", `lockpick.pinned.kind === 'violation'`)
	b.Do(chromedp.KeyEvent("\x1b"))
	b.Wait("the panel to close", `!lockpick.pinned && document.getElementById('details').hidden`)
	b.Do(chromedp.KeyEvent("]"))
	b.Wait("an item of the first lane", `lockpick.pinned`)

	// The key filter shows another key, and all.
	for _, key := range []string{"1", "-1", "0"} {
		b.Do(chromedp.SetValue(chromedp.CSS("#key"), key))
		browsertest.Ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
		b.Wait("key "+key, fmt.Sprintf(`lockpick.key === %s`, key))
		if key == "-1" {
			b.Picture("violated-all-keys")
		}
	}

	// Latencies: each outcome has its marks, and few samples have no quantiles.
	b.Do(chromedp.SetValue(chromedp.CSS("#key"), "-1"), chromedp.Click(chromedp.CSS("#fit")))
	browsertest.Ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
	b.Wait("latencies of granted and refused acquires", `lockpick.latencies.outcomes[0] > 0 && lockpick.latencies.outcomes[1] > 0`)
	browsertest.Ask[bool](b, `(document.getElementById('latency').scrollIntoView({block: 'center'}), true)`)
	b.Picture("violated-latency")
	for range 12 {
		b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	}
	b.Wait("no quantiles of few samples", `lockpick.latencies.quantiles === 0`)
	b.Do(chromedp.Click(chromedp.CSS("#fit")))

	// A violation in the list goes to the timeline as well.
	b.Do(chromedp.Click(chromedp.CSS(".violations li:last-child button")))
	b.Wait("the last violation", `lockpick.violation === lockpick.counts.violations - 1`)
	b.Quiet()
}
