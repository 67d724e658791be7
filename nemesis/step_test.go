package nemesis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCheck prints what is wrong with steps, for three masters, two clients and two
// points, one step a line as in the scripts of schedules.
func TestCheck(t *testing.T) {
	datadriven.RunTest(t, "testdata/check.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out []string
		for text := range strings.Lines(d.Input) {
			says := "ok"
			if err := scriptStep(t, strings.Fields(text)).Check(3, []string{"c1", "c2"}, []string{"before-enter", "before-write"}); err != nil {
				says = err.Error()
			}
			out = append(out, says+"\n")
		}
		return strings.Join(out, "")
	})
}

// TestKinds: what the list of faults promises.
func TestKinds(t *testing.T) {
	if _, ok := KindNamed("no such fault"); ok {
		t.Error("found a fault that is not there")
	}
	for _, name := range KindNames() {
		k, ok := KindNamed(name)
		if !ok || k.Name != name || k.Summary == "" || strings.Contains(k.Summary, "\n") || k.new == nil {
			t.Errorf("%s: %+v", name, k)
		}
		if !slices.Contains([]string{"masters", "machines", "links", "clients"}, k.Hits) || k.restart && k.Hits != "masters" {
			t.Errorf("%s hits %q", name, k.Hits)
		}
	}
}
