package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign"
	"lockpick/checker"
)

// diffRuns returns two runs that differ in a field, a verdict, a number of violations and a
// count.
func diffRuns() (a, b DiffRun) {
	side := func(name, persistence string, v checker.Verdict, count, granted int, d time.Duration) DiffRun {
		s := campaign.Defaults()
		s.Persistence = persistence
		return DiffRun{name, &s, &campaign.Result{
			Duration: d, Counts: campaign.Counts{Granted: granted, Refused: 7},
			Verdicts: []checker.Result{{Property: checker.MutualExclusion, Verdict: v, Count: count}},
		}}
	}
	return side("first", "none", checker.Violated, 12, 300, 30*time.Second), side("second", "always", checker.Holds, 0, 450, time.Minute)
}

func TestDiff(t *testing.T) {
	datadriven.RunTest(t, "testdata/diff/diff.txt", func(t *testing.T, d *datadriven.TestData) string {
		width := 80
		d.MaybeScanArgs(t, "width", &width)
		a, b := diffRuns()
		switch {
		case d.HasArg("same"):
			b = a
		case d.HasArg("no-scenario"):
			b.Scenario = nil
		case d.HasArg("hostile"):
			b.Name, b.Scenario.Lock = "\x1b[31mred", "lock\x1b]0;title\a\nnext"
		}
		var out strings.Builder
		var err error
		switch d.Cmd {
		case "terminal":
			err = DiffTerminal(&out, Compare(a, b), width)
		case "json":
			err = DiffJSON(&out, Compare(a, b))
		default:
			return fmt.Sprintf("unknown command %q", d.Cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if l = strings.TrimSuffix(l, "\n"); d.Cmd == "terminal" && utf8.RuneCountInString(l) > width {
				t.Errorf("wider than %d columns: %q", width, l)
			}
		}
		if strings.ContainsAny(out.String(), "\x1b\a") {
			t.Errorf("control characters reach the terminal: %q", out.String())
		}
		return out.String()
	})
}
