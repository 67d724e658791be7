package reports

import (
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
)

// auditTemplate renders the report card: a row for each situation, a column for each level. The
// mark in a cell links to the run that shows the outcome.
var cardPage = NewPage(Page{Files: pageFiles, Name: "audit", Styles: []string{"claims", "audit"}, Scripts: []string{"back", "audit"}, Funcs: template.FuncMap{
	"notVaried": notVaried,
	"hintsMean": func() string { return judge.HintsMean },
	"span":      func(d time.Duration) string { return span(d.Round(time.Millisecond)) }, "says": cellSays,
	"mark": func(o audit.Outcome) string { return auditMark[o] }, "tried": auditTried,
}})

// auditPage is the data of the template.
type auditPage struct {
	Frame

	*audit.Result
	Word, Tone, Text string // the headline
	Line             string
	Name             string
	Levels           []string
	LevelKey         string
	Groups           []auditGroup
}

type auditGroup struct {
	Title string
	Rows  []auditRow
}

type auditRow struct {
	*audit.Row
	Worst  audit.Outcome
	Search string
	Shown  []auditCell
	Lines  []auditLineOf
}

// auditCell is a cell of the card with the address of its run's report.
type auditCell struct {
	*audit.Cell
	Href string
}

// auditLineOf is one finding of a row with all its details.
type auditLineOf struct {
	Level string
	audit.Finding
	When string
	Href string
}

// AuditPage writes the page of an audit. The page loads nothing. Its links lead to the reports of
// the runs, relative to dir, the folder that the page is written into.
func AuditPage(w io.Writer, dir string, r *audit.Result) error {
	p := &auditPage{
		Result: r, Word: auditWord(r), Tone: string(r.Verdict()),
		Text: auditSays(r), Line: auditLine(r), Name: auditName(r), Levels: auditLevels(r),
	}
	p.LevelKey = levelKey(p.Levels)
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(p.Groups) == 0 || p.Groups[len(p.Groups)-1].Title != row.Group {
			p.Groups = append(p.Groups, auditGroup{Title: row.Group})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Rows = append(g.Rows, p.row(row, dir))
	}
	return cardPage.Write(w, p)
}

func (p *auditPage) row(row *audit.Row, dir string) auditRow {
	x := auditRow{Row: row, Worst: worstOf(row), Search: strings.ToLower(strings.Join([]string{row.ID, row.Group, row.Name, row.Says, row.Breaks}, " "))}
	for i := range row.Cells {
		c := &row.Cells[i]
		if slices.Contains(p.Levels, c.Level) {
			cell := auditCell{Cell: c}
			if f := c.Worst(); f != nil {
				cell.Href = hrefOf(dir, p.Folder, f.Run)
			}
			x.Shown = append(x.Shown, cell)
		}
		for _, f := range c.Findings {
			line := auditLineOf{Level: c.Level, Finding: f, Href: hrefOf(dir, p.Folder, f.Run)}
			if f.Violated > 0 {
				line.When = foundWhen(p.Result, &f)
			}
			x.Lines = append(x.Lines, line)
		}
	}
	return x
}
