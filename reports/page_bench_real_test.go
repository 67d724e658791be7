//go:build real

package reports

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// BenchmarkPage writes the page of a run with a million lines, opens it in a browser, and
// measures what a reader waits for: until it is drawn, after each step of a zoom from the whole run
// to a thousandth of it, and while the pointer moves over the lanes.
//
//	go test ./reports -run '^$' -bench BenchmarkPage -benchtime 1x
func BenchmarkPage(b *testing.B) {
	h, r := synthesize(longPlan(1_000_000))
	ctx := browsertest.Start(b)
	for range b.N {
		var size int
		t := browsertest.Open(b, ctx, func(w io.Writer) error {
			var page bytes.Buffer
			if err := HTML(&page, h, r, nil); err != nil {
				return err
			}
			size = page.Len()
			_, err := page.WriteTo(w)
			return err
		}, 1400, 900, false)
		b.ReportMetric(float64(size)/1e6, "MB")
		t.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
		b.ReportMetric(float64(len(h.Ops)), "lines")
		b.ReportMetric(browsertest.Ask[float64](t, `lockpick.ready`), "ready-ms")
		scrollToTimeline(t)
		b.ReportMetric(slowest(t, zoom), "zoom-ms")
		b.ReportMetric(slowest(t, hover), "hover-ms")
	}
}

// zoom and hover are what a reader does in step i of 20; both have the page drawn anew.
const (
	zoom = `(i) => {
		const c = document.getElementById('lanes'), r = c.getBoundingClientRect(), x = r.left + r.width * 0.6, y = r.top + 120;
		c.dispatchEvent(new WheelEvent('wheel', {deltaY: i < 10 ? -350 : 350, clientX: x, clientY: y, bubbles: true, cancelable: true}));
	}`
	hover = `(i) => {
		const c = document.getElementById('lanes'), r = c.getBoundingClientRect();
		c.dispatchEvent(new PointerEvent('pointermove', {clientX: r.left + 150 + i * 53, clientY: r.top + 60 + i * 11, bubbles: true}));
	}`
)

// slowest does 20 steps and returns for how many milliseconds the page was busy with the slowest: the
// event, and the frame that draws what it changed.
func slowest(t *browsertest.Tab, step string) float64 {
	t.Helper()
	ms, err := chromedp.Run(t.Ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(`(async () => {
		await new Promise((done) => setTimeout(done, 500)); // a reader looks before moving
		const step = %s, all = [], frame = () => new Promise(requestAnimationFrame);
		for (let i = 0; i < 20; i++) {
			await frame();
			let from, to;
			requestAnimationFrame(() => { from = performance.now(); }); // before the drawing that the step asks for
			const began = performance.now();
			step(i);
			const handled = performance.now() - began;
			requestAnimationFrame(() => { to = performance.now(); }); // after it
			await frame();
			all.push(handled + to - from);
		}
		return all;
	})()`, step), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for _, m := range ms {
		worst = max(worst, m)
	}
	t.Logf("%.0f", ms)
	return worst
}
