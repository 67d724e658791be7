package diff

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/reports/term"
)

// diffRuns returns two runs that differ in a field, a verdict, a number of violations and a
// count.
func diffRuns() (a, b Run) {
	side := func(name, persistence string, v checker.Verdict, count, granted int, d time.Duration) Run {
		s := scenario.Defaults()
		s.Persistence = persistence
		return Run{name, &s, &judge.Result{
			Duration: d, Counts: judge.Counts{Granted: granted, Refused: 7},
			Verdicts: []checker.Result{{Property: checker.MutualExclusion, Verdict: v, Count: count}},
		}, nil}
	}
	a, b = side("first", "none", checker.Violated, 12, 300, 30*time.Second), side("second", "always", checker.Holds, 0, 450, time.Minute)
	a.Scenario.Schedule = []scenario.Step{{Fault: "kill", At: time.Second, Masters: []string{"m1", "m2"}}}
	b.Scenario.Schedule = []scenario.Step{{Fault: "kill", At: 2 * time.Second, Masters: []string{"m1"}}, {Fault: "pause", After: "c1 acquires k0", For: time.Second, Repeat: true}}
	took := func(n int, each time.Duration) (all []time.Duration) {
		for i := range n {
			all = append(all, time.Duration(i+1)*each)
		}
		return all
	}
	first := 1500 * time.Millisecond
	a.Course = &Course{Calls: map[string][]time.Duration{callKinds[0]: took(300, time.Millisecond), callKinds[1]: took(7, time.Second)}, Grants: []int{150, 0, 150}, First: &first, End: 30 * time.Second}
	b.Course = &Course{Calls: map[string][]time.Duration{callKinds[0]: took(450, time.Microsecond), callKinds[2]: took(1, time.Millisecond)}, Grants: []int{450}, End: time.Minute}
	return a, b
}

func TestDiff(t *testing.T) {
	datadriven.RunTest(t, "testdata/diff.txt", func(t *testing.T, d *datadriven.TestData) string {
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
			err = Terminal(&out, Compare(a, b), width)
		case "json":
			err = term.WriteJSON(&out, Compare(a, b))
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
