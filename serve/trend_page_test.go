package serve

import (
	"fmt"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/claims"
)

// TestTrendOfClaimsAndAudits: what is not as expected is seen as violated, and what changed stands first.
func TestTrendOfClaimsAndAudits(t *testing.T) {
	outcomes := func(second claims.Outcome) *claims.Result {
		return &claims.Result{Claims: []claims.ClaimResult{{ID: "1", Slug: "first", Outcome: claims.Expected}, {ID: "2", Slug: "second", Outcome: second}, {ID: "3", Slug: "third", Outcome: claims.Reported}}}
	}
	var runs []trendRun
	for i, o := range []claims.Outcome{claims.Expected, claims.Expected, claims.Unexpected, claims.Unexpected, claims.Undecided} {
		runs = append(runs, trendOfClaims(Entry{Name: fmt.Sprint("run ", i), Kind: "claims"}, outcomes(o)))
	}
	trend := newTrend("claims", runs)
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
	a := trendOfAudit(Entry{}, &audit.Result{Rows: []audit.Row{{ID: "pauses", Cells: []audit.Cell{{Level: "L2", Outcome: audit.Broken}, {Level: "L4", Outcome: audit.NotApplicable}, {Level: "L1", Outcome: audit.Safe}}}}})
	if fmt.Sprint(a.Found) != "[{pauses L2 violated broken} {pauses L1 holds safe}]" {
		t.Errorf("the audit found %v", a.Found)
	}
}
