package reports

import (
	"bytes"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports/story"
	"lockpick/reports/term"
	"lockpick/reports/web"
	"lockpick/search/reduce"
)

//go:embed page
var pageFiles embed.FS

// scripts lists the page's scripts in the order in which they are joined. Each file has one
// subject. Together they form one function, so that only window.lockpick is global.
var scripts = []string{"data", "text", "palette", "view", "lanes", "coarse", "timeline", "violations", "picked", "range", "overview", "charts", "details", "lines", "stepper", "search", "address", "keyboard", "print", "strikes", "others", "card", "back", "main"}

var runPage = web.New(web.Page{Files: pageFiles, Name: "page", Scripts: scripts, Funcs: template.FuncMap{
	"hintsMean": func() string { return judge.HintsMean },
	"flags":     keepFlags, "legend": func() []checker.LevelText { return checker.LevelTexts },
	"seconds": startedAt,
	"lasted":  func(f *history.Fault) string { return term.Span(max(f.To-f.From, 0)) },
	"params":  paramsOf, "fate": fate, "proof": proof,
}})

// maxFaultRows limits the faults in the page's table; the timeline shows all.
const maxFaultRows = 1000

// diagramWidth is the width of the page's diagram of a violation, in columns.
const diagramWidth = 110

// page is the data of the template.
type page struct {
	web.Frame
	Data  template.JS
	Votes template.JS // of long runs: the page decodes them when it needs them; otherwise they are in Data

	Result      *judge.Result
	Head        headline
	Facts       []fact
	Levels      []level // the rows of the table: all properties that Folded does not have
	Folded      []fold
	First       *listed
	Evidence    []line
	Story       []story.Step
	Conclusion  string
	Diagram     string
	Figure      template.HTML
	Figured     story.Signs // signs in Figure
	Card        template.URL
	Causes      []causeRow
	Violations  []listed
	Found       int // number of violations, listed or not
	Keys        []string
	Faults      []*history.Fault
	MoreFaults  int
	Strikes     *strikeTable
	Clients     []clientTotal
	Masters     []masterTotal
	Counts      []fact
	HistoryFile string
	Imported    bool // the history was imported from logs
	Torn        bool
	Why         *whyCurve // nil: not requested
}

// HTML writes the report as one page that loads nothing, so that it can be mailed, archived and
// opened as a file. why has the probability of the violation over time; nil: not requested.
func HTML(w io.Writer, h *history.History, r *judge.Result, why *reduce.WhyResult) error {
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
		Data: template.JS(data), Votes: template.JS(votes),
		Result: r, Head: headlineOf(h, r), Facts: factsOf(h, r), Violations: violations, Found: found(r),
		Keys: t.keys, Faults: t.faults, Counts: countsOf(r), Torn: h.Torn,
	}
	p.Causes = causeRows(r, violations)
	p.Levels, p.Folded = foldLevels(levelsOf(h, r))
	p.Imported = h.Header.Driver == history.Imported
	if r.History != "" {
		p.HistoryFile = filepath.Base(r.History)
	}
	if i := slices.IndexFunc(violations, func(v listed) bool { return v.First }); i >= 0 {
		p.First = &violations[i]
		p.Evidence = evidenceOf(h, &p.First.Violation)
		p.Story, p.Conclusion = story.Steps(&p.First.Violation)
		p.Diagram = story.Diagram(&p.First.Violation, diagramWidth)
		p.Card = cardLink(&Export{History: h, Result: r, Violation: &p.First.Violation})
		p.Figure, p.Figured = story.Figure(&p.First.Violation, t.clients)
	}
	if len(p.Faults) > maxFaultRows {
		p.MoreFaults = len(p.Faults) - maxFaultRows
		p.Faults = p.Faults[:maxFaultRows]
	}
	if h.Whole == 0 { // otherwise they would count only the excerpt
		p.Clients, p.Masters = t.totals()
		p.Strikes = strikesOf(h, r)
	}
	if why != nil && len(why.Points) > 0 {
		p.Why = curveOf(why)
	}
	return runPage.Write(w, p)
}

// flagWord is a flag in a sentence, with the number after it.
var flagWord = regexp.MustCompile(`--[a-z][a-z-]*(?: \d\S*)?`)

// keepFlags writes a sentence in which no flag is broken at its hyphens.
func keepFlags(text string) template.HTML {
	var out strings.Builder
	at := 0
	for _, m := range flagWord.FindAllStringIndex(text, -1) {
		out.WriteString(template.HTMLEscapeString(text[at:m[0]]) + `<span class="flag">` + template.HTMLEscapeString(text[m[0]:m[1]]) + `</span>`)
		at = m[1]
	}
	out.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(out.String())
}

// startedAt says when a run began; nothing for a run in virtual time, whose clock begins before there was any real one.
func startedAt(t time.Time) string {
	if t.Year() <= 2000 {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// deflateFrom is the size in bytes from which the page's data is compressed: 10,000 operations or
// so. Readers can search the text of a smaller page. In a larger one, the votes are separate from
// the other data, and both are compressed.
const deflateFrom = 1 << 20

// deflated compresses data into a JSON string of base64, a third as long. page/data.js decodes it. The standard library's
// encoder takes 3.7 times as long, for 7 % less.
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
