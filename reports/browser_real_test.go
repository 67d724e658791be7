//go:build real

package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestReportsInABrowser: on a phone, of long runs, and with names that are markup.
func TestReportsInABrowser(t *testing.T) {
	ctx := browsertest.Start(t)
	t.Run("on a dark phone", func(t *testing.T) { darkPhone(open(t, ctx, violatedPlan(), 390, 844, true)) })
	t.Run("a run of 10,000 operations", func(t *testing.T) { longRun(open(t, ctx, longPlan(10_000), 1400, 900, true)) })
	t.Run("a run of 100,000 operations", func(t *testing.T) { longRun(open(t, ctx, longPlan(100_000), 1400, 900, false)) })
	t.Run("hostile names", func(t *testing.T) { hostileRun(open(t, ctx, hostilePlan(), 1400, 900, false)) })
}

func darkPhone(b *browsertest.Tab) {
	b.Picture("phone-top")
	if over := browsertest.Ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.Errorf("the page is %v pixels wider than the screen", over)
	}
	// The story is read downwards; its diagram alone is scrolled sideways.
	browsertest.Ask[bool](b, `(document.getElementById('story').open = true, document.getElementById('story').scrollIntoView({block: 'start'}), true)`)
	if over := browsertest.Ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.Errorf("with its story open the page is %v pixels wider than the screen", over)
	}
	if over := browsertest.Ask[float64](b, `(d => d.scrollWidth - d.clientWidth)(document.querySelector('#story .scroll'))`); over <= 0 {
		b.Errorf("the diagram cannot be scrolled, and is wider than a phone")
	}
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('#story li').length`); n < 5 {
		b.Errorf("the story has %v steps", n)
	}
	if text := browsertest.Ask[string](b, `document.querySelector('#story .diagram').innerText`); !strings.Contains(text, "granted<") {
		b.Errorf("the diagram shows no grant:\n%s", text)
	}
	b.Picture("phone-story")
	browsertest.Ask[bool](b, `(document.querySelector('#first button').click(), true)`)
	b.Wait("the violation", `lockpick.pinned && lockpick.pinned.kind === 'violation'`)
	b.Picture("phone-zoomed")
	b.Quiet()
}

func longRun(b *browsertest.Tab) {
	if n := browsertest.Ask[float64](b, `lockpick.counts.votes`); n < 4000 {
		b.Errorf("the page holds %v votes", n)
	}
	b.Logf("%v shapes in %.1f ms", browsertest.Ask[float64](b, `lockpick.drawn`), browsertest.Ask[float64](b, `lockpick.milliseconds`))
	scrollToTimeline(b)
	b.Wait("the lanes", `lockpick.drawn > 100`)
	if n := browsertest.Ask[float64](b, `lockpick.drawn`); n > 20000 {
		b.Errorf("%v shapes are drawn at once: too many for a smooth page", n)
	}
	apart := browsertest.Ask[bool](b, `!!document.getElementById('votes')`)
	if read := browsertest.Ask[bool](b, `lockpick.votesRead`); read == apart {
		b.Errorf("votes that stand apart: %v; they were read: %v", apart, read)
	}
	b.Picture(fmt.Sprintf("long-%.0f", browsertest.Ask[float64](b, `lockpick.counts.votes`)))
	b.Do(chromedp.Click(chromedp.CSS("#violation")))
	b.Wait("a violation's acquires", `document.querySelector('#details .more button')`)
	b.Do(chromedp.Click(chromedp.CSS("#details .more button")))
	b.Wait("the replies of the masters", `lockpick.votesRead && lockpick.arrows > 0 && document.querySelectorAll('#details table tr').length > 2`)
	b.Quiet()
}

func hostileRun(b *browsertest.Tab) {
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('img, script:not([type]) ~ script').length`); n != 0 {
		b.Errorf("a name became markup: %v elements", n)
	}
	scrollToTimeline(b)
	for i := range int(browsertest.Ask[float64](b, `lockpick.counts.violations`)) {
		b.Do(chromedp.Click(chromedp.CSS("#next")))
		b.Wait("a violation", fmt.Sprintf(`lockpick.violation === %d && lockpick.pinned`, i))
	}
	at := browsertest.Ask[browsertest.Point](b, `(() => { const p = lockpick.place('violation', lockpick.violation); return {X: p.x, Y: p.y}; })()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+1, at.Y))
	b.Wait("the tip", `lockpick.hover && document.getElementById('tip').textContent.includes('onerror')`)
	b.Picture("hostile")
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('img').length`); n != 0 {
		b.Errorf("a name became an image")
	}
	b.Quiet()
}
