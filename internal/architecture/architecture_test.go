// Package architecture keeps the project's imports as they were meant to be.
package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed says which of the project's packages a package may import. The lock is a
// library of its own, and history is the one thing that everybody shares.
var allowed = map[string][]string{
	"redlock":       {"redlock/protocol", "redlock/internal/transport"},
	"history":       {},
	"history/fault": {},
	"history/logs":  {"history"}, // logs of locks that Lockpick did not run
	"cluster":       {"history", "cluster/resp"},
	"cluster/resp":  {"history"},
	// What the lock says to its masters, for simulated ones and for locks with other rules.
	"redlock/protocol": {},
	// The lock's commands on their way through go-redis.
	"redlock/internal/transport": {"redlock/protocol"},
	// The drivers. Docker's servers and those that are processes are driven alike.
	"cluster/process": {"cluster", "cluster/resp", "cluster/shadow"},
	"cluster/docker":  {"cluster", "cluster/process"},
	// Redis servers that run already: read and linked to, and nothing else.
	"cluster/existing": {"cluster", "cluster/process", "cluster/resp"},
	// Servers of any other store, as a scenario describes them.
	"cluster/service":      {"cluster", "cluster/process", "cluster/service/spec"},
	"cluster/service/spec": {},
	// What a real master does to its keys, for both.
	"cluster/shadow": {"cluster", "cluster/keyspace", "cluster/resp"},
	// The votes that follow from what masters did to their keys.
	"cluster/account": {"cluster", "cluster/resp", "history"},
	// In-memory masters that speak RESP, for locks that dial and wait by themselves.
	"cluster/virtual": {"cluster", "cluster/sim", "cluster/sim/world", "redlock"},
	// The door for any Go lock, in tests and in programs.
	"locktest": {"redlock", "history", "cluster/process", "cluster/virtual", "workload", "checker", "checker/narrative", "campaign", "campaign/judge", "campaign/scenario", "campaign/bubble", "search", "audit", "search/reduce"},
	// Runs over those masters, each in a bubble of its own, in tests and in programs.
	"campaign/bubble": {"history", "cluster", "cluster/sim/world", "cluster/virtual", "campaign", "campaign/scenario"},
	"nemesis":         {"cluster", "history", "history/fault"},
	"workload":        {"redlock", "redlock/protocol", "cluster", "history"},
	"checker":         {"history", "history/fault", "checker/facts", "checker/narrative"},
	// What the history says, and how a violation is told: below the properties.
	"checker/facts":     {"history", "history/fault"},
	"checker/narrative": {"history", "history/fault", "checker/facts"},
	// What a run is, and what its history proves; neither runs anything.
	"campaign/scenario": {"history", "history/fault", "clients", "cluster", "cluster/service/spec", "nemesis", "workload", "checker"},
	"campaign/judge":    {"history", "history/fault", "history/logs", "checker", "checker/narrative", "watch"},
	"campaign":          {"watch", "cluster/resp", "history", "history/fault", "cluster", "cluster/service/spec", "cluster/sim", "cluster/sim/world", "nemesis", "workload", "checker", "clients", "cluster/account", "redlock/protocol", "campaign/scenario", "campaign/judge"},
	"search":            {"history", "history/fault", "cluster", "cluster/sim", "nemesis", "workload", "checker", "checker/narrative", "campaign", "campaign/judge", "campaign/scenario"},
	// Small counterexamples, and what they depend on.
	"search/reduce": {"checker/narrative", "campaign", "campaign/judge", "campaign/scenario", "checker", "cluster/sim/world", "history", "history/fault", "nemesis", "search", "workload"},
	"clients":       {"examples/services"}, // the scenarios of other stores
	// An exhaustive search drives clients and faults itself: each choice has to be its own.
	"search/exhaust": {"checker/narrative", "redlock", "redlock/protocol", "history", "history/fault", "cluster", "cluster/sim", "cluster/sim/world", "nemesis", "workload", "checker", "campaign", "campaign/judge", "campaign/scenario", "search"},
	"claims":         {"checker/narrative", "history", "checker", "cluster", "campaign", "campaign/judge", "campaign/scenario", "search", "reports/term", "reports/web", "reports/junit"},
	"audit":          {"checker/narrative", "history/fault", "history", "cluster", "cluster/service/spec", "workload", "watch", "checker", "campaign", "campaign/judge", "campaign/scenario", "search"},
	// Its report cards: not part of what tests of any lock need.
	"audit/card": {"audit", "history/fault", "watch", "checker", "campaign", "campaign/judge", "search", "reports/term", "reports/web", "reports/junit"},
	// What Redis commands do to keys, and its scripts, without a clock, network or disk.
	"cluster/keyspace": {"cluster"},
	"cluster/lua":      {"cluster/keyspace"},
	// Virtual time: events, coroutines, clocks and choices, without masters or a network.
	"cluster/sim/world": {},
	// The simulated masters answer the lock's own commands; clients that are processes
	// speak for the locks under test.
	"cluster/sim":     {"cluster", "cluster/keyspace", "cluster/lua", "cluster/resp", "cluster/sim/world", "history", "redlock", "redlock/protocol"},
	"workload/remote": {"redlock", "redlock/protocol", "history", "cluster", "workload"},
	// What a proxy in front of a real Redis reads.
	"watch": {"history", "cluster/keyspace", "cluster/lua", "cluster/resp"},
	// What is stored on a real Redis.
	"locks": {"cluster/resp", "watch", "reports/term"},
	"serve": {"reports/term", "history", "history/fault", "campaign", "campaign/judge", "campaign/scenario", "checker", "claims", "audit", "audit/card", "reports/diff", "reports/web", "risk"},
	// Masters for the tests of others, over HTTP.
	"masters": {"campaign", "campaign/judge", "campaign/scenario", "reports"},
	// The client for tests in Go: like those of other languages it knows only the HTTP API.
	"clients/masters": {},
	// How often a lock fails in production: samples of faults in the simulator.
	"risk": {"checker/narrative", "cluster", "history/fault", "nemesis", "workload", "checker", "campaign", "campaign/judge", "campaign/scenario", "search", "reports/term", "reports/web"},
	// The reports of a run, and of what a search made of one.
	"reports": {"clients", "checker/narrative", "history", "history/fault", "history/logs", "checker", "campaign/judge", "campaign/scenario", "search", "search/exhaust", "search/reduce", "reports/term", "reports/web", "reports/junit", "reports/story"},
	// What all reports share: the terminal, the frame of pages, JUnit. Tests of any lock bring them along.
	"reports/term":  {"checker"},
	"reports/web":   {"checker", "campaign/judge", "reports/term"},
	"reports/junit": {},
	// One violation as text and as pictures.
	"reports/story": {"checker/narrative", "history", "history/fault", "checker", "reports/term"},
	// Two runs beside each other.
	"reports/diff": {"history", "checker", "campaign", "campaign/judge", "campaign/scenario", "reports/term", "reports/web"},
	"cmd/lockpick": {"cli"},
	"cli": {
		"redlock", "history", "history/fault", "history/logs", "cluster", "cluster/docker", "cluster/process", "nemesis", "workload", "workload/remote", "checker", "campaign", "campaign/judge", "campaign/scenario", "campaign/bubble", "search", "search/exhaust", "claims", "audit", "audit/card", "reports", "reports/diff", "reports/story", "reports/term", "clients", "locks", "watch", "serve", "masters", "risk", "search/reduce",
	},
}

