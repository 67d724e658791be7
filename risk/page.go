package risk

import (
	"embed"
	"html/template"
	"io"
	"math"

	"lockpick/reports/web"
)

//go:embed page
var pageFiles embed.FS

var estimatePage = web.New(web.Page{Files: pageFiles, Name: "risk", Styles: []string{"risk"}, Funcs: template.FuncMap{"figures": figures, "twoDigits": twoDigits}})

// pageData is the data of the template.
type pageData struct {
	web.Frame
	*Result
	Headlines []string
	Setup     string
	Effects   string
	Notes     []string
	Line      string
	Shown     []shownCause
	Bars      []bar
	Axis      []tick
	Now       float64 // x of the setup itself
	Height    int
	Fields    []fieldRow
}

// bar is a bar of the tornado chart: from the expected violations of the setup to those of
// another setup.
type bar struct {
	Name, Says           string
	Y                    int
	From, Width, LabelAt float64
	Sign, Tone           string // ▼ better, ▲ worse, ≈ a change of at most 5 %
}

type tick struct {
	X    float64
	Text string
}

type fieldRow struct{ Name, Value, Means, Source string }

// The measures of the chart, in its own units: height of a row, left edge and width of the bars.
const (
	rowHeight  = 34
	leftEdge   = 10
	chartWidth = 780
)

// WritePage writes the page of an estimate. The page loads nothing.
func WritePage(w io.Writer, r *Result) error {
	p := &pageData{
		Result: r, Headlines: Headlines(r), Setup: describe(r),
		Effects: effectsTitle(r), Notes: notes(r), Line: totals(r), Shown: shownCauses(r),
	}
	p.tornado()
	values := r.Setup.Values()
	for i, f := range Fields {
		field := fieldRow{Name: f.Name, Value: values[i], Means: f.Means}
		if field.Value == f.Default {
			field.Source = "the default: " + f.Source
			if f.Source == "" {
				field.Source = "the default"
			}
		}
		p.Fields = append(p.Fields, field)
	}
	return estimatePage.Write(w, p)
}

// tornado lays out the chart: violations of both kinds together, per year, on a logarithmic scale.
func (p *pageData) tornado() {
	total := func(a, b Interval) float64 { return a.Expected + b.Expected }
	now := total(p.Result.Exclusion, p.Result.Effects)
	low, high := math.Inf(1), 0.0
	note := func(x float64) {
		if x > 0 {
			low, high = min(low, x), max(high, x)
		}
	}
	note(now)
	for _, a := range p.WhatIf {
		note(total(a.Exclusion, a.Effects))
	}
	if high == 0 || now == 0 {
		return // nothing to compare
	}
	first, last := math.Floor(math.Log10(low))-1, math.Ceil(math.Log10(high))
	at := func(x float64) float64 {
		if x <= 0 {
			return leftEdge
		}
		return leftEdge + chartWidth*(math.Log10(x)-first)/(last-first)
	}
	step := math.Ceil((last - first) / 8)
	for e := last; e > first; e -= step {
		p.Axis = append(p.Axis, tick{at(math.Pow(10, e)), perYear(math.Pow(10, e))})
	}
	p.Now = at(now)
	for i, a := range p.WhatIf {
		x := total(a.Exclusion, a.Effects)
		from, to := min(at(x), p.Now), max(at(x), p.Now)
		says := perYear(x)
		if x == 0 {
			says = "none seen"
		}
		sign, tone := "≈", "same"
		const noticed = 0.05
		switch {
		case x < now*(1-noticed):
			sign, tone = "▼", "better"
		case x > now*(1+noticed):
			sign, tone = "▲", "worse"
		}
		p.Bars = append(p.Bars, bar{Name: a.Name, Says: says, Y: i * rowHeight, From: from, Width: max(to-from, 1), LabelAt: from, Sign: sign, Tone: tone})
	}
	p.Height = len(p.Bars)*rowHeight + 30
}
