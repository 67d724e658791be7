//go:build real

package campaign

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/nemesis"
)

// skewedClients runs unmodified clients on one master, with one fault of all their clocks for the whole run.
func skewedClients(t *testing.T, clock string, client ...string) scenario.Scenario {
	t.Helper()
	s := foreignScenario(t, client...)
	s.Faults = nil
	s.Schedule = []nemesis.Step{{Fault: "client-clock", At: 500 * time.Millisecond, Clients: []string{nemesis.All}, Clock: clock, For: time.Hour}}
	s.TTL, s.Hold, s.LongHolds = time.Second, "1500ms..2s", 0
	s.Extend = 0
	return s
}

// debianRedisPy skips the test without redis-py, and without what skews its clocks.
func debianRedisPy(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("/usr/bin/python3", "-c", "import redis").CombinedOutput(); err != nil {
		t.Skipf("needs python3-redis: %v: %s", err, out)
	}
	c, err := testDrivers.ProgramClocks(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestSlowClientsOfAnUnmodifiedLibraryViolateExclusion: redis-py's users rely on a lock for its timeout by their own
// clocks, and the master forgets it by its own. The explanation names the fault.
func TestSlowClientsOfAnUnmodifiedLibraryViolateExclusion(t *testing.T) {
	t.Parallel()
	s := skewedClients(t, "x0.2", "redis-py")
	debianRedisPy(t)
	h, r := mustShow(t, s, "L2 violated")
	v := verdictAt(r, "L2")
	if len(v.Violations) == 0 {
		t.Fatal("no violation is told")
	}
	var said []string
	for _, e := range v.Violations[0].Events {
		said = append(said, e.Text)
	}
	if story := strings.Join(said, "\n"); !strings.Contains(story, "ran at 0.2 times the true rate") || !strings.Contains(story, "client-clock #1") {
		t.Errorf("the explanation does not name the fault:\n%s", story)
	}
	skewed := 0
	for _, op := range h.Ops {
		if op.F == history.FClock && op.Value.Rate == 0.2 {
			skewed++
		}
	}
	if skewed == 0 {
		t.Error("the history has no change of a clock")
	}
}

// TestAJumpOfTheWallClockDoesNotConcernAnUnmodifiedLibrary that measures with the monotonic clock.
func TestAJumpOfTheWallClockDoesNotConcernAnUnmodifiedLibrary(t *testing.T) {
	t.Parallel()
	s := skewedClients(t, "+1h", "redis-py")
	debianRedisPy(t)
	s.TimeLimit, s.Hold = 5*time.Second, "0s..50ms"
	h, _ := mustShow(t, s, "L2 holds")
	faults := history.Faults(h.Ops)
	if len(faults) != 1 || !faults[0].Installed || !faults[0].TookEffect {
		t.Errorf("faults %+v", faults)
	}
}

// TestClientsWhoseClocksCannotBeSkewed: the fault is skipped, and what rests on it is inconclusive, with the reason.
func TestClientsWhoseClocksCannotBeSkewed(t *testing.T) {
	t.Parallel()
	const script = `read l; echo '{"type":"ok","masters":1}'; while read -r l; do case $l in *'"exit"'*) exit;; *) echo '{"type":"fail","error":"no"}';; esac; done`
	s := skewedClients(t, "x0.2", "env", "-i", "sh", "-c", script)
	if _, err := testDrivers.ProgramClocks(t.Context()); err != nil {
		t.Skip(err)
	}
	s.TimeLimit = time.Second
	h, r := mustRun(t, s)
	const why = "the clients' clocks cannot be skewed: "
	faults := history.Faults(h.Ops)
	if len(faults) != 1 || faults[0].Installed || !strings.HasPrefix(faults[0].Skipped, why) || strings.Count(faults[0].Skipped, why) != 1 || !strings.Contains(faults[0].Skipped, "cleared its environment") {
		t.Errorf("faults %+v", faults)
	}
	if v := verdictAt(r, "L2"); v == nil || v.Verdict != checker.Invalid || !strings.Contains(v.Why, why) {
		t.Errorf("mutual exclusion: %+v", v)
	}
}
