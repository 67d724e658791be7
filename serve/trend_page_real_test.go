//go:build real

package serve

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
	"lockpick/internal/browsertest"
)

// TestTrendPage: many runs: the newest are compared, and the page says that there are others.
func TestTrendPage(t *testing.T) {
	var runs []trendRun
	for i := range trendRuns + 7 {
		e := Entry{Name: fmt.Sprintf("run-%d", i), Kind: "run", Started: time.Unix(int64(i)*86400, 0), Duration: time.Minute, Version: fmt.Sprintf("v0.%d", i), Verdict: checker.Holds}
		r := &judge.Result{Counts: judge.Counts{Granted: 600 + 10*(i%5)}, Verdicts: []checker.Result{{Property: checker.MutualExclusion, Verdict: checker.Holds}}}
		if i > 20 {
			e.Violations, e.Verdict, r.Verdicts[0].Verdict = 3*i, checker.Violated, checker.Violated
		}
		runs = append(runs, trendOfRun(e, r))
	}
	trend := newTrend("redlock", runs)
	var page bytes.Buffer
	if err := trendPage.Write(&page, &pageData{Trend: trend}); err != nil {
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
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return trendPage.Write(w, &pageData{Trend: trend}) }, 1200, 900, false)
	b.Wait("the page", `document.querySelectorAll('.trend td.changed').length === 1`)
	b.Picture("trend")
	b.Quiet()
	c := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error {
		return changePage.Write(w, &pageData{Asked: &change{Action: "delete", Entries: []Entry{runs[0].Entry, runs[1].Entry}, Token: "x"}})
	}, 1200, 500, true)
	c.Wait("the question", `document.forms[0].method === 'post' && document.querySelectorAll('input[name=run]').length === 2`)
	c.Picture("delete")
	c.Quiet()
}
