package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/claims"
)

// TestTrendOfClaimsAndAudits: what is not as expected is seen as violated, and what changed stands first.
func TestTrendOfClaimsAndAudits(t *testing.T) {
	outcomes := func(second claims.Outcome) *claims.Result {
		return &claims.Result{Claims: []claims.ClaimResult{{ID: "1", Slug: "first", Outcome: claims.Expected}, {ID: "2", Slug: "second", Outcome: second}, {ID: "3", Slug: "third", Outcome: claims.Reported}}}
	}
	var runs []TrendRun
	for i, o := range []claims.Outcome{claims.Expected, claims.Expected, claims.Unexpected, claims.Unexpected, claims.Undecided} {
		runs = append(runs, TrendOfClaims(StoreEntry{Name: fmt.Sprint("run ", i), Kind: "claims"}, outcomes(o)))
	}
	trend := NewTrend("claims", runs)
	var rows []string
	for _, r := range trend.Rows {
		row := r.Name + ":"
		for _, c := range r.Cells {
			row += fmt.Sprintf(" %s%s", c.Word, map[bool]string{true: "!"}[c.Changed])
		}
		rows = append(rows, row)
	}
	want := `2 second: as expected as expected not as expected! not as expected undecided!
1 first: as expected as expected as expected as expected as expected
3 third: reported reported reported reported reported`
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("the rows are\n%s\nwant\n%s", got, want)
	}
	if len(trend.Bars) != 0 {
		t.Error("claims have no rates")
	}
	a := TrendOfAudit(StoreEntry{}, &audit.Result{Rows: []audit.Row{{ID: "pauses", Cells: []audit.Cell{{Level: "L2", Outcome: audit.Broken}, {Level: "L4", Outcome: audit.NotApplicable}, {Level: "L1", Outcome: audit.Safe}}}}})
	if fmt.Sprint(a.Found) != "[{pauses L2 violated broken} {pauses L1 holds safe}]" {
		t.Errorf("the audit found %v", a.Found)
	}
}

// TestTrendPage: many runs: the newest are compared, and the page says that there are others.
func TestTrendPage(t *testing.T) {
	var runs []TrendRun
	for i := range trendRuns + 7 {
		e := StoreEntry{Name: fmt.Sprintf("run-%d", i), Kind: "run", Started: time.Unix(int64(i)*86400, 0), Duration: time.Minute, Version: fmt.Sprintf("v0.%d", i), Verdict: checker.Holds}
		r := &judge.Result{Counts: judge.Counts{Granted: 600 + 10*(i%5)}, Verdicts: []checker.Result{{Property: checker.MutualExclusion, Verdict: checker.Holds}}}
		if i > 20 {
			e.Violations, e.Verdict, r.Verdicts[0].Verdict = 3*i, checker.Violated, checker.Violated
		}
		runs = append(runs, TrendOfRun(e, r))
	}
	trend := NewTrend("redlock", runs)
	var page bytes.Buffer
	if err := TrendPage(&page, trend); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7 older ones are not shown", "run-46", "L2 mutual exclusion", "run-22: 66.0 violations and 620.0 leases granted per minute"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.String(), "run-6<") || len(regexp.MustCompile(`<rect class="violation"`).FindAllString(page.String(), -1)) != trendRuns {
		t.Error("the page shows other runs than the newest")
	}
	b := openPage(t, browser(t), func(w io.Writer) error { return TrendPage(w, trend) }, 1200, 900, false)
	b.wait("the page", `document.querySelectorAll('.trend td.changed').length === 1`)
	b.picture("trend")
	b.quiet()
	c := openPage(t, browser(t), func(w io.Writer) error {
		return ChangePage(w, StoreChange{Action: "delete", Entries: []StoreEntry{runs[0].Entry, runs[1].Entry}, Token: "x"})
	}, 1200, 500, true)
	c.wait("the question", `document.forms[0].method === 'post' && document.querySelectorAll('input[name=run]').length === 2`)
	c.picture("delete")
	c.quiet()
}
