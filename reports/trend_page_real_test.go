//go:build real

package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
)

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
