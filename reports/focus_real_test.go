//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFocus: a pinned violation shows its clients and all masters, and folds the other clients;
// a click on their lane, or closing the details, brings them back.
func TestFocus(t *testing.T) {
	b := open(t, browser(t), violatedPlan(), 1400, 900, false)
	all := ask[float64](b, `lockpick.lanes.filter((l) => l.startsWith('client')).length`)
	masters := ask[float64](b, `lockpick.counts.masters`)
	scrollToTimeline(b)
	shown := func(clients string, what string) {
		b.Helper()
		b.wait(what, fmt.Sprintf(`(() => {
			const of = (kind) => lockpick.lanes.filter((l) => l.startsWith(kind)).length;
			return %s && of('master') === %v;
		})()`, clients, masters))
	}
	b.do(chromedp.Click(chromedp.CSS("#next")))
	shown(`of('client') === 2 && of('rest') === 1`, "the two clients of the violation")
	b.picture("focus")
	at := ask[point](b, `(() => { const p = lockpick.place('rest', 0); return {X: p.x + 200, Y: p.y}; })()`)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
	shown(fmt.Sprintf(`of('client') === %v && of('rest') === 0`, all), "all clients after a click")
	if !ask[bool](b, `lockpick.pinned.kind === 'violation'`) {
		b.Error("the violation is not pinned any more")
	}
	b.do(chromedp.Click(chromedp.CSS("#next")))
	shown(`of('rest') === 1`, "the clients of the next one")
	b.do(chromedp.Click(chromedp.CSS("#close")))
	shown(fmt.Sprintf(`of('client') === %v && of('rest') === 0`, all), "all clients after the panel was closed")
	b.quiet()
}
