package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/claims"
)

// claimsTemplate renders a matrix: a row for each claim, a column for each level. Each cell has a
// mark for each finding, which links to the report of the run that shows it.
var resultsPage = NewPage(Page{Files: pageFiles, Name: "claims", Styles: []string{"claims"}, Scripts: []string{"back", "claims"}, Funcs: template.FuncMap{
	"truth": truthMark, "how": func(f claims.Finding) string { return howFound(&f) }, "figure": func(f *claims.Metric) string { return figureValue(*f) },
	"outcomes": func(r *claims.Result, o string) int { return r.Count()[claims.Outcome(o)] }, "letter": letter,
}})

// claimsPage is the data of the template.
type claimsPage struct {
	Frame

	Title   string
	Tone    string // colour of the header: holds, violated, unknown
	Says    string // one sentence
	Results []*claims.Result
	Levels  []string
	Groups  []claimGroup
}

type claimGroup struct {
	Title string
	Rows  []claimRow
}

type claimRow struct {
	claims.Claim
	Outcome  string // the worst on any driver
	Outcomes string // on all drivers, for the filter
	Search   string
	Cells    []claimCell
	Cases    []claimCase
}

// claimCell has the marks of one claim at one level.
type claimCell struct {
	Level string
	Marks []claimMark
}

// claimMark is one finding in the matrix.
type claimMark struct {
	Driver string
	Letter string
	Found  checker.Verdict
	Wrong  bool // unexpected or undecided
	Href   string
	Says   string
}

// claimCase is one case of a claim, on all drivers.
type claimCase struct {
	Name  string
	Shows string
	Lines []claimLine
}

// claimLine is one line of a case: a finding, the reason why the driver skipped it, or a figure.
type claimLine struct {
	Driver string
	Of     string // "twin: …", or ""
	claims.Finding
	Href    string
	Skipped string
	Figure  *claims.Metric
}

// ClaimsPage writes the page of a verification. The page loads nothing. Its links lead to the
// reports of the runs, relative to dir, the folder that the page is written into. others are the
// latest results on other drivers; the page shows their findings beside those of r.
func ClaimsPage(w io.Writer, dir string, verified []claims.Claim, r *claims.Result, others map[string]*claims.Result) error {
	p := &claimsPage{Levels: levelNames(), Results: []*claims.Result{r}}
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
			p.Groups = append(p.Groups, claimGroup{Title: c.Group})
		}
		p.Groups[i].Rows = append(p.Groups[i].Rows, row)
	}
	return resultsPage.Write(w, p)
}

func (p *claimsPage) headline(r *claims.Result) {
	n := r.Count()
	tested := len(r.Claims) - n[claims.NotHere]
	p.Title, p.Tone = "As expected", "holds"
	p.Says = fmt.Sprintf("%s on %s, each with the verdict that is expected of it.", plural(tested, "claim"), r.Driver)
	switch {
	case n[claims.Unexpected] > 0:
		p.Title, p.Tone = "Not as expected", "violated"
		p.Says = fmt.Sprintf("%d of %s on %s do not have the verdict that is expected of them.", n[claims.Unexpected], plural(tested, "claim"), r.Driver)
	case n[claims.Undecided] > 0 || r.Interrupted:
		p.Title, p.Tone = "Undecided", "unknown"
		p.Says = fmt.Sprintf("%d of %s on %s could not be decided.", n[claims.Undecided], plural(tested, "claim"), r.Driver)
	}
}

// row returns a claim's row, and false if the claim was not verified on any driver.
func (p *claimsPage) row(c claims.Claim, dir string) (claimRow, bool) {
	row := claimRow{Claim: c}
	for _, level := range p.Levels {
		row.Cells = append(row.Cells, claimCell{Level: level})
	}
	for _, k := range c.Cases {
		row.Cases = append(row.Cases, claimCase{Name: k.Name, Shows: k.Shows})
	}
	worst := len(claims.Outcomes)
	var outcomes []string
	for _, r := range p.Results {
		i := slices.IndexFunc(r.Claims, func(x claims.ClaimResult) bool { return x.ID == c.ID })
		if i < 0 {
			continue
		}
		found := &r.Claims[i]
		worst = min(worst, slices.Index(claims.Outcomes, found.Outcome))
		outcomes = append(outcomes, slug(found.Outcome))
		row.add(r, found, dir)
	}
	if worst == len(claims.Outcomes) {
		return row, false
	}
	row.Outcome, row.Outcomes = slug(claims.Outcomes[worst]), strings.Join(outcomes, " ")
	row.Search = strings.ToLower(strings.Join([]string{c.ID, c.Slug, c.Claim, strings.Join(c.Sources, " "), c.Explain, c.Group}, " "))
	return row, true
}

// add adds the findings of one driver.
func (row *claimRow) add(r *claims.Result, found *claims.ClaimResult, dir string) {
	for _, k := range found.Cases {
		i := slices.IndexFunc(row.Cases, func(x claimCase) bool { return x.Name == k.Name })
		if i < 0 {
			continue // the case is no longer in the catalogue
		}
		lines := &row.Cases[i].Lines
		if k.Skipped != "" {
			*lines = append(*lines, claimLine{Driver: r.Driver, Skipped: k.Skipped})
		}
		for _, f := range k.Findings {
			href := hrefOf(dir, r.Folder, f.Run)
			*lines = append(*lines, claimLine{Driver: r.Driver, Finding: f, Href: href})
			c := slices.IndexFunc(row.Cells, func(x claimCell) bool { return x.Level == f.Level })
			if c < 0 {
				continue
			}
			row.Cells[c].Marks = append(row.Cells[c].Marks, claimMark{
				Driver: r.Driver, Letter: letter(r.Driver), Found: f.Found, Wrong: f.Outcome != claims.Expected, Href: href,
				Says: fmt.Sprintf("%s on %s: %s %s, expected %s (%s)", cmp.Or(k.Name, found.Claim), r.Driver, checker.TitleOf(f.Property), f.Found, f.Expected, howFound(&f)),
			})
		}
		if k.Twin != nil {
			for _, f := range k.Twin.Findings {
				*lines = append(*lines, claimLine{Driver: r.Driver, Of: "twin: " + k.Twin.Shows, Finding: f, Href: hrefOf(dir, r.Folder, f.Run)})
			}
		}
		for j := range k.Figures {
			*lines = append(*lines, claimLine{Driver: r.Driver, Figure: &k.Figures[j]})
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
