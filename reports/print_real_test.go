//go:build real

package reports

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/claims"
)

// pdfPage begins each page in a PDF file, and pdfImage each picture made of pixels.
var (
	pdfPage  = regexp.MustCompile(`/Type /Page\b`)
	pdfImage = regexp.MustCompile(`/Subtype /Image\b`)
)

// TestPrint: a run is printed on four pages at most, and its charts are vectors, also by people who look
// at dark pages.
func TestPrint(t *testing.T) {
	ctx := browser(t)
	for name, p := range map[string]plan{"violated": violatedPlan(), "long": longPlan(10_000), "holding": soundPlan()} {
		t.Run(name, func(t *testing.T) {
			b := open(t, ctx, p, 1400, 900, true)
			b.wait("the overview", `document.getElementById('overview').width > 300`) // it was 300 before it was drawn
			before := ask[string](b, `document.getElementById('overview').toDataURL()`)
			pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(pdfPage.FindAll(pdf, -1)); n < 1 || n > 4 {
				t.Errorf("it takes %d pages, want at most 4", n)
			}
			if n := len(pdfImage.FindAll(pdf, -1)); n != 0 || !bytes.Contains(pdf, []byte("/Font")) {
				t.Errorf("%d pictures are made of pixels", n)
			}
			b.wait("the page as it was", `!document.querySelector('svg.print')`)
			b.wait("the same colours as before", `document.getElementById('overview').toDataURL() === `+"`"+before+"`")
			b.quiet()
		})
	}
}

// TestPrintedCharts: what is printed has as much in it as what is shown.
func TestPrintedCharts(t *testing.T) {
	b := open(t, browser(t), violatedPlan(), 1400, 900, false)
	ask[bool](b, `dispatchEvent(new Event('beforeprint'))`)
	drawn := ask[float64](b, `lockpick.drawn`)
	if n := ask[float64](b, `document.querySelector('#lanes + svg.print').querySelectorAll('rect, path, text').length`); n < drawn/2 || drawn < 100 {
		b.Errorf("the printed timeline has %v shapes, that on the screen %v", n, drawn)
	}
	if n := ask[float64](b, `document.querySelectorAll('svg.print').length`); n < 4 {
		b.Errorf("%v charts are printed: the overview, the timeline, the latencies and the rates were expected", n)
	}
	if fill := ask[string](b, `document.querySelector('svg.print text').getAttribute('fill')`); fill != "var(--soft)" {
		b.Errorf("the colour of a text is %q: a name of the style sheet was expected, so that it is dark on paper", fill)
	}
	ask[bool](b, `dispatchEvent(new Event('afterprint'))`)
	b.wait("the page as it was", `!document.querySelector('svg.print')`)
	b.quiet()
}

// TestPrintClaims: all claims, each with its explanation, take twelve pages at most.
func TestPrintClaims(t *testing.T) {
	r := &claims.Result{Driver: "sim", Budget: claims.Quick, Versions: map[string]string{"lockpick": "v1"}}
	for _, c := range claims.Catalogue() {
		found := claims.ClaimResult{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Outcome: claims.Expected}
		for _, k := range c.Cases {
			result := claims.CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock}
			for _, e := range k.Expect {
				result.Findings = append(result.Findings, claims.Finding{
					Property: e.Property, Level: "L2", Expected: e.Verdict, Found: e.Verdict, Outcome: claims.Expected, Why: strings.Repeat("what the checker says of it, ", 6), Schedules: 20, Proven: 20,
				})
			}
			found.Cases = append(found.Cases, result)
		}
		r.Claims = append(r.Claims, found)
	}
	b := openPage(t, browser(t), func(w io.Writer) error { return ClaimsPage(w, ".", claims.Catalogue(), r, nil) }, 1400, 900, false)
	pages := func() int {
		t.Helper()
		pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
		if err != nil {
			t.Fatal(err)
		}
		return len(pdfPage.FindAll(pdf, -1))
	}
	closed := pages()
	if closed < 3 || closed > 12 || len(r.Claims) < 60 {
		t.Errorf("%d claims take %d pages, want at most 12", len(r.Claims), closed)
	}
	b.do(chromedp.Click(chromedp.CSS("#all")))
	if open := pages(); open <= closed {
		t.Errorf("with all claims open it takes %d pages, with none %d", open, closed)
	}
	b.quiet()
}
