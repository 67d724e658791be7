package card

import (
	"embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/reports/term"
	"lockpick/reports/web"
)

//go:embed page
var pageFiles embed.FS

// cardPage is the report card: a row for each situation, a column for each level. The
// mark in a cell links to the run that shows the outcome.
var cardPage = web.New(web.Page{Files: pageFiles, Name: "audit", Styles: []string{"matrix", "audit"}, Scripts: []string{"back", "matrix", "audit"}, Funcs: template.FuncMap{
	"notVaried": notVaried,
	"hintsMean": func() string { return judge.HintsMean },
	"span":      func(d time.Duration) string { return term.Span(d.Round(time.Millisecond)) }, "says": describe,
	"mark": func(o audit.Outcome) string { return outcomeMark[o] }, "tried": triedText,
}})

// pageData is the data of the template.
type pageData struct {
	web.Frame

	*audit.Result
	Word, Tone, Text string // the headline
	Line             string
	Name             string
	Levels           []string
	LevelKey         string
	Groups           []pageGroup
}

type pageGroup struct {
	Title string
	Rows  []pageRow
}

type pageRow struct {
	*audit.Row
	Worst  audit.Outcome
	Search string
	Shown  []pageCell
	Lines  []pageFinding
}

// pageCell is a cell of the card with the address of its run's report.
type pageCell struct {
	*audit.Cell
	Href string
}

// pageFinding is one finding of a row with all its details.
type pageFinding struct {
	Level string
	audit.PropertyResult
	When string
	Href string
}

// WritePage writes the page of an audit. The page loads nothing. Its links lead to the reports of
// the runs, relative to dir, the folder that the page is written into.
func WritePage(w io.Writer, dir string, r *audit.Result) error {
	p := &pageData{
		Result: r, Word: verdictWord(r), Tone: string(r.Verdict()),
		Text: summary(r), Line: totals(r), Name: fullName(r), Levels: shownLevels(r),
	}
	p.LevelKey = levelKey(p.Levels)
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(p.Groups) == 0 || p.Groups[len(p.Groups)-1].Title != row.Group {
			p.Groups = append(p.Groups, pageGroup{Title: row.Group})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Rows = append(g.Rows, p.row(row, dir))
	}
	return cardPage.Write(w, p)
}

func (p *pageData) row(row *audit.Row, dir string) pageRow {
	x := pageRow{Row: row, Worst: worstOf(row), Search: strings.ToLower(strings.Join([]string{row.ID, row.Group, row.Name, row.Says, row.Breaks}, " "))}
	for i := range row.Cells {
		c := &row.Cells[i]
		if slices.Contains(p.Levels, c.Level) {
			cell := pageCell{Cell: c}
			if f := c.Worst(); f != nil {
				cell.Href = web.RunHref(dir, p.Folder, f.Run)
			}
			x.Shown = append(x.Shown, cell)
		}
		for _, f := range c.Findings {
			line := pageFinding{Level: c.Level, PropertyResult: f, Href: web.RunHref(dir, p.Folder, f.Run)}
			if f.Violated > 0 {
				line.When = foundWhen(p.Result, &f)
			}
			x.Lines = append(x.Lines, line)
		}
	}
	return x
}
