//go:build real

package campaign

import (
	"os"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// TestClientProcesses: clients are processes that are stopped and killed by signals.
func TestClientProcesses(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		h, _ := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.ClientsAs, s.Fencing, s.Faults, s.TimeLimit = scenario.Processes, true, nil, 16*time.Second
			s.Schedule = []scenario.Step{
				{Fault: "client-pause", At: 1 * time.Second, For: 3500 * time.Millisecond, Point: workload.BeforeWrite},
				{Fault: "client-pause", At: 5 * time.Second, For: 3500 * time.Millisecond, Point: workload.BeforeWrite},
				{Fault: "client-pause", At: 9 * time.Second, For: 500 * time.Millisecond, Clients: []string{"c2"}}, // anywhere
				{Fault: "client-kill", At: 10 * time.Second, For: time.Second, Clients: []string{"c1"}},            // anywhere
				{Fault: "client-pause", At: 11 * time.Second, For: 3500 * time.Millisecond, Point: workload.BeforeWrite},
			}
		}), "L2 holds", "L4 violated", "L5 holds", "DF holds", "AV holds")
		crashed, after := false, false
		for _, op := range h.Ops {
			if op.Process == "c1" && op.F == history.FCrash {
				crashed = true
			}
			after = after || crashed && op.Process == "c1" && op.F == history.FAcquire && op.Type == history.OK
		}
		if !crashed || !after {
			t.Errorf("c1 crashed: %v; it acquired again: %v", crashed, after)
		}
	})
}

// TestAClientThatDies: clients whose processes end by themselves, and what they said of
// it, are noted; what they held is given up, so that nobody is blamed for it.
func TestAClientThatDies(t *testing.T) {
	t.Parallel()
	exceptOnDocker(t, "clients end in the same way on all drivers: shown with processes", func(t *testing.T, driver string) {
		s := shortScenario(driver, func(s *scenario.Scenario) {
			s.ClientsAs, s.Faults, s.TimeLimit, s.Clients = scenario.Processes, nil, 5*time.Second, 2
		})
		// It passes on what the client is told, and has it end instead of its second write, with the lock held.
		dying := []string{"sh", "-c", `n=0
while read -r l; do
	case $l in *'"op":"write"'*) n=$((n+1));; esac
	[ $n = 2 ] && break
	printf '%s\n' "$l"
done | LOCKPICK_TEST_CLIENT=1 "$0"; echo "out of memory" >&2`, os.Args[0]}
		_, h, r, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf, Client: dying})
		if err != nil {
			t.Fatal(err)
		}
		notes, held := strings.Join(r.Notes, "\n"), 0
		for _, op := range h.Ops {
			if op.F != history.FCrash {
				continue
			}
			if !strings.Contains(notes, "client "+op.Process+" ended") || !strings.Contains(notes, "out of memory") {
				t.Errorf("%s ended; the notes: %s", op.Process, notes)
			}
			if op.Value.Token != "" {
				held++
			}
		}
		if held == 0 {
			t.Errorf("no client ended with the lock held: %v", r.Notes)
		}
		if v := verdictAt(r, "L3"); v != nil && v.Verdict == "violated" {
			t.Errorf("L3: %s", v.Why)
		}
	})
}
