package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAskedForAndNotTested: a property that was named and not tested is not passed over.
func TestAskedForAndNotTested(t *testing.T) {
	dir := t.TempDir()
	args := []string{"run", "--driver", "sim", "--persistence", "always", "--faults", "kill", "--time-limit", "30s", "--json", "--property"}
	for _, c := range []struct {
		property string
		code     int
		verdict  string
		says     string
	}{
		{"L2", exitHolds, "holds", ""},
		{"L2,L5", exitUndecided, "not tested", "L5 was asked for and not tested: the leases of this lock carry no fencing tokens"},
		{"L2,no-lost-update", exitUndecided, "not tested", "no-lost-update was asked for and not tested: the guarded resource does not compare and set"},
	} {
		for _, again := range []bool{false, true} {
			with := append(args, c.property)
			if again { // the run's own properties count when it is checked, too
				with = []string{"check", "latest", "--json"}
			}
			stdout, stderr, code := lockpick(t, dir, with...)
			var got struct{ Verdict, Why string }
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if code != c.code || got.Verdict != c.verdict || !strings.Contains(got.Why, c.says) || !strings.Contains(stderr, c.says) {
				t.Errorf("%v: exit %d, %+v, want exit %d, %s, %q\n%s", with, code, got, c.code, c.verdict, c.says, stderr)
			}
		}
	}
}
