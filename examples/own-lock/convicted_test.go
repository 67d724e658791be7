package ownlock

import (
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockpick/locktest"
)

// planted are the bugs, by name. Redis does not forget here, so that only the bug is to blame.
var planted = map[string]bugs{
	"minority":       {minority: true},
	"reachable":      {reachable: true},
	"no-validity":    {noValidity: true},
	"no-rollback":    {noRollback: true},
	"plain-delete":   {plainDelete: true},
	"errors-are-yes": {errorsAreYes: true},
	"same-token":     {sameToken: true},
	"overwrites":     {overwrites: true},
	"extend-lies":    {extendLies: true},
	"short-keys":     {shortKeys: true},
}

// forgetful is redsync, which is right, over masters that forget their keys when they restart.
const forgetful = "redsync-over-masters-that-forget"

// own tests a lock as its author would, who does not know the bug.
func own(t *testing.T, b bugs) {
	locktest.Explore(t, with(b), locktest.Faults("kill", "partition", "pause", "slow", "client-pause"), locktest.Schedules(1500))
}

func TestOwnLockHolds(t *testing.T) {
	locktest.Explore(t, with(bugs{}), locktest.Faults("kill", "partition", "pause", "slow", "client-pause"), locktest.Schedules(200))
}

// TestPlanted fails with each bug: TestPlantedBugsAreConvicted runs it in a program of its own.
func TestPlanted(t *testing.T) {
	name := os.Getenv("PLANTED")
	if name == "" {
		t.Skip("run by TestPlantedBugsAreConvicted, with the name of a bug in PLANTED")
	}
	if name == forgetful {
		locktest.Explore(t, redsyncLock, locktest.Persistence("none"), locktest.Schedules(200))
		return
	}
	own(t, planted[name])
}

// allBugs has the test convict all planted bugs, which takes minutes, and not only two of quickBugs.
var allBugs = flag.Bool("all-bugs", false, "convict all planted bugs, not only those that are found within seconds")

// quickBugs are found within seconds.
var quickBugs = []string{"overwrites", "plain-delete", "same-token"}

// replays is how often each kept scenario is replayed with -all-bugs, of which failingReplays must
// fail again: two runs of one scenario differ, because the order in which goroutines run is Go's.
const replays, failingReplays = 10, 9

// TestPlantedBugsAreConvicted wants each bug convicted, and a scenario kept that has at most two faults
// and two clients, and that fails again.
func TestPlantedBugsAreConvicted(t *testing.T) {
	var names []string
	for _, i := range rand.Perm(len(quickBugs))[:2] {
		names = append(names, quickBugs[i])
	}
	if *allBugs {
		names = append(slices.Sorted(maps.Keys(planted)), forgetful)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := func() (out string, failed bool) {
				cmd := exec.Command(program, "-test.run", "^TestPlanted$", "-test.timeout", "5m")
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "PLANTED="+name, "TMPDIR="+dir)
				b, err := cmd.CombinedOutput()
				return string(b), err != nil
			}
			out, convicted := run()
			if !convicted {
				t.Fatalf("not convicted:\n%s", out)
			}
			files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockpick", "*.yaml"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%d scenarios were kept (%v):\n%s", len(files), err, out)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			faults := strings.Count(string(text), "- fault:")
			clients, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^clients: (\d+)$`).FindSubmatch(text)[1]))
			if err != nil {
				t.Fatal(err)
			}
			if faults > 2 || clients > 2 {
				t.Errorf("shrunk to %d faults and %d clients, want at most 2 of each", faults, clients)
			}
			tries, want := 1, 1
			if *allBugs {
				tries, want = replays, failingReplays
			}
			again := 0
			for range tries {
				if text, _ := run(); strings.Contains(text, "failed again") {
					again++
				}
			}
			if again < want {
				t.Errorf("it failed again in %d of %d runs, want %d", again, tries, want)
			}
			t.Logf("%d faults, %d clients; it failed again in %d of %d runs\n%s", faults, clients, again, tries, out)
		})
	}
}
