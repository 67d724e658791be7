package nemesis

import (
	"strings"
	"testing"

	"lockpick/history/fault"

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

// TestEveryKindIsCarriedOut: the registry has the kinds that the nemesis has, and no others.
func TestEveryKindIsCarriedOut(t *testing.T) {
	for _, name := range fault.Names() {
		if implementations[name].new == nil {
			t.Errorf("nothing carries out %s", name)
		}
	}
	for name := range implementations {
		if k, known := fault.Named(name); !known || k.Name != name {
			t.Errorf("%s is carried out, and not in the registry", name)
		}
	}
}
