package checker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"lockpick/history"
)

// TestHandMadeHistories judges the histories in testdata/histories. Each was made by hand to
// mislead a checker into a wrong verdict. "judge FILE" prints the verdict of every property
// named in the input, one a line.
func TestHandMadeHistories(t *testing.T) {
	datadriven.RunTest(t, "testdata/handmade.txt", func(t *testing.T, d *datadriven.TestData) string {
		h, err := history.ReadFile(filepath.Join("testdata/histories", d.CmdArgs[0].Key+".jsonl"))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		rep := Check(h)
		var b strings.Builder
		for _, name := range strings.Fields(d.Input) {
			found := false
			for _, r := range rep.Results {
				if r.Name == name {
					found = true
					fmt.Fprintf(&b, "%s: %s\n  %s\n", name, r.Verdict, r.Why)
				}
			}
			if !found {
				fmt.Fprintf(&b, "%s: not tested\n", name)
			}
		}
		return b.String()
	})
}
