// Package browsertest opens pages in a browser of this machine, for tests of reports. A test is skipped where there is none.
//
// Start starts the browser, Open and OpenAddress open a Tab; Ask and Wait read the page, Do acts on it, and Quiet fails the
// test if the page complained or loaded anything.
package browsertest

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Start starts the browser of this machine, for all pages of one test.
func Start(t testing.TB) context.Context {
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

// Tab is one page in the browser, and what it said and asked for.
type Tab struct {
	testing.TB
	Ctx context.Context

	mu       sync.Mutex
	said     []string // errors and warnings on its console
	requests []string
}

// Open writes a page and opens it in a tab of its own.
func Open(t testing.TB, parent context.Context, write func(io.Writer) error, width, height int64, dark bool) *Tab {
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
	return OpenAddress(t, parent, (&url.URL{Scheme: "file", Path: path}).String(), width, height, dark)
}

// OpenAddress opens a page in a tab of its own.
func OpenAddress(t testing.TB, parent context.Context, address string, width, height int64, dark bool) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	b := &Tab{TB: t, Ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.Do(
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

func (b *Tab) hear(ev any) {
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

// Do carries out steps in the page.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.Ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// Wait waits until a condition holds in the page.
func (b *Tab) Wait(what, condition string) {
	b.Helper()
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		b.Fatalf("%s did not come (%s): %v", what, condition, err)
	}
}

// Ask evaluates an expression in a page.
func Ask[T any](b *Tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Point is a place in the page, in pixels.
type Point struct{ X, Y float64 }

// Heard returns what the page said on its console, and what it requested.
func (b *Tab) Heard() (said, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said), slices.Clone(b.requests)
}

// Quiet fails the test if the page complained or asked the network for anything.
func (b *Tab) Quiet() {
	b.Helper()
	said, requests := b.Heard()
	for _, s := range said {
		b.Errorf("the page said: %s", s)
	}
	if len(requests) == 0 {
		b.Error("not even the page itself was seen to be requested: the test does not listen")
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, "file:") && !strings.HasPrefix(r, "data:") || strings.HasPrefix(r, "file:") && !strings.HasSuffix(r, "/report.html") {
			b.Errorf("the page requested %s", r)
		}
	}
}

// Picture keeps the screen for people to look at, in the folder LOCKPICK_PAGES.
func (b *Tab) Picture(name string) {
	b.Helper()
	folder := os.Getenv("LOCKPICK_PAGES")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// pdfPage begins each page in a PDF file.
var pdfPage = regexp.MustCompile(`/Type /Page\b`)

// Printed prints the page to a PDF file, and returns it with its number of pages.
func (b *Tab) Printed() (pdf []byte, pages int) {
	b.Helper()
	pdf, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF())
	if err != nil {
		b.Fatal(err)
	}
	return pdf, len(pdfPage.FindAll(pdf, -1))
}
