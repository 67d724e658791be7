//go:build real

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"lockpick/claims"
)

// TestMutants: the detection table of planted bugs.
func TestMutants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, stderr, code := lockpick(t, dir, "claims", "--mutants", "--only", "b1,b15", "--json")
	var r claims.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Claims) != 2 || r.Claims[0].Cases[0].Twin == nil {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, out, stderr)
	}
	out, _, code = lockpick(t, dir, "claims", "--mutants", "--only", "b1")
	if code != 0 || !strings.Contains(out, "1 of 1 planted bug caught, and the same lock without the bug acquitted") || !strings.Contains(out, "acquitted, 20 schedules") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestClaimsOfAnotherLock: a lock in the place of redlock is told which claim it fails, and why.
func TestClaimsOfAnotherLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, stderr, code := lockpick(t, dir, "claims", "--lock", "redlock-minority-error", "--only", "16,63", "--most", "4", "--evidence", "none")
	if code != exitViolated || !strings.Contains(out, "Claim 16 is not as expected") || strings.Contains(out, "Claim 63 is not") || !strings.Contains(out, "connection refused") {
		t.Errorf("exit %d\n%s\n%s", code, out, stderr)
	}
	out, stderr, code = lockpick(t, dir, "claims", "--lock", "textbook", "--only", "16,63", "--most", "4", "--evidence", "none")
	if code != exitHolds || !strings.Contains(out, "2 as expected") {
		t.Errorf("exit %d\n%s\n%s", code, out, stderr)
	}
	if _, stderr, code := lockpick(t, dir, "claims", "--lock", "nolock"); code != exitUsage || !strings.Contains(stderr, `there is no lock "nolock"`) {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestClaimsInVirtualTime: the claims are found as expected with the connections that locks really have,
// over masters in memory. What runs nowhere but in the simulator says so.
func TestClaimsInVirtualTime(t *testing.T) {
	t.Parallel()
	out, stderr, code := lockpick(t, t.TempDir(), "claims", "--driver", "virtual", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var r claims.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	n, stores := r.Count(), 0 // claims about other stores need their servers
	for _, c := range claims.Catalogue() {
		if c.Cases[0].Scenario.Service != nil {
			stores++
		}
	}
	if n[claims.Expected] < 50 || n[claims.NotHere] > 8+stores || n[claims.Unexpected]+n[claims.Undecided] > 0 {
		t.Errorf("%v", n)
	}
}
