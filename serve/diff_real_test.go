//go:build real

package serve

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/browsertest"
	"lockpick/reports/diff"
)

// TestCourse: every lease of a run is in its course, with the time that its acquire took, and two courses
// are drawn on the same scales.
func TestCourse(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	s := scenario.Defaults()
	s.Driver, s.Faults, s.TimeLimit = scenario.Sim, []string{"kill"}, 5*time.Second
	var runs [2]diff.Run
	for i, persistence := range []string{"none", "always"} {
		s.Persistence = persistence
		s.TimeLimit *= time.Duration(i + 1)
		h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir, result, err := store.Add(h, "")
		if err != nil {
			t.Fatal(err)
		}
		if runs[i], err = diff.Open(store, dir); err != nil {
			t.Fatal(err)
		}
		c, granted := runs[i].Course, 0
		for _, n := range c.Grants {
			granted += n
		}
		if n := len(c.Calls["acquire, granted"]); n != result.Counts.Granted || granted != n || n == 0 {
			t.Errorf("of %d leases, %d acquires are in the course, and %d in its seconds", result.Counts.Granted, n, granted)
		}
		if n := len(c.Calls["extend"]); n > result.Counts.Extended {
			t.Errorf("of %d extensions, %d are in the course", result.Counts.Extended, n)
		}
		for kind, all := range c.Calls {
			if all[0] < 0 || all[len(all)-1] > c.End || !slices.IsSorted(all) {
				t.Errorf("%s took from %v to %v", kind, all[0], all[len(all)-1])
			}
		}
	}
	if runs[0].Course.First == nil || runs[1].Course.First != nil {
		t.Errorf("the first violations: %v and %v", runs[0].Course.First, runs[1].Course.First)
	}
	d := diff.Compare(runs[0], runs[1])
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return diffPage.Write(w, &pageData{Diff: d, Pages: [2]string{"", ""}}) }, 1200, 1400, false)
	b.Wait("two drawings", `document.querySelectorAll('figure.rate').length === 2 && document.querySelectorAll('.rate .violation').length === 1`)
	right := func(n int) string {
		return fmt.Sprintf(`Math.max(...[...document.querySelectorAll('figure.rate')[%d].querySelectorAll('.bar')].map((r) => r.x.baseVal.value + r.width.baseVal.value))`, n)
	}
	if short, long := browsertest.Ask[float64](b, right(0)), browsertest.Ask[float64](b, right(1)); short > 0.7*long || long > diff.LaneWidth+1 {
		t.Errorf("the shorter run ends at %.0f, the longer at %.0f of %.0f", short, long, diff.LaneWidth)
	}
	b.Picture("diff")
	b.Quiet()
}
