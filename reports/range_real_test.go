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
)

// TestRange: dragging with Shift selects a range, whose acquires and violations the panel counts as
// the history has them; the address keeps it, the keyboard selects what is shown, Escape ends it.
func TestRange(t *testing.T) {
	h, r := synthesize(violatedPlan())
	b := open(t, browser(t), violatedPlan(), 1400, 900, false)
	b.do(chromedp.SetValue(chromedp.CSS("#key"), "-1"))
	ask[bool](b, `(document.getElementById('key').dispatchEvent(new Event('change')), true)`)
	scrollToTimeline(b)
	at := ask[point](b, `(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return {X: r.left + r.width * 0.3, Y: r.top + 150}; })()`)
	const shift = 8 // of the modifiers
	held := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount, p.Modifiers = input.MouseButtonLeft, 1, 1, shift
	}
	b.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+200, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+400, at.Y, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+400, at.Y, held),
	)
	b.wait("the range", `lockpick.range && lockpick.pinned.kind === 'range' && lockpick.view.from === lockpick.view.start`)
	b.picture("range")
	from, to := fromMicros(ask[float64](b, `lockpick.range.from`)), fromMicros(ask[float64](b, `lockpick.range.to`))
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
	text := ask[string](b, `document.getElementById('details-body').innerText`)
	says := fmt.Sprintf("%d granted, %d refused", want["granted"], want["refused"])
	if !strings.Contains(text, says) || !strings.Contains(strings.Join(strings.Fields(text), " "), fmt.Sprintf("Violations %d ", want["violations"])) {
		t.Errorf("the panel says\n%s\nwant %s, %d violations", text, says, want["violations"])
	}

	b.wait("the range in the address", `/range=/.test(location.hash)`)
	before := ask[string](b, `Math.round(lockpick.range.from) + ' ' + Math.round(lockpick.range.to)`)
	b.do(chromedp.Reload())
	b.wait("the range again", `window.lockpick && lockpick.range`)
	if got := ask[string](b, `Math.round(lockpick.range.from) + ' ' + Math.round(lockpick.range.to)`); got != before {
		b.Errorf("the link selects %s, want %s", got, before)
	}

	b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"), chromedp.KeyEvent("r"))
	b.wait("what is shown", `lockpick.range && lockpick.range.from === lockpick.view.from && lockpick.range.to === lockpick.view.to`)
	b.do(chromedp.KeyEvent("\u001b"))
	b.wait("nothing", `lockpick.range === null && !lockpick.pinned`)
	b.quiet()
}

func fromMicros(us float64) time.Duration { return time.Duration(us * 1e3) }
