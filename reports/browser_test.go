package reports

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// open writes the page of a plan and opens it in a tab of its own.
func open(t *testing.T, parent context.Context, p plan, width, height int64, dark bool) *tab {
	t.Helper()
	h, r := synthesize(p)
	b := openPage(t, parent, func(w io.Writer) error { return HTML(w, h, r, nil) }, width, height, dark)
	b.wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	return b
}

// scrollToTimeline brings the lanes onto the screen.
func scrollToTimeline(b *tab) {
	b.Helper()
	ask[bool](b, `(document.documentElement.style.scrollBehavior = 'auto', document.getElementById('timeline').scrollIntoView({block: 'start'}), true)`)
}

// TestPageInABrowser tries the report of a violated run; the other pages are tried with the tag real.
func TestPageInABrowser(t *testing.T) {
	violatedRun(open(t, browser(t), violatedPlan(), 1400, 900, false))
}

func violatedRun(b *tab) {
	if word := ask[string](b, `document.querySelector('h1').innerText`); !strings.Contains(word, "VIOLATED") || !strings.Contains(word, "mutual exclusion") {
		b.Errorf("the headline reads %q", word)
	}
	if top := ask[float64](b, `document.querySelector('h1').getBoundingClientRect().bottom`); top > 300 {
		b.Errorf("the headline ends %v pixels down: it must be seen at once", top)
	}
	b.picture("violated-top")

	// The violation's button goes there, and the window holds the violation.
	scrollToTimeline(b)
	b.do(chromedp.Click(chromedp.CSS("#violation")))
	b.wait("the violation", `lockpick.violation >= 0 && lockpick.view.to - lockpick.view.from < (lockpick.view.stop - lockpick.view.start) / 2`)
	b.wait("the details of the violation", `lockpick.pinned.kind === 'violation' && !document.getElementById('details').hidden`)
	b.wait("the votes of the acquires that are at odds", `lockpick.arrows >= 2 * Math.ceil(lockpick.counts.masters / 2)`)
	b.picture("violated-zoomed")

	// The wheel zooms around the pointer.
	b.do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.wait("the whole run", `lockpick.view.from === lockpick.view.start`)
	at := ask[point](b, `(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return {X: r.left + r.width / 2, Y: r.top + 120}; })()`)
	b.do(chromedp.MouseEvent(chromedp.MouseWheel, at.X, at.Y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.01, -400 }))
	b.wait("a closer window", `lockpick.view.from > lockpick.view.start && lockpick.view.to < lockpick.view.stop`)

	// Dragging moves the window without changing its length.
	before := ask[float64](b, `lockpick.view.from`)
	left := func(p *input.DispatchMouseEventParams) {
		p.Button = input.MouseButtonLeft
		p.Buttons = 1
		p.ClickCount = 1
	}
	b.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+60, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+60, at.Y, left),
	)
	b.wait("an earlier window", fmt.Sprintf(`lockpick.view.from < %f`, before))

	// Hovering tells, clicking pins.
	b.do(chromedp.Click(chromedp.CSS("#fit")))
	b.wait("the whole run again", `lockpick.view.from === lockpick.view.start`)
	bar := ask[point](b, `(() => { const p = lockpick.place('stored', 0); return {X: p.x, Y: p.y}; })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, bar.X, bar.Y))
	b.wait("the tip", `lockpick.hover && lockpick.hover.kind === 'stored' && !document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('Token')`)
	b.do(chromedp.MouseClickXY(bar.X, bar.Y))
	b.wait("the panel", `lockpick.pinned && lockpick.pinned.kind === 'stored' && !document.getElementById('details').hidden`)
	b.do(chromedp.Click(chromedp.CSS("#details .more button")))
	b.wait("the replies of the masters", `lockpick.pinned.kind === 'attempt' && document.querySelectorAll('#details table tr').length > 5`)
	b.picture("violated-pinned")

	// Everything works by keys.
	b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	b.wait("a closer window by keys", `lockpick.view.from > lockpick.view.start`)
	b.do(chromedp.KeyEvent("v"))
	b.wait("a violation by keys", `lockpick.pinned.kind === 'violation'`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.wait("the panel to close", `!lockpick.pinned && document.getElementById('details').hidden`)
	b.do(chromedp.KeyEvent("]"))
	b.wait("an item of the first lane", `lockpick.pinned`)

	// The key filter shows another key, and all.
	for _, key := range []string{"1", "-1", "0"} {
		b.do(chromedp.SetValue(chromedp.CSS("#key"), key))
		ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
		b.wait("key "+key, fmt.Sprintf(`lockpick.key === %s`, key))
		if key == "-1" {
			b.picture("violated-all-keys")
		}
	}

	// Latencies: each outcome has its marks, and few samples have no quantiles.
	b.do(chromedp.SetValue(chromedp.CSS("#key"), "-1"), chromedp.Click(chromedp.CSS("#fit")))
	ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
	b.wait("latencies of granted and refused acquires", `lockpick.latencies.outcomes[0] > 0 && lockpick.latencies.outcomes[1] > 0`)
	ask[bool](b, `(document.getElementById('latency').scrollIntoView({block: 'center'}), true)`)
	b.picture("violated-latency")
	for range 12 {
		b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	}
	b.wait("no quantiles of few samples", `lockpick.latencies.quantiles === 0`)
	b.do(chromedp.Click(chromedp.CSS("#fit")))

	// A violation in the list goes to the timeline as well.
	b.do(chromedp.Click(chromedp.CSS(".violations li:last-child button")))
	b.wait("the last violation", `lockpick.violation === lockpick.counts.violations - 1`)
	b.quiet()
}
