package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"pgregory.net/rapid"

	"lockpick/checker"
)

// checkFigure: the figure of a violation is well-formed, lies within its frame, and numbers the steps
// of the reason.
func checkFigure(t *rapid.T, v *checker.Violation) {
	drawn, _ := figureOf(v, v.Clients)
	if len(v.Clients) > 0 && drawn == "" {
		t.Fatalf("%s on %s has no figure", v.Property, v.Key)
	}
	numbers, rows := 0, 0
	var height float64
	d := xml.NewDecoder(strings.NewReader(string(drawn)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, drawn)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := map[string]string{}
		for _, a := range e.Attr {
			at[a.Name.Local] = a.Value
		}
		if e.Name.Local == "svg" {
			if _, err := fmt.Sscanf(at["viewBox"], "0 0 600 %f", &height); err != nil {
				t.Fatal(err)
			}
		}
		for name, most := range map[string]float64{"x": 600, "x1": 600, "x2": 600, "cx": 600, "y": height, "y1": height, "y2": height, "cy": height} {
			if x, err := strconv.ParseFloat(at[name], 64); at[name] != "" && (err != nil || x < 0 || x > most) {
				t.Fatalf("%s of a %s is %s, of at most %v\n%s", name, e.Name.Local, at[name], most, drawn)
			}
		}
		switch {
		case e.Name.Local == "text" && strings.HasPrefix(at["class"], "number"):
			numbers++
		case e.Name.Local == "text" && at["class"] == "name":
			rows++
		}
	}
	if drawn != "" && (numbers != len(v.Steps()) || rows == 0) {
		t.Fatalf("%d numbers for %d steps, and %d rows\n%s", numbers, len(v.Steps()), rows, drawn)
	}
}

// TestFirstScreen: whoever opens a report of a violation sees the verdict, the reason and its picture
// without scrolling; what holds and what was not tested is one line each.
func TestFirstScreen(t *testing.T) {
	ctx := browser(t)
	b := open(t, ctx, violatedPlan(), 1280, 900, false)
	for what, selector := range map[string]string{"the reason": ".reason", "the picture": "figure svg"} {
		if bottom := ask[float64](b, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom`, selector)); bottom > 900 || bottom < 200 {
			b.Errorf("%s ends at %v pixels: it must be seen at once", what, bottom)
		}
	}
	steps := ask[float64](b, `document.querySelectorAll('.reason li').length`)
	if n := ask[float64](b, `document.querySelectorAll('figure text.number').length`); n != steps {
		b.Errorf("the picture has %v numbers for %v steps", n, steps)
	}
	if n := ask[float64](b, `new Set([...document.querySelectorAll('figure rect[class^=client-]')].map((r) => getComputedStyle(r).fill)).size`); n < 2 {
		b.Errorf("the bars have %v colours: those of two clients were expected", n)
	}
	b.picture("first-screen")

	if n := ask[float64](b, `document.querySelectorAll('details.fold').length`); n != 2 {
		b.Errorf("%v folded lists: what holds and what was not tested were expected", n)
	}
	if ask[bool](b, `[...document.querySelectorAll('details.fold tr')].some((r) => r.checkVisibility())`) {
		b.Error("what holds is shown before anybody opened it")
	}
	ask[bool](b, `(document.querySelector('details.fold.holds summary').click(), true)`)
	b.wait("the properties that hold", `document.querySelector('details.fold.holds tbody tr').checkVisibility()`)

	// The whole list of violations is one stop of the tab key; arrows go through it.
	stops := ask[float64](b, `document.querySelectorAll('.violations button:not([tabindex="-1"])').length`)
	if all := ask[float64](b, `document.querySelectorAll('.violations button').length`); stops != 1 || all < 2 {
		b.Errorf("%v tab stops for %v violations", stops, all)
	}
	ask[bool](b, `(document.querySelector('.violations button').focus(), true)`)
	b.do(chromedp.KeyEvent("\u0301")) // arrow down
	b.wait("the second violation in focus", `document.activeElement === document.querySelectorAll('.violations button')[1] && document.activeElement.tabIndex === 0`)
	b.quiet()

	holding := open(t, ctx, soundPlan(), 1280, 900, false)
	if n := ask[float64](holding, `document.querySelectorAll('figure').length`); n != 0 {
		holding.Errorf("%v pictures of violations where there was none", n)
	}
	holding.picture("first-screen-holds")
	holding.quiet()
}
