package claims

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/reports/web"
)

//go:embed page
var pageFiles embed.FS

// resultsPage is a matrix: a row for each claim, a column for each level. Each cell has a
// mark for each finding, which links to the report of the run that shows it.
var resultsPage = web.New(web.Page{Files: pageFiles, Name: "claims", Styles: []string{"matrix"}, Scripts: []string{"back", "matrix", "claims"}, Funcs: template.FuncMap{
	"truth": truthMark, "how": func(f PropertyResult) string { return howFound(&f) }, "figure": func(f *Metric) string { return figureValue(*f) },
	"outcomes": func(r *Result, o string) int { return r.Count()[Outcome(o)] }, "letter": letter,
}})

// pageData is the data of the template.
type pageData struct {
	web.Frame

	Title   string
	Tone    string // colour of the header: holds, violated, unknown
	Says    string // one sentence
	Results []*Result
	Levels  []string
	Groups  []pageGroup
}

type pageGroup struct {
	Title string
	Rows  []pageRow
}

type pageRow struct {
	Claim
	Outcome  string // the worst on any driver
	Outcomes string // on all drivers, for the filter
	Search   string
	Cells    []pageCell
	Cases    []pageCase
}

// pageCell has the marks of one claim at one level.
type pageCell struct {
	Level string
	Marks []pageMark
}

// pageMark is one finding in the matrix.
type pageMark struct {
	Driver string
	Letter string
	Found  checker.Verdict
	Wrong  bool // unexpected or undecided
	Href   string
	Says   string
}

// pageCase is one case of a claim, on all drivers.
type pageCase struct {
	Name  string
	Shows string
	Lines []pageLine
}

// pageLine is one line of a case: a finding, the reason why the driver skipped it, or a figure.
type pageLine struct {
	Driver string
	Of     string // "twin: …", or ""
	PropertyResult
	Href    string
	Skipped string
	Figure  *Metric
}

// WritePage writes the page of a verification. The page loads nothing. Its links lead to the
// reports of the runs, relative to dir, the folder that the page is written into. others are the
// latest results on other drivers; the page shows their findings beside those of r.
func WritePage(w io.Writer, dir string, verified []Claim, r *Result, others map[string]*Result) error {
	p := &pageData{Levels: levelNames(), Results: []*Result{r}}
	for _, driver := range slices.Sorted(maps.Keys(others)) {
		p.Results = append(p.Results, others[driver])
	}
	p.headline(r)
	byGroup := map[string]int{}
	for _, c := range verified {
		row, found := p.row(c, dir)
		if !found {
			continue
		}
		i, known := byGroup[c.Group]
		if !known {
			i = len(p.Groups)
			byGroup[c.Group] = i
			p.Groups = append(p.Groups, pageGroup{Title: c.Group})
		}
		p.Groups[i].Rows = append(p.Groups[i].Rows, row)
	}
	return resultsPage.Write(w, p)
}

func (p *pageData) headline(r *Result) {
	n := r.Count()
	tested := len(r.Claims) - n[NotHere]
	p.Title, p.Tone = "As expected", "holds"
	p.Says = fmt.Sprintf("%s on %s, each with the verdict that is expected of it.", term.Plural(tested, "claim"), r.Driver)
	switch {
	case n[Unexpected] > 0:
		p.Title, p.Tone = "Not as expected", "violated"
		p.Says = fmt.Sprintf("%d of %s on %s do not have the verdict that is expected of them.", n[Unexpected], term.Plural(tested, "claim"), r.Driver)
	case n[Undecided] > 0 || r.Interrupted:
		p.Title, p.Tone = "Undecided", "unknown"
		p.Says = fmt.Sprintf("%d of %s on %s could not be decided.", n[Undecided], term.Plural(tested, "claim"), r.Driver)
	}
}

// row returns a claim's row, and false if the claim was not verified on any driver.
func (p *pageData) row(c Claim, dir string) (pageRow, bool) {
	row := pageRow{Claim: c}
	for _, level := range p.Levels {
		row.Cells = append(row.Cells, pageCell{Level: level})
	}
	for _, k := range c.Cases {
		row.Cases = append(row.Cases, pageCase{Name: k.Name, Shows: k.Shows})
	}
	worst := len(Outcomes)
	var outcomes []string
	for _, r := range p.Results {
		i := slices.IndexFunc(r.Claims, func(x ClaimResult) bool { return x.ID == c.ID })
		if i < 0 {
			continue
		}
		found := &r.Claims[i]
		worst = min(worst, slices.Index(Outcomes, found.Outcome))
		outcomes = append(outcomes, web.Slug(found.Outcome))
		row.add(r, found, dir)
	}
	if worst == len(Outcomes) {
		return row, false
	}
	row.Outcome, row.Outcomes = web.Slug(Outcomes[worst]), strings.Join(outcomes, " ")
	row.Search = strings.ToLower(strings.Join([]string{c.ID, c.Slug, c.Claim, strings.Join(c.Sources, " "), c.Explain, c.Group}, " "))
	return row, true
}

// add adds the findings of one driver.
func (row *pageRow) add(r *Result, found *ClaimResult, dir string) {
	for _, k := range found.Cases {
		i := slices.IndexFunc(row.Cases, func(x pageCase) bool { return x.Name == k.Name })
		if i < 0 {
			continue // the case is no longer in the catalogue
		}
		lines := &row.Cases[i].Lines
		if k.Skipped != "" {
			*lines = append(*lines, pageLine{Driver: r.Driver, Skipped: k.Skipped})
		}
		for _, f := range k.Findings {
			href := web.RunHref(dir, r.Folder, f.Run)
			*lines = append(*lines, pageLine{Driver: r.Driver, PropertyResult: f, Href: href})
			c := slices.IndexFunc(row.Cells, func(x pageCell) bool { return x.Level == f.Level })
			if c < 0 {
				continue
			}
			row.Cells[c].Marks = append(row.Cells[c].Marks, pageMark{
				Driver: r.Driver, Letter: letter(r.Driver), Found: f.Found, Wrong: f.Outcome != Expected, Href: href,
				Says: fmt.Sprintf("%s on %s: %s %s, expected %s (%s)", cmp.Or(k.Name, found.Claim), r.Driver, checker.TitleOf(f.Property), f.Found, f.Expected, howFound(&f)),
			})
		}
		if k.Twin != nil {
			for _, f := range k.Twin.Findings {
				*lines = append(*lines, pageLine{Driver: r.Driver, Of: "twin: " + k.Twin.Shows, PropertyResult: f, Href: web.RunHref(dir, r.Folder, f.Run)})
			}
		}
		for j := range k.Figures {
			*lines = append(*lines, pageLine{Driver: r.Driver, Figure: &k.Figures[j]})
		}
	}
}

// levelNames lists each level once, in the order of the properties.
func levelNames() []string {
	var names []string
	for _, p := range checker.Properties {
		if !slices.Contains(names, p.Level) {
			names = append(names, p.Level)
		}
	}
	return names
}

// letter abbreviates a driver in the matrix.
func letter(driver string) string { return strings.ToUpper(driver[:1]) }
