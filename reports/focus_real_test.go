//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestFocus: a pinned violation shows its clients and all masters, and folds the other clients;
// a click on their lane, or closing the details, brings them back.
func TestFocus(t *testing.T) {
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	all := browsertest.Ask[float64](b, `lockpick.lanes.filter((l) => l.startsWith('client')).length`)
	masters := browsertest.Ask[float64](b, `lockpick.counts.masters`)
	scrollToTimeline(b)
	shown := func(clients string, what string) {
		b.Helper()
		b.Wait(what, fmt.Sprintf(`(() => {
			const of = (kind) => lockpick.lanes.filter((l) => l.startsWith(kind)).length;
			return %s && of('master') === %v;
		})()`, clients, masters))
	}
	b.Do(chromedp.Click(chromedp.CSS("#next")))
	shown(`of('client') === 2 && of('rest') === 1`, "the two clients of the violation")
	b.Picture("focus")
	at := browsertest.Ask[browsertest.Point](b, `(() => { const p = lockpick.place('rest', 0); return {X: p.x + 200, Y: p.y}; })()`)
	b.Do(chromedp.MouseClickXY(at.X, at.Y))
	shown(fmt.Sprintf(`of('client') === %v && of('rest') === 0`, all), "all clients after a click")
	if !browsertest.Ask[bool](b, `lockpick.pinned.kind === 'violation'`) {
		b.Error("the violation is not pinned any more")
	}
	b.Do(chromedp.Click(chromedp.CSS("#next")))
	shown(`of('rest') === 1`, "the clients of the next one")
	b.Do(chromedp.Click(chromedp.CSS("#close")))
	shown(fmt.Sprintf(`of('client') === %v && of('rest') === 0`, all), "all clients after the panel was closed")
	b.Quiet()
}
