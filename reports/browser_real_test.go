//go:build real

package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestReportsInABrowser: on a phone, of long runs, and with names that are markup.
func TestReportsInABrowser(t *testing.T) {
	ctx := browser(t)
	t.Run("on a dark phone", func(t *testing.T) { darkPhone(open(t, ctx, violatedPlan(), 390, 844, true)) })
	t.Run("a run of 10,000 operations", func(t *testing.T) { longRun(open(t, ctx, longPlan(10_000), 1400, 900, true)) })
	t.Run("a run of 100,000 operations", func(t *testing.T) { longRun(open(t, ctx, longPlan(100_000), 1400, 900, false)) })
	t.Run("hostile names", func(t *testing.T) { hostileRun(open(t, ctx, hostilePlan(), 1400, 900, false)) })
}

func darkPhone(b *tab) {
	b.picture("phone-top")
	if over := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.Errorf("the page is %v pixels wider than the screen", over)
	}
	// The story is read downwards; its diagram alone is scrolled sideways.
	ask[bool](b, `(document.getElementById('story').open = true, document.getElementById('story').scrollIntoView({block: 'start'}), true)`)
	if over := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.Errorf("with its story open the page is %v pixels wider than the screen", over)
	}
	if over := ask[float64](b, `(d => d.scrollWidth - d.clientWidth)(document.querySelector('#story .scroll'))`); over <= 0 {
		b.Errorf("the diagram cannot be scrolled, and is wider than a phone")
	}
	if n := ask[float64](b, `document.querySelectorAll('#story li').length`); n < 5 {
		b.Errorf("the story has %v steps", n)
	}
	if text := ask[string](b, `document.querySelector('#story .diagram').innerText`); !strings.Contains(text, "granted<") {
		b.Errorf("the diagram shows no grant:\n%s", text)
	}
	b.picture("phone-story")
	ask[bool](b, `(document.querySelector('#first button').click(), true)`)
	b.wait("the violation", `lockpick.pinned && lockpick.pinned.kind === 'violation'`)
	b.picture("phone-zoomed")
	b.quiet()
}

func longRun(b *tab) {
	if n := ask[float64](b, `lockpick.counts.votes`); n < 4000 {
		b.Errorf("the page holds %v votes", n)
	}
	b.Logf("%v shapes in %.1f ms", ask[float64](b, `lockpick.drawn`), ask[float64](b, `lockpick.milliseconds`))
	scrollToTimeline(b)
	b.wait("the lanes", `lockpick.drawn > 100`)
	if n := ask[float64](b, `lockpick.drawn`); n > 20000 {
		b.Errorf("%v shapes are drawn at once: too many for a smooth page", n)
	}
	apart := ask[bool](b, `!!document.getElementById('votes')`)
	if read := ask[bool](b, `lockpick.votesRead`); read == apart {
		b.Errorf("votes that stand apart: %v; they were read: %v", apart, read)
	}
	b.picture(fmt.Sprintf("long-%.0f", ask[float64](b, `lockpick.counts.votes`)))
	b.do(chromedp.Click(chromedp.CSS("#violation")))
	b.wait("a violation's acquires", `document.querySelector('#details .more button')`)
	b.do(chromedp.Click(chromedp.CSS("#details .more button")))
	b.wait("the replies of the masters", `lockpick.votesRead && lockpick.arrows > 0 && document.querySelectorAll('#details table tr').length > 2`)
	b.quiet()
}

func hostileRun(b *tab) {
	if n := ask[float64](b, `document.querySelectorAll('img, script:not([type]) ~ script').length`); n != 0 {
		b.Errorf("a name became markup: %v elements", n)
	}
	scrollToTimeline(b)
	for i := range int(ask[float64](b, `lockpick.counts.violations`)) {
		b.do(chromedp.Click(chromedp.CSS("#next")))
		b.wait("a violation", fmt.Sprintf(`lockpick.violation === %d && lockpick.pinned`, i))
	}
	at := ask[point](b, `(() => { const p = lockpick.place('violation', lockpick.violation); return {X: p.x, Y: p.y}; })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+1, at.Y))
	b.wait("the tip", `lockpick.hover && document.getElementById('tip').textContent.includes('onerror')`)
	b.picture("hostile")
	if n := ask[float64](b, `document.querySelectorAll('img').length`); n != 0 {
		b.Errorf("a name became an image")
	}
	b.quiet()
}
