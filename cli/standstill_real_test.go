//go:build real && linux

package cli

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign/scenario"
)

var (
	standstillFor   = flag.Duration("standstill.for", 2*time.Second, "TestTheMachineStandsStill: how long everything stands still")
	standstillTimes = flag.Int("standstill.times", 1, "TestTheMachineStandsStill: how often, of each run")
)

// TestTheMachineStandsStill stops the harness, all masters and all client processes at a random moment, as a
// machine does that is suspended. Whether the run is over by then or goes on for as long again, it ends, leaves
// nothing, and convicts no correct lock of anything.
func TestTheMachineStandsStill(t *testing.T) {
	if !slices.Contains(driversHere(t), scenario.Process) {
		t.Skip("no redis-server on this machine")
	}
	for _, v := range []victim{
		victim{name: "no fault", takes: 6 * time.Second}.run("process", "--faults", "none"),
		victim{name: "faults", takes: 6 * time.Second}.run("process", "--faults", "kill,pause,partition"),
		victim{name: "faults below Redis", takes: 6 * time.Second}.run("process", "--faults", "powercut,clock,slow-fsync", "--clock", "x1.001"),
		victim{name: "clients as processes", takes: 6 * time.Second}.run("process", "--faults", "none", "--clients-as", "processes"),
	} {
		for name, limit := range map[string]time.Duration{"over": 2 * time.Second, "goes on": *standstillFor * 9 / 4} { // more than half of it is invalid
			t.Run(v.name+", "+name, func(t *testing.T) {
				t.Parallel()
				to := newTorture(t)
				to.within = 2*limit + endsWithin
				v := v
				v.args = append(slices.Clone(v.args), "--time-limit", limit.String())
				for i := range *standstillTimes {
					var stopped int
					var wentOn time.Time
					after := time.Second + rand.N(v.takes-time.Second)
					code, said := to.round(i, v, "stopped", func(pid int) error {
						stopped = stand(pid)
						wentOn = time.Now()
						return nil
					}, after)
					if stopped == 0 {
						t.Logf("it had ended after %v", after)
						continue
					}
					t.Logf("%d processes stopped after %v, exit code %d %v later", stopped, after, code, time.Since(wentOn).Round(time.Millisecond))
					if code != exitHolds && code != exitUndecided {
						t.Errorf("exit code %d", code)
					}
					if strings.Contains(strings.Join(strings.Fields(said), " "), "and was ended") { // lines are wrapped
						t.Errorf("a client was ended, which could not answer:\n%s", said)
					}
				}
			})
		}
	}
}

// stand stops a process and all that it has started, and lets them go on after a while. It returns how many.
// A master that a fault has stopped stays stopped.
func stand(root int) int {
	var stopped []int
	var seen []int
	for more := []int{root}; len(more) > 0; more = startedBy(seen) { // a stopped process starts no others
		for _, pid := range more {
			if state, _ := stat(pid); state != "T" && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped = append(stopped, pid)
			}
		}
		seen = append(seen, more...)
	}
	<-time.After(*standstillFor) // what is tested
	for _, pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed
	}
	return len(stopped)
}

// startedBy returns the other processes whose parents are given.
func startedBy(parents []int) (children []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if _, parent := stat(pid); slices.Contains(parents, parent) && !slices.Contains(parents, pid) {
			children = append(children, pid)
		}
	}
	return children
}

// stat returns the state and the parent of a process, from a text such as 12 (name) S 34.
func stat(pid int) (state string, parent int) {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return "", 0 // it has ended
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
