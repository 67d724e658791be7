package reports

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser starts the browser of this machine, for all pages of one test.
func browser(t testing.TB) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser or google-chrome is on the PATH: the page is not tried in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("headless", true), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is one page in the browser, and what it said and asked for.
type tab struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	said     []string // errors and warnings on its console
	requests []string
}

// open writes the page of a plan and opens it in a tab of its own.
func open(t *testing.T, parent context.Context, p plan, width, height int64, dark bool) *tab {
	t.Helper()
	h, r := synthesize(p)
	b := openPage(t, parent, func(w io.Writer) error { return HTML(w, h, r, nil) }, width, height, dark)
	b.wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
	return b
}

// openPage writes a page and opens it in a tab of its own.
func openPage(t testing.TB, parent context.Context, write func(io.Writer) error, width, height int64, dark bool) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return openAddress(t, parent, (&url.URL{Scheme: "file", Path: path}).String(), width, height, dark)
}

// openAddress opens a page in a tab of its own.
func openAddress(t testing.TB, parent context.Context, address string, width, height int64, dark bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	b := &tab{TB: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
				return err
			}
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
			})
			return err
		}),
		chromedp.EmulateViewport(width, height),
		chromedp.Navigate(address),
	)
	return b
}

func (b *tab) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprintf("console.%s", ev.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.said = append(b.said, ev.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// wait waits until a condition holds in the page.
func (b *tab) wait(what, condition string) {
	b.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		b.Fatalf("%s did not come (%s): %v", what, condition, err)
	}
}

// ask evaluates an expression in a page.
func ask[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

type point struct{ X, Y float64 }

// scrollToTimeline brings the lanes onto the screen.
func (b *tab) scrollToTimeline() {
	b.Helper()
	ask[bool](b, `(document.documentElement.style.scrollBehavior = 'auto', document.getElementById('timeline').scrollIntoView({block: 'start'}), true)`)
}

// quiet fails the test if the page complained or asked the network for anything.
func (b *tab) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.Errorf("the page said: %s", s)
	}
	if len(b.requests) == 0 {
		b.Error("not even the page itself was seen to be requested: the test does not listen")
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, "file:") && !strings.HasPrefix(r, "data:") || strings.HasPrefix(r, "file:") && !strings.HasSuffix(r, "/report.html") {
			b.Errorf("the page requested %s", r)
		}
	}
}