// testsAlso says what the tests of a package may import besides what it may import itself:
// the simulator or real masters to run on, and clients that are processes.
var testsAlso = map[string][]string{
	"cluster/virtual":   {"campaign", "campaign/judge", "campaign/scenario", "checker", "cluster/process", "history", "redlock/protocol"}, // a lock in a bubble is judged like a campaign
	"campaign":          {"redlock", "workload/remote", "checker/narrative", "cluster/existing"},
	"campaign/scenario": {"campaign", "history"},           // the same seed, the same history
	"campaign/judge":    {"campaign", "campaign/scenario"}, // histories to judge
	"campaign/bubble":   {"locktest", "workload"},
	"cluster/process":   {"cluster/docker"},
	"cluster/sim":       {"checker", "cluster/process", "history/fault", "nemesis", "workload"},
	"nemesis":           {"redlock/protocol"},
	"redlock":           {"cluster", "cluster/process"},
	"masters":           {"checker", "cluster", "history"},
	"reports":           {"campaign"}, // runs to report
	"reports/story":     {"checker/narrative", "campaign", "campaign/scenario"},
	"watch":             {"redlock"}, // its traffic
	"workload":          {"cluster/process", "cluster/sim", "cluster/sim/world"},
	"workload/remote":   {"cluster/process"},
}

