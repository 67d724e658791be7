package watch

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/cluster/lua"
)

// TestScriptsAreTried says what scripts do for a lock, from one call of each.
func TestScriptsAreTried(t *testing.T) {
	datadriven.RunTest(t, "testdata/scripts.txt", func(t *testing.T, d *datadriven.TestData) string {
		script, err := lua.Compile(d.Input)
		if err != nil {
			t.Fatal(err)
		}
		var argv []string
		if d.HasArg("argv") {
			for _, a := range d.CmdArgs {
				if a.Key == "argv" {
					argv = a.Vals
				}
			}
		}
		keys := []string{"k0", "k0:channel"}
		now := time.UnixMilli(1_800_000_000_000)
		s := tried(script, keys, argv, now)
		text := fmt.Sprintf("%s token %d compares %v ttl %v", [...]string{"nothing", "acquire", "extend", "release", "read"}[s.action], s.token, s.compares, s.ttl(argv, now))
		if s.lifeless {
			text += " lifeless"
		}
		if s.inverted {
			text += " inverted"
		}
		if s.fails {
			text += " fails"
		}
		return text + "\n"
	})
}
