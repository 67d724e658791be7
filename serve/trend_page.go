package serve

import (
	"slices"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/claims"
	"lockpick/reports/diff"
	"lockpick/reports/web"
)

// trendRun is one run of a scenario, of the claims or of an audit, with its outcome for each
// property, claim or situation.
type trendRun struct {
	Entry   Entry
	Granted int // leases granted; 0 for claims and audits
	Found   []trendFinding
}

// trendFinding is the outcome of one run for one property, claim or situation.
type trendFinding struct {
	Name    string
	Verdict checker.Verdict // a claim that is as expected holds
	Word    string
}

// trendOfRun returns the verdicts of a run by property.
func trendOfRun(e Entry, r *judge.Result) trendRun {
	t := trendRun{Entry: e, Granted: r.Counts.Granted}
	for _, v := range r.Verdicts {
		t.Found = append(t.Found, trendFinding{v.Level + " " + checker.TitleOf(v.Name), v.Verdict, v.Verdict.Word()})
	}
	return t
}

// trendOfClaims returns the outcomes of a verification by claim.
func trendOfClaims(e Entry, r *claims.Result) trendRun {
	t := trendRun{Entry: e}
	verdicts := map[claims.Outcome]checker.Verdict{claims.Expected: checker.Holds, claims.Unexpected: checker.Violated, claims.Undecided: checker.Unknown}
	for _, c := range r.Claims {
		t.Found = append(t.Found, trendFinding{c.ID + " " + c.Slug, verdicts[c.Outcome], string(c.Outcome)})
	}
	return t
}

// trendOfAudit returns the outcomes of an audit by situation and level.
func trendOfAudit(e Entry, r *audit.Result) trendRun {
	t := trendRun{Entry: e}
	verdicts := map[audit.Outcome]checker.Verdict{audit.Safe: checker.Holds, audit.Broken: checker.Violated, audit.Inconclusive: checker.Invalid}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Outcome != audit.NotApplicable {
				t.Found = append(t.Found, trendFinding{row.ID + " " + c.Level, verdicts[c.Outcome], string(c.Outcome)})
			}
		}
	}
	return t
}

// trend compares successive runs, the oldest first.
type trend struct {
	Title string
	Runs  []trendRun
	Rows  []trendRow // those with changes first
	Bars  []trendBar
	Left  int // number of older runs that are left out
}

type trendRow struct {
	Name    string
	Changes int
	Cells   []trendCell
}

type trendCell struct {
	Verdict checker.Verdict
	Word    string
	Changed bool // since the last run that has this finding
}

// trendBar draws the rates of one run as two bars.
type trendBar struct {
	X, Width                     float64
	ViolationsTop, Violations    float64 // top and height
	GrantedTop, Granted          float64
	Name, PerMinute, LeasesRated string
}

// The size of the drawing, and the positions of its two axes.
const (
	trendWidth, barHeight       = 960.0, 100.0
	violationsAxis, grantedAxis = 116.0, 234.0
)

// trendRuns limits the runs that a page compares.
const trendRuns = 40

// newTrend compares the latest trendRuns of runs, which are sorted by age, the oldest first.
func newTrend(title string, runs []trendRun) *trend {
	t := &trend{Title: title, Left: max(0, len(runs)-trendRuns)}
	t.Runs = runs[t.Left:]
	var names []string
	for _, r := range t.Runs {
		for _, f := range r.Found {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range names {
		row, before := trendRow{Name: name}, ""
		for _, r := range t.Runs {
			cell := trendCell{}
			if i := slices.IndexFunc(r.Found, func(f trendFinding) bool { return f.Name == name }); i >= 0 {
				cell = trendCell{r.Found[i].Verdict, r.Found[i].Word, before != "" && before != r.Found[i].Word}
				before = cell.Word
			}
			if cell.Changed {
				row.Changes++
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	slices.SortStableFunc(t.Rows, func(a, b trendRow) int { return min(b.Changes, 1) - min(a.Changes, 1) })
	t.bars()
	return t
}

// bars draws the rates of the runs, each kind relative to its highest.
func (t *trend) bars() {
	per := func(n int, d time.Duration) float64 {
		if rate := diff.PerMinute(n, d); rate != nil {
			return *rate
		}
		return 0
	}
	var most, mostGranted float64
	for _, r := range t.Runs {
		most, mostGranted = max(most, per(r.Entry.Violations, r.Entry.Duration)), max(mostGranted, per(r.Granted, r.Entry.Duration))
	}
	if mostGranted == 0 {
		return // only runs grant leases; claims and audits have no rates
	}
	each := trendWidth / float64(len(t.Runs))
	for i, r := range t.Runs {
		v, g := per(r.Entry.Violations, r.Entry.Duration), per(r.Granted, r.Entry.Duration)
		b := trendBar{X: float64(i)*each + 1, Width: each - 2, Name: r.Entry.Name, PerMinute: diff.RateText(&v), LeasesRated: diff.RateText(&g)}
		if most > 0 {
			b.Violations = barHeight * v / most
		}
		b.Granted = barHeight * g / mostGranted
		b.ViolationsTop, b.GrantedTop = violationsAxis-b.Violations, grantedAxis-b.Granted
		t.Bars = append(t.Bars, b)
	}
}

// trendPage compares runs of one scenario, of the claims or of an audit.
var trendPage = servedPage(web.Page{Name: "trend", Forms: true})
