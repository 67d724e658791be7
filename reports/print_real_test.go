//go:build real

package reports

import (
	"bytes"
	"regexp"
	"testing"

	"lockpick/internal/browsertest"
)

// pdfImage is each picture made of pixels in a PDF file.
var pdfImage = regexp.MustCompile(`/Subtype /Image\b`)

// TestPrint: a run is printed on four pages at most, and its charts are vectors, also by people who look
// at dark pages.
func TestPrint(t *testing.T) {
	ctx := browsertest.Start(t)
	for name, p := range map[string]plan{"violated": violatedPlan(), "long": longPlan(10_000), "holding": soundPlan()} {
		t.Run(name, func(t *testing.T) {
			b := open(t, ctx, p, 1400, 900, true)
			b.Wait("the overview", `document.getElementById('overview').width > 300`) // it was 300 before it was drawn
			before := browsertest.Ask[string](b, `document.getElementById('overview').toDataURL()`)
			pdf, n := b.Printed()
			if n < 1 || n > 4 {
				t.Errorf("it takes %d pages, want at most 4", n)
			}
			if n := len(pdfImage.FindAll(pdf, -1)); n != 0 || !bytes.Contains(pdf, []byte("/Font")) {
				t.Errorf("%d pictures are made of pixels", n)
			}
			b.Wait("the page as it was", `!document.querySelector('svg.print')`)
			b.Wait("the same colours as before", `document.getElementById('overview').toDataURL() === `+"`"+before+"`")
			b.Quiet()
		})
	}
}

// TestPrintedCharts: what is printed has as much in it as what is shown.
func TestPrintedCharts(t *testing.T) {
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	browsertest.Ask[bool](b, `dispatchEvent(new Event('beforeprint'))`)
	drawn := browsertest.Ask[float64](b, `lockpick.drawn`)
	if n := browsertest.Ask[float64](b, `document.querySelector('#lanes + svg.print').querySelectorAll('rect, path, text').length`); n < drawn/2 || drawn < 100 {
		b.Errorf("the printed timeline has %v shapes, that on the screen %v", n, drawn)
	}
	if n := browsertest.Ask[float64](b, `document.querySelectorAll('svg.print').length`); n < 4 {
		b.Errorf("%v charts are printed: the overview, the timeline, the latencies and the rates were expected", n)
	}
	if fill := browsertest.Ask[string](b, `document.querySelector('svg.print text').getAttribute('fill')`); fill != "var(--soft)" {
		b.Errorf("the colour of a text is %q: a name of the style sheet was expected, so that it is dark on paper", fill)
	}
	browsertest.Ask[bool](b, `dispatchEvent(new Event('afterprint'))`)
	b.Wait("the page as it was", `!document.querySelector('svg.print')`)
	b.Quiet()
}
