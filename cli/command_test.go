package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/shlex"
	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"lockpick/campaign/scenario"
	"lockpick/internal/campaigntest"
)

// TestACommandRunsItsScenario: the flags of a scenario's command make the same scenario, but for its name.
func TestACommandRunsItsScenario(t *testing.T) {
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		want := campaigntest.AnyScenario(t)
		command := want.Command()
		if command == "" {
			return // a field has no flag
		}
		words, err := shlex.Split(command)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		var flags scenarioFlags
		cmd := &cobra.Command{}
		flags.register(cmd, func(*scenario.Field) bool { return true })
		if err := cmd.ParseFlags(words[2:]); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		got, err := flags.scenario(cmd, nil)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		got.Name = want.Name
		x, _ := got.YAML()
		y, _ := want.YAML()
		if d := cmp.Diff(string(y), string(x)); d != "" {
			t.Fatalf("%s:\n%s", command, d)
		}
		tried++
	})
	if tried == 0 {
		t.Error("no scenario had a command")
	}
}
