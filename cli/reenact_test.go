package cli

import (
	"strings"
	"testing"

	"lockpick/internal/sampletest"
	"lockpick/watch"
)

// TestRulesAreReenacted: the command of each rule of lockpick watch shows the harm on a lock of
// that shape: a run is violated, and a claim is as expected.
func TestRulesAreReenacted(t *testing.T) {
	sample := sampletest.Of(t, 4, 2)
	tried := map[string]bool{}
	for _, r := range watch.Rules {
		if tried[r.Reenact] {
			continue
		}
		tried[r.Reenact] = true
		if !sample(len(tried)) {
			continue
		}
		args := strings.Fields(r.Reenact)
		want := exitViolated
		if args[1] == "claims" {
			want = exitHolds
		}
		stdout, stderr, code := lockpick(t, t.TempDir(), args[1:]...)
		if code != want {
			t.Errorf("%s: %s: exit %d, want %d\n%.600s\n%s", r.ID, r.Reenact, code, want, stdout, stderr)
		}
		if args[1] == "claims" && !strings.Contains(stdout, "violated") {
			t.Errorf("%s: %s shows no violation\n%.600s", r.ID, r.Reenact, stdout)
		}
	}
	if len(tried) < 10 {
		t.Errorf("only %d commands", len(tried))
	}
}
