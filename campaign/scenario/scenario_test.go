package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/internal/campaigntest"
	"lockpick/workload"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestScenarioFiles reads scenarios as users write them. "parse" prints what
// differs from the defaults, or the error.
func TestScenarioFiles(t *testing.T) {
	datadriven.RunTest(t, "testdata/scenario.txt", func(t *testing.T, d *datadriven.TestData) string {
		s, err := scenario.Parse([]byte(d.Input))
		if err != nil {
			text := fmt.Sprintf("error: %v\n", err)
			for _, k := range workload.Registered() { // by other tests of this program
				text = strings.ReplaceAll(text, k.Name+", ", "")
			}
			return text
		}
		return difference(t, s)
	})
}

// difference lists the lines of a scenario's YAML that the defaults do not have.
func difference(t *testing.T, s scenario.Scenario) string {
	d := scenario.Defaults()
	before, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, line := range strings.Split(string(before), "\n") {
		have[line] = true
	}
	var out strings.Builder
	for _, line := range strings.Split(string(after), "\n") {
		if !have[line] {
			fmt.Fprintln(&out, line)
		}
	}
	if out.Len() == 0 {
		return "the defaults\n"
	}
	return out.String()
}

// TestScenarioPrintsAsItReads is parse ∘ print = id.
func TestScenarioPrintsAsItReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := campaigntest.AnyScenario(t)
		b, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		got, err := scenario.Parse(b)
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Fatalf("not the same (-want +got):\n%s\nin\n%s", d, b)
		}
	})
}
