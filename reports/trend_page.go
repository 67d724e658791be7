package reports

import (
	"io"
	"slices"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/claims"
)

// TrendRun is one run of a scenario, of the claims or of an audit, with its outcome for each
// property, claim or situation.
type TrendRun struct {
	Entry   StoreEntry
	Granted int // leases granted; 0 for claims and audits
	Found   []TrendFinding
}

// TrendFinding is the outcome of one run for one property, claim or situation.
type TrendFinding struct {
	Name    string
	Verdict checker.Verdict // a claim that is as expected holds
	Word    string
}

// TrendOfRun returns the verdicts of a run by property.
func TrendOfRun(e StoreEntry, r *judge.Result) TrendRun {
	t := TrendRun{Entry: e, Granted: r.Counts.Granted}
	for _, v := range r.Verdicts {
		t.Found = append(t.Found, TrendFinding{v.Level + " " + checker.TitleOf(v.Name), v.Verdict, verdictWord(v.Verdict)})
	}
	return t
}

// TrendOfClaims returns the outcomes of a verification by claim.
func TrendOfClaims(e StoreEntry, r *claims.Result) TrendRun {
	t := TrendRun{Entry: e}
	verdicts := map[claims.Outcome]checker.Verdict{claims.Expected: checker.Holds, claims.Unexpected: checker.Violated, claims.Undecided: checker.Unknown}
	for _, c := range r.Claims {
		t.Found = append(t.Found, TrendFinding{c.ID + " " + c.Slug, verdicts[c.Outcome], string(c.Outcome)})
	}
	return t
}

// TrendOfAudit returns the outcomes of an audit by situation and level.
func TrendOfAudit(e StoreEntry, r *audit.Result) TrendRun {
	t := TrendRun{Entry: e}
	verdicts := map[audit.Outcome]checker.Verdict{audit.Safe: checker.Holds, audit.Broken: checker.Violated, audit.Inconclusive: checker.Invalid}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Outcome != audit.NotApplicable {
				t.Found = append(t.Found, TrendFinding{row.ID + " " + c.Level, verdicts[c.Outcome], string(c.Outcome)})
			}
		}
	}
	return t
}

// Trend compares successive runs, the oldest first.
type Trend struct {
	Title string
	Runs  []TrendRun
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

// NewTrend compares the latest trendRuns of runs, which are sorted by age, the oldest first.
func NewTrend(title string, runs []TrendRun) *Trend {
	t := &Trend{Title: title, Left: max(0, len(runs)-trendRuns)}
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
			if i := slices.IndexFunc(r.Found, func(f TrendFinding) bool { return f.Name == name }); i >= 0 {
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
func (t *Trend) bars() {
	per := func(n int, d time.Duration) float64 {
		if rate := perMinute(n, d); rate != nil {
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
		b := trendBar{X: float64(i)*each + 1, Width: each - 2, Name: r.Entry.Name, PerMinute: rateText(&v), LeasesRated: rateText(&g)}
		if most > 0 {
			b.Violations = barHeight * v / most
		}
		b.Granted = barHeight * g / mostGranted
		b.ViolationsTop, b.GrantedTop = violationsAxis-b.Violations, grantedAxis-b.Granted
		t.Bars = append(t.Bars, b)
	}
}

var trendPage = servedPage(Page{Name: "trend", Forms: true})

// TrendPage writes the page that compares runs of one scenario, of the claims or of an audit.
func TrendPage(w io.Writer, t *Trend) error {
	return trendPage.Write(w, &storePage{Trend: t})
}