// thirdParty says which modules a package may import from outside, where that matters.
var thirdParty = map[string][]string{
	"redlock":                    {"github.com/redis/go-redis/v9"},
	"redlock/internal/transport": {"github.com/redis/go-redis/v9"},
	"history":                    {"github.com/klauspost/compress"}, // histories are kept compressed
	"history/logs":               {"github.com/go-json-experiment/json"},
	"checker":                    {"github.com/anishathalye/porcupine"},
	"cluster":                    {},
	"cluster/process":            {"github.com/redis/go-redis/v9", "golang.org/x/sync", "golang.org/x/sys"},
	"cluster/docker":             {"github.com/ory/dockertest/v3"},
	"cluster/lua":                {"github.com/yuin/gopher-lua"},
	"cluster/keyspace":           {},
	"locktest":                   {"github.com/redis/go-redis/v9"},
	"reports/term":               {"github.com/olekukonko/tablewriter"},
	"reports/web":                {},
}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Standard                           bool
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "lockpick/")
		may, known := allowed[name]
		if !known {
			if len(p.Imports) > 0 && !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "examples/") {
				t.Errorf("package %s is not in the table of allowed imports: what may it import?", name)
			}
			continue
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, "lockpick/"); ok {
				if !slices.Contains(may, ours) && !strings.HasPrefix(ours, "internal/") {
					t.Errorf("%s imports %s, but may import only %v", name, ours, may)
				}
				continue
			}
			modules, limited := thirdParty[name]
			if limited && strings.Contains(strings.SplitN(i, "/", 2)[0], ".") && !slices.ContainsFunc(modules, func(m string) bool { return i == m || strings.HasPrefix(i, m+"/") }) {
				t.Errorf("%s imports %s, but of other modules may import only %v", name, i, modules)
			}
		}
	}
}

// TestImportsOfTests: tests keep to a table, too, and it names nothing that they do not import.
func TestImportsOfTests(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "lockpick/")
		if allowed[name] == nil {
			continue
		}
		imports := slices.Concat(p.TestImports, p.XTestImports)
		for _, i := range imports {
			ours, ok := strings.CutPrefix(i, "lockpick/")
			if ok && ours != name && !strings.HasPrefix(ours, "internal/") && !slices.Contains(slices.Concat(allowed[name], testsAlso[name]), ours) {
				t.Errorf("the tests of %s import %s, but may import only %v and %v", name, ours, allowed[name], testsAlso[name])
			}
		}
		for _, also := range testsAlso[name] {
			if !slices.Contains(imports, "lockpick/"+also) {
				t.Errorf("the tests of %s may import %s, and do not: remove it from the table", name, also)
			}
		}
	}
}

func TestNoGrabBags(t *testing.T) {
	for _, p := range packages(t) {
		for _, part := range strings.Split(p.ImportPath, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, part) {
				t.Errorf("%s: a package is named after its subject", p.ImportPath)
			}
		}
	}
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-tags=real,portable", "-json=ImportPath,Imports,TestImports,XTestImports", "lockpick/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 8 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// portable are the packages that simulate, judge and report: they need no masters, and so no
// Docker and no Unix.
var portable = []string{"lockpick/cluster", "lockpick/cluster/sim", "lockpick/cluster/sim/world", "lockpick/checker", "lockpick/checker/facts", "lockpick/checker/narrative", "lockpick/history", "lockpick/nemesis", "lockpick/workload", "lockpick/search", "lockpick/search/exhaust", "lockpick/search/reduce", "lockpick/claims", "lockpick/reports", "lockpick/reports/diff"}

func TestPortablePackagesAvoidDocker(t *testing.T) {
	out, err := exec.Command("go", append([]string{"list", "-deps"}, portable...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if strings.Contains(dep, "docker") {
			t.Errorf("a portable package depends on %s", dep)
		}
	}
}
