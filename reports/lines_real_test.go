//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockpick/internal/browsertest"
)

// TestLinesOfTheHistory: what the page says about the history's lines opens these lines, as they were
// recorded, with those around them; a line that the page has no copy of names the command.
func TestLinesOfTheHistory(t *testing.T) {
	p := violatedPlan()
	h, _ := synthesize(p)
	b := open(t, browsertest.Start(t), p, 1400, 900, false)
	shown := func(where string) {
		b.Helper()
		index := browsertest.Ask[float64](b, fmt.Sprintf(`+document.querySelector(%q).textContent`, where+" .line"))
		browsertest.Ask[bool](b, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, where+" .line"))
		b.Wait("the line in "+where, fmt.Sprintf(`[...document.querySelectorAll('.lines pre b')].some((l) => l.checkVisibility() && JSON.parse(l.textContent).index === %v)`, index))
		want := h.Ops[int(index)]
		if got := browsertest.Ask[float64](b, `JSON.parse(document.querySelector('.lines pre b').textContent).time`); int64(got) != int64(want.Time) {
			b.Errorf("line %v is at %v, want %v", index, got, want.Time)
		}
		if n := browsertest.Ask[float64](b, `document.querySelectorAll('.lines pre > *').length`); n < 11 || n > 21 {
			b.Errorf("%v lines are shown, want the line and up to 10 before and after it", n)
		}
		if !browsertest.Ask[bool](b, fmt.Sprintf(`document.querySelector('.lines').closest('body').innerText.includes('--lines %v')`, index)) {
			b.Error("the command that prints the line is not shown")
		}
	}
	browsertest.Ask[bool](b, `(document.querySelector('#first details:last-of-type').open = true)`)
	shown("#first td")
	b.Picture("lines-evidence")
	browsertest.Ask[bool](b, `(document.querySelector('#first td .line').click(), true)`)
	b.Wait("the box to be empty again", `!document.querySelector('.lines pre')`)

	scrollToTimeline(b)
	b.Do(chromedp.Click(chromedp.CSS("#violation")))
	b.Wait("the details", `document.querySelector('#details .line')`)
	shown("#details")
	b.Picture("lines-details")

	b.Quiet()

	// Of a long run the page has not all lines.
	long := open(t, browsertest.Start(t), longPlan(20_000), 1400, 900, false)
	long.Do(chromedp.Focus(chromedp.CSS("#lanes")))
	for range 8 {
		long.Do(chromedp.KeyEvent("+"))
	}
	long.Do(chromedp.KeyEvent(kb.End))
	long.Wait("the end of the run", `lockpick.view.to === lockpick.view.stop && lockpick.view.from > lockpick.view.start`)
	for range 8 { // past the lanes of violations and faults
		if long.Do(chromedp.KeyEvent(kb.ArrowDown)); browsertest.Ask[bool](long, `!!lockpick.pinned && lockpick.pinned.kind === 'attempt'`) {
			break
		}
	}
	long.Wait("an acquire", `lockpick.pinned && lockpick.pinned.kind === 'attempt'`)
	for i := range 200 { // to an acquire that is not near a violation
		browsertest.Ask[bool](long, `(document.querySelector('#details .line').click(), true)`)
		if browsertest.Ask[bool](long, `document.querySelector('#details .lines').textContent.includes('The page has no copy of this line') && !document.querySelector('#details pre')`) {
			break
		}
		if i == 199 {
			t.Error("the page has a copy of every line of a long run")
		}
		long.Do(chromedp.KeyEvent("["))
	}
	long.Quiet()
}
