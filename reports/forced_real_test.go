//go:build real

package reports

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestForcedColours: where the system decides on the colours, verdicts are still told by words and signs,
// what can be pressed has an edge, and the charts keep their own colours, so that what they draw can be seen.
func TestForcedColours(t *testing.T) {
	ctx := browsertest.Start(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			b := open(t, ctx, violatedPlan(), 1280, 900, scheme == "dark")
			b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
					{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
				}})
				return err
			}))
			b.Wait("forced colours", `matchMedia('(forced-colors: active)').matches`)
			b.Picture("forced-" + scheme)
			if says := browsertest.Ask[string](b, `document.querySelector('h1 .word').innerText`); says != "✕ VIOLATED" {
				t.Errorf("the verdict reads %q", says)
			}
			scrollToTimeline(b)
			b.Picture("forced-timeline-" + scheme)
			if adjust := browsertest.Ask[string](b, `getComputedStyle(document.querySelector('.chart')).forcedColorAdjust`); adjust != "none" {
				t.Errorf("the charts' ground is %s by the system, but not what they draw", adjust)
			}
			if lost := browsertest.Ask[float64](b, `[...document.querySelectorAll('.legend i, figure i')].filter((e) => getComputedStyle(e).forcedColorAdjust !== 'none').length`); lost > 0 {
				t.Errorf("%v signs of the legends have lost their colours", lost)
			}
			// Buttons in lists are rows with lines between them, and those of the history's lines look like links.
			if n := browsertest.Ask[float64](b, `[...document.querySelectorAll('button:not(.line, .violations *)')].filter((e) => e.checkVisibility() && getComputedStyle(e).borderTopWidth === '0px').length`); n > 0 {
				t.Errorf("%v buttons have no edge", n)
			}
			b.Quiet()
		})
	}
}
