package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
)

// TestChangesOfSharedKeys: what masters do to the keys of a lock that several hold at once is recorded, with the client that
// made them do it, on every driver: the lock's votes do not tell.
func TestChangesOfSharedKeys(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"rw", "semaphore", "reentrant"} {
		t.Run(lock, func(t *testing.T) {
			onEachDriver(t, func(t *testing.T, driver string) {
				h, _ := mustRun(t, shortScenario(driver, func(s *scenario.Scenario) {
					s.Lock, s.Faults, s.TimeLimit = lock, nil, 4*time.Second
				}))
				grants, changes := map[string]int{}, map[string]int{}
				for _, op := range h.Ops {
					switch {
					case op.F == history.FUnseen:
						t.Errorf("the votes of a lock that tells them do not count: %s", op.Error)
					case op.F == history.FAcquire && op.Type == history.OK:
						grants[op.Process]++
					case op.F == history.FChange && op.Value.Client != "":
						changes[op.Value.Client]++
					case op.F == history.FChange && op.Value.Command != "expired":
						t.Errorf("nobody is said to have made this change: %s %s, %s %s", op.Process, op.Value.Command, op.Value.Evidence, op.Error)
					}
				}
				t.Logf("grants %v, changes %v", grants, changes)
				if len(grants) == 0 {
					t.Error("no client was granted the lock")
				}
				for client, n := range grants {
					if changes[client] < n {
						t.Errorf("%s was granted the lock %d times, and changed a key %d times", client, n, changes[client])
					}
				}
			})
		})
	}
}
