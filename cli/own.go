package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/realdrivers"
	"lockpick/reports"
	"lockpick/search"
	"lockpick/workload"
)

// Main runs the program lockpick with the caller's locks in addition to the built-in ones: run, audit, search,
// shrink, replay and claims accept them by their names, and the commands that it prints name the caller's program. It exits the process, so it does not return.
//
//	func main() { cli.Main(locktest.Kind("mylock", "SET NX on every master", newLock)) }
func Main(own ...workload.Implementation) {
	for _, k := range own {
		if err := workload.RegisterLock(k); err != nil {
			fmt.Fprintf(os.Stderr, "lockpick: %v\n", err)
			os.Exit(exitUsage)
		}
	}
	if len(own) > 0 {
		judge.Program = calledAs(os.Args[0])
	}
	os.Exit(run(os.Args[1:]))
}

// drivers returns all that this program can run masters and clients with.
func drivers() campaign.Drivers {
	all, memory := realdrivers.All(), bubble.Driver()
	all.InMemory = &memory
	return all
}

// calledAs returns how users call the program with a path: go run builds it in a folder that it deletes.
func calledAs(path string) string {
	switch {
	case strings.Contains(path, string(filepath.Separator)+"go-build"):
		return "go run ."
	case strings.ContainsAny(path, " '\"$\\"):
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// connects reports whether a lock reaches its masters only by connections.
func connects(lock string) bool {
	kind, _ := workload.LockNamed(lock)
	return kind.Connects
}

// runnerOf returns the function that runs the schedules of a search, or nil for the simulator. Locks that
// connect to their masters themselves run over connections in memory.
func runnerOf(s scenario.Scenario) search.Runner {
	if connects(s.Lock) || s.Driver == scenario.Virtual {
		return search.On(bubble.Driver())
	}
	return nil
}

// foundHistory returns the history of a counterexample that was not simulated, or nil.
func foundHistory(c reports.Counterexample) *history.History {
	var h *history.History
	switch {
	case c.Shrunk != nil:
		h = c.Shrunk.History
	case c.Found != nil:
		h = c.Found.History
	}
	if h != nil && h.Header.Driver == scenario.Virtual {
		return h
	}
	return nil
}

// keepFound stores a counterexample with the history in which it was found.
func keepFound(s scenario.Scenario, h *history.History, store campaign.Store) (*history.History, *judge.Result, error) {
	dir, r, err := search.StoreFound(s, h, store)
	if err != nil {
		return h, r, err
	}
	return h, r, writeReport(dir, h, r)
}
