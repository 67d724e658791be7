//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/browsertest"
)

// brokenForLong is a history of a lock that grants every key twice, to its end.
func brokenForLong(rounds int) *history.History {
	h := &history.History{Header: history.Header{Name: "broken-for-long", Driver: scenario.Sim, Masters: 1, Quorum: 1, Clients: 4, Keys: 1, TTL: time.Second}}
	add := func(at time.Duration, client string, t history.Type, f, token string, until time.Duration) {
		op := history.Op{Index: len(h.Ops), Time: at, Process: client, Type: t, F: f, Key: "k0"}
		if token != "" {
			op.Value = &history.Value{Token: token, ValidUntil: until}
		}
		h.Ops = append(h.Ops, op)
	}
	for i := range rounds {
		at := time.Duration(i) * 100 * time.Millisecond
		for j := range 2 {
			client, granted := fmt.Sprintf("c%d", 1+(2*i+j)%4), at+time.Duration(10*j+1)*time.Millisecond
			add(granted-time.Millisecond, client, history.Invoke, history.FAcquire, "", 0)
			add(granted, client, history.OK, history.FAcquire, fmt.Sprintf("t%d.%d", i, j), at+60*time.Millisecond)
		}
	}
	return h
}

// TestEveryViolationIsDrawn: of many violations only the first are explained, and all are drawn
// and counted, so that a lock that stays broken does not look healed.
func TestEveryViolationIsDrawn(t *testing.T) {
	h := brokenForLong(400)
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, v := range r.Verdicts {
		all += v.Count
		if v.Count != len(v.Violations)+len(v.Others) {
			t.Errorf("%s: %d violations, %d explained and %d others", v.Name, v.Count, len(v.Violations), len(v.Others))
		}
	}
	if all < 400 {
		t.Fatalf("%d violations were found", all)
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return HTML(w, h, r, nil) }, 1400, 900, false)
	b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	scrollToTimeline(b)
	if n := browsertest.Ask[float64](b, `lockpick.counts.violations + lockpick.counts.marks`); n != float64(all) {
		b.Errorf("the page has %v violations, the history %d", n, all)
	}
	b.Wait("all to be counted", fmt.Sprintf(`lockpick.counted === %d`, all))
	b.Picture("every-violation")
	if share := browsertest.Ask[float64](b, reddish(`lockpick.counts.marks - 1`)); share < 0.5 {
		b.Errorf("the last violation is not drawn: %v of its place is red", share)
	}

	// The list has them all, if one asks for the rest.
	listed := `document.querySelectorAll('.violations li').length`
	browsertest.Ask[bool](b, `(document.querySelector('details.all').open = true)`)
	for i := 0; browsertest.Ask[bool](b, `document.getElementById('more-violations').checkVisibility()`); i++ {
		if i > all/500 {
			b.Fatalf("the list has %v violations of %d, and there is still more to show", browsertest.Ask[float64](b, listed), all)
		}
		b.Do(chromedp.Click(chromedp.CSS("#more-violations")))
	}
	if n := browsertest.Ask[float64](b, listed); n != float64(all) {
		b.Errorf("the list has %v violations, the history %d", n, all)
	}
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('.violations li .level:not([title])').length`); n > 0 {
		b.Errorf("%v levels in the list do not say what they mean", n)
	}
	b.Do(chromedp.Click(chromedp.CSS(".violations li:last-child button")))
	b.Wait("the last one in the timeline", `lockpick.pinned && lockpick.pinned.kind === 'mark' && lockpick.pinned.i === lockpick.counts.marks - 1 && lockpick.view.from > lockpick.view.start`)
	b.Do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.Wait("the whole run", `lockpick.view.from === lockpick.view.start`)
	scrollToTimeline(b)

	// Closer, each of them tells of itself.
	for range 5 {
		b.Do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	}
	at := browsertest.Ask[browsertest.Point](b, `(() => {
		const box = document.getElementById('lanes').getBoundingClientRect(), middle = box.left + box.width / 2;
		const all = Array.from({length: lockpick.counts.marks}, (_, i) => lockpick.place('mark', i));
		const p = all.reduce((a, b) => Math.abs(b.x - middle) < Math.abs(a.x - middle) ? b : a);
		return {X: p.x, Y: p.y};
	})()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+1, at.Y))
	b.Wait("the tip", `lockpick.hover && lockpick.hover.kind === 'mark' && document.getElementById('tip').textContent.includes('are explained')`)
	b.Quiet()
}

// reddish is a script for the share of red pixels around a mark.
func reddish(mark string) string {
	return fmt.Sprintf(`(() => {
		const canvas = document.getElementById('lanes'), box = canvas.getBoundingClientRect(), p = lockpick.place('mark', %s), ratio = canvas.width / box.width;
		const {data} = canvas.getContext('2d').getImageData(Math.round((p.x - box.left) * ratio), Math.round((p.y - box.top - 6) * ratio), 4, 4);
		let red = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i] > data[i + 1] + 40 && data[i] > data[i + 2] + 40) red++;
		return red / (data.length / 4);
	})()`, mark)
}

// TestSparseHoldsLookSparse: a lock that is held for a tenth of the time does not look as if it
// was always held, however far away one looks.
func TestSparseHoldsLookSparse(t *testing.T) {
	h := &history.History{Header: history.Header{Name: "sparse", Driver: scenario.Sim, Masters: 1, Quorum: 1, Clients: 1, Keys: 1, TTL: time.Second}}
	add := func(at time.Duration, t history.Type, f string, v *history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: at, Process: "c1", Type: t, F: f, Key: "k0", Value: v})
	}
	for i := range 20_000 {
		at := time.Duration(i) * 10 * time.Millisecond
		v := &history.Value{Token: fmt.Sprintf("t%d", i)}
		add(at, history.Invoke, history.FAcquire, nil)
		add(at, history.OK, history.FAcquire, &history.Value{Token: v.Token, ValidUntil: at + time.Millisecond})
		add(at+time.Millisecond, history.Invoke, history.FRelease, v)
		add(at+time.Millisecond, history.OK, history.FRelease, v)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return HTML(w, h, r, nil) }, 1400, 900, false)
	b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	scrollToTimeline(b)
	// How opaque the middle of the lane is: a client's lane has no background of its own.
	const strength = `(() => {
		const canvas = document.getElementById('lanes'), box = canvas.getBoundingClientRect(), p = lockpick.place('attempt', 10000), ratio = canvas.width / box.width;
		const {data} = canvas.getContext('2d').getImageData(Math.round((p.x - box.left) * ratio) - 20, Math.round((p.y - box.top) * ratio), 40, 1);
		let sum = 0;
		for (let i = 3; i < data.length; i += 4) sum += data[i] / 255;
		return sum / (data.length / 4);
	})()`
	if share := browsertest.Ask[float64](b, strength); share < 0.05 || share > 0.4 {
		b.Errorf("a lock that is held for 10 %% of the time is drawn as if for %.0f %%", 100*share)
	}
	b.Picture("sparse")
	b.Quiet()
}