// picture keeps the screen for people to look at, in the folder LOCKPICK_PAGES.
func (b *tab) picture(name string) {
	b.Helper()
	folder := os.Getenv("LOCKPICK_PAGES")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// TestPageInABrowser tries the report of a violated run; the other pages are tried with the tag real.
func TestPageInABrowser(t *testing.T) {
	violatedRun(open(t, browser(t), violatedPlan(), 1400, 900, false))
}

func violatedRun(b *tab) {
	if word := ask[string](b, `document.querySelector('h1').innerText`); !strings.Contains(word, "VIOLATED") || !strings.Contains(word, "mutual exclusion") {
		b.Errorf("the headline reads %q", word)
	}
	if top := ask[float64](b, `document.querySelector('h1').getBoundingClientRect().bottom`); top > 300 {
		b.Errorf("the headline ends %v pixels down: it must be seen at once", top)
	}
	b.picture("violated-top")

	// The violation's button goes there, and the window holds the violation.
	b.scrollToTimeline()
	b.do(chromedp.Click(chromedp.CSS("#violation")))
	b.wait("the violation", `lockpick.violation >= 0 && lockpick.view.to - lockpick.view.from < (lockpick.view.stop - lockpick.view.start) / 2`)
	b.wait("the details of the violation", `lockpick.pinned.kind === 'violation' && !document.getElementById('details').hidden`)
	b.wait("the votes of the acquires that are at odds", `lockpick.arrows >= 2 * Math.ceil(lockpick.counts.masters / 2)`)
	b.picture("violated-zoomed")

	// The wheel zooms around the pointer.
	b.do(chromedp.Click(chromedp.CSS("#close")), chromedp.Click(chromedp.CSS("#fit")))
	b.wait("the whole run", `lockpick.view.from === lockpick.view.start`)
	at := ask[point](b, `(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return {X: r.left + r.width / 2, Y: r.top + 120}; })()`)
	b.do(chromedp.MouseEvent(chromedp.MouseWheel, at.X, at.Y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.01, -400 }))
	b.wait("a closer window", `lockpick.view.from > lockpick.view.start && lockpick.view.to < lockpick.view.stop`)

	// Dragging moves the window without changing its length.
	before := ask[float64](b, `lockpick.view.from`)
	left := func(p *input.DispatchMouseEventParams) {
		p.Button = input.MouseButtonLeft
		p.Buttons = 1
		p.ClickCount = 1
	}
	b.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+60, at.Y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+60, at.Y, left),
	)
	b.wait("an earlier window", fmt.Sprintf(`lockpick.view.from < %f`, before))

	// Hovering tells, clicking pins.
	b.do(chromedp.Click(chromedp.CSS("#fit")))
	b.wait("the whole run again", `lockpick.view.from === lockpick.view.start`)
	bar := ask[point](b, `(() => { const p = lockpick.place('stored', 0); return {X: p.x, Y: p.y}; })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, bar.X, bar.Y))
	b.wait("the tip", `lockpick.hover && lockpick.hover.kind === 'stored' && !document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('Token')`)
	b.do(chromedp.MouseClickXY(bar.X, bar.Y))
	b.wait("the panel", `lockpick.pinned && lockpick.pinned.kind === 'stored' && !document.getElementById('details').hidden`)
	b.do(chromedp.Click(chromedp.CSS("#details .more button")))
	b.wait("the replies of the masters", `lockpick.pinned.kind === 'attempt' && document.querySelectorAll('#details table tr').length > 5`)
	b.picture("violated-pinned")

	// Everything works by keys.
	b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	b.wait("a closer window by keys", `lockpick.view.from > lockpick.view.start`)
	b.do(chromedp.KeyEvent("v"))
	b.wait("a violation by keys", `lockpick.pinned.kind === 'violation'`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.wait("the panel to close", `!lockpick.pinned && document.getElementById('details').hidden`)
	b.do(chromedp.KeyEvent("]"))
	b.wait("an item of the first lane", `lockpick.pinned`)

	// The key filter shows another key, and all.
	for _, key := range []string{"1", "-1", "0"} {
		b.do(chromedp.SetValue(chromedp.CSS("#key"), key))
		ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
		b.wait("key "+key, fmt.Sprintf(`lockpick.key === %s`, key))
		if key == "-1" {
			b.picture("violated-all-keys")
		}
	}

	// Latencies: each outcome has its marks, and few samples have no quantiles.
	b.do(chromedp.SetValue(chromedp.CSS("#key"), "-1"), chromedp.Click(chromedp.CSS("#fit")))
	ask[bool](b, `document.getElementById('key').dispatchEvent(new Event('change'))`)
	b.wait("latencies of granted and refused acquires", `lockpick.latencies.outcomes[0] > 0 && lockpick.latencies.outcomes[1] > 0`)
	ask[bool](b, `(document.getElementById('latency').scrollIntoView({block: 'center'}), true)`)
	b.picture("violated-latency")
	for range 12 {
		b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent("+"))
	}
	b.wait("no quantiles of few samples", `lockpick.latencies.quantiles === 0`)
	b.do(chromedp.Click(chromedp.CSS("#fit")))

	// A violation in the list goes to the timeline as well.
	b.do(chromedp.Click(chromedp.CSS(".violations li:last-child button")))
	b.wait("the last violation", `lockpick.violation === lockpick.counts.violations - 1`)
	b.quiet()
}
