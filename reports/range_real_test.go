//go:build real

package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lockpick/history"
	"lockpick/internal/browsertest"
)

// TestRange: dragging with Shift selects a range, whose acquires and violations the panel counts as
// the history has them; the address keeps it, the keyboard selects what is shown, Escape ends it.
func TestRange(t *testing.T) {
	h, r := synthesize(violatedPlan())
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	b.Do(chromedp.SetValue(chromedp.CSS("#key"), "-1"))
	browsertest.Ask[bool](b, `(document.getElementById('key').dispatchEvent(new Event('change')), true)`)
	scrollToTimeline(b)
	at := browsertest.Ask[browsertest.Point](b, `(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return {X: r.left + r.width * 0.3, Y: r.top + 150}; })()`)
	const shift = 8 // of the modifiers
	held := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount, p.Modifiers = input.MouseButtonLeft, 1, 1, shift
	}
	b.Do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+200, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+400, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+400, at.Y, held),
	)
	b.Wait("the range", `lockpick.range && lockpick.pinned.kind === 'range' && lockpick.view.from === lockpick.view.start`)
	b.Picture("range")
	from, to := fromMicros(browsertest.Ask[float64](b, `lockpick.range.from`)), fromMicros(browsertest.Ask[float64](b, `lockpick.range.to`))
	want := map[string]int{"granted": 0, "refused": 0, "violations": 0}
	for _, op := range h.Ops {
		if op.F == history.FAcquire && op.Time >= from && op.Time <= to {
			switch op.Type {
			case history.OK:
				want["granted"]++
			case history.Fail:
				want["refused"]++
			}
		}
	}
	for _, verdict := range r.Verdicts {
		for _, v := range verdict.Violations {
			if v.At <= to && v.Until >= from {
				want["violations"]++
			}
		}
	}
	if want["granted"] < 5 || want["violations"] == 0 {
		t.Fatalf("the range has too little: %v", want)
	}
	text := browsertest.Ask[string](b, `document.getElementById('details-body').innerText`)
	says := fmt.Sprintf("%d granted, %d refused", want["granted"], want["refused"])
	if !strings.Contains(text, says) || !strings.Contains(strings.Join(strings.Fields(text), " "), fmt.Sprintf("Violations %d ", want["violations"])) {
		t.Errorf("the panel says\n%s\nwant %s, %d violations", text, says, want["violations"])
	}

	b.Wait("the range in the address", `/range=/.test(location.hash)`)
	before := browsertest.Ask[string](b, `Math.round(lockpick.range.from) + ' ' + Math.round(lockpick.range.to)`)
	b.Do(chromedp.Reload())
	b.Wait("the range again", `window.lockpick && lockpick.range`)
	if got := browsertest.Ask[string](b, `Math.round(lockpick.range.from) + ' ' + Math.round(lockpick.range.to)`); got != before {
		b.Errorf("the link selects %s, want %s", got, before)
	}

	b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"), chromedp.KeyEvent("r"))
	b.Wait("what is shown", `lockpick.range && lockpick.range.from === lockpick.view.from && lockpick.range.to === lockpick.view.to`)
	b.Do(chromedp.KeyEvent("\u001b"))
	b.Wait("nothing", `lockpick.range === null && !lockpick.pinned`)
	b.Quiet()
}

func fromMicros(us float64) time.Duration { return time.Duration(us * 1e3) }
