package reports

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/search/reduce"
)

//go:embed page
var pageFiles embed.FS

// scripts are the page's scripts in the order in which they are put together.
// Each file is about one thing; together they are one function, so that nothing
// but window.lockpick is global.
var scripts = []string{"data", "text", "palette", "view", "lanes", "coarse", "timeline", "violations", "picked", "range", "overview", "charts", "details", "lines", "stepper", "search", "address", "keyboard", "print", "strikes", "others", "main"}

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"verdict": verdictWord, "sign": verdictSign, "count": count, "moment": moment, "span": span, "plural": plural, "words": words, "join": strings.Join,
	"seconds": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"lasted":  func(f *history.Fault) string { return span(max(f.To-f.From, 0)) },
	"millis":  func(ms *float64) string { return span(time.Duration(*ms * float64(time.Millisecond))) },
	"params":  paramsOf, "fate": fate, "proof": proof,
}).ParseFS(pageFiles, "page/page.html", headFile))

// headFile is how all pages begin.
const headFile = "page/head.html"

// maxFaultRows is how many faults the page's table lists; the timeline has all.
const maxFaultRows = 1000

// diagramWidth is how many columns the page's diagram of a violation may have.
const diagramWidth = 110

// page is what the template gets.
type page struct {
	Style  template.CSS
	Script template.JS
	Data   template.JS
	Votes  template.JS // of long runs, which the page reads when they are asked for; else they are in Data
	Policy string

	Result      *judge.Result
	Head        headline
	Facts       []fact
	Levels      []level // what stands in the table: all that neither hold nor were not tested
	Folded      []fold
	First       *listed
	Evidence    []line
	Story       []storyStep
	Conclusion  string
	Diagram     string
	Figure      template.HTML
	Figured     signs // of the figure
	Violations  []listed
	Found       int // violations, listed or not
	Keys        []string
	Faults      []*history.Fault
	MoreFaults  int
	Strikes     *strikeTable
	Clients     []clientTotal
	Masters     []masterTotal
	Counts      []fact
	HistoryFile string
	Imported    bool // the history was made from logs
	Torn        bool
	Why         *whyCurve // nil: it was not asked
}

// HTML writes the report as one page that loads nothing from anywhere: it can be
// mailed, archived and opened from a file. why is how likely the violation was over time; nil if nobody
// asked.
func HTML(w io.Writer, h *history.History, r *judge.Result, why *reduce.WhyResult) error {
	style, script, err := assets()
	if err != nil {
		return err
	}
	t := timelineOf(h)
	violations := listViolations(r)
	kinds, marks := listMarks(r)
	data, votes, err := t.encode(h, r.Run, violations, kinds, marks)
	if err == nil && votes != nil {
		if data, err = deflated(data); err == nil {
			votes, err = deflated(votes)
		}
	}
	if err != nil {
		return fmt.Errorf("reports: pack the timeline: %w", err)
	}
	p := &page{
		Style: template.CSS(style), Script: template.JS(script), Data: template.JS(data), Votes: template.JS(votes), Policy: policy(style, script),
		Result: r, Head: headlineOf(r), Facts: factsOf(h, r), Violations: violations, Found: found(r),
		Keys: t.keys, Faults: t.faults, Counts: countsOf(r), Torn: h.Torn,
	}
	p.Levels, p.Folded = foldLevels(levelsOf(h, r))
	p.Imported = h.Header.Driver == history.Imported
	if r.History != "" {
		p.HistoryFile = filepath.Base(r.History)
	}
	if i := slices.IndexFunc(violations, func(v listed) bool { return v.First }); i >= 0 {
		p.First = &violations[i]
		p.Evidence = evidenceOf(h, &p.First.Violation)
		p.Story, p.Conclusion = storyOf(&p.First.Violation)
		p.Diagram = diagram(&p.First.Violation, diagramWidth)
		p.Figure, p.Figured = figureOf(&p.First.Violation, t.clients)
	}
	if len(p.Faults) > maxFaultRows {
		p.MoreFaults = len(p.Faults) - maxFaultRows
		p.Faults = p.Faults[:maxFaultRows]
	}
	if h.Whole == 0 { // else they would count what the excerpt has
		p.Clients, p.Masters = t.totals()
		p.Strikes = strikesOf(h, r)
	}
	if why != nil && len(why.Points) > 0 {
		p.Why = curveOf(why, t.end)
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("reports: write the page: %w", err)
	}
	return nil
}

// deflateFrom is how many bytes of data a page has as they are: 10,000 operations or so. Readers of
// such a page can search its text. Of more, the votes stand apart, and both are deflated.
const deflateFrom = 1 << 20

// deflated turns data into a JSON string of its deflated bytes, a third as long (page/data.js).
func deflated(data []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('"')
	text := base64.NewEncoder(base64.StdEncoding, &b)
	w, err := flate.NewWriter(text, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), text.Close()); err != nil {
		return nil, err
	}
	b.WriteByte('"')
	return b.Bytes(), nil
}

// assets reads the page's style and its scripts, put together.
func assets() (style, script string, err error) { return assetsOf([]string{"page"}, scripts) }

// assetsOf reads styles and scripts, and puts each together.
func assetsOf(styles, scripts []string) (style, script string, err error) {
	var css, js bytes.Buffer
	put := func(to *bytes.Buffer, names []string, ending string) error {
		for _, name := range names {
			b, err := pageFiles.ReadFile("page/" + name + ending)
			if err != nil {
				return fmt.Errorf("reports: %w", err)
			}
			to.Write(b)
		}
		return nil
	}
	js.WriteString("(function () {\n'use strict';\n")
	if err := errors.Join(put(&css, styles, ".css"), put(&js, scripts, ".js")); err != nil {
		return "", "", err
	}
	js.WriteString("})();\n")
	return css.String(), js.String(), nil
}

// policy lets the page's own style and script run, by their hashes, and nothing
// else; not even an image is loaded.
func policy(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(style), hash(script))
}
