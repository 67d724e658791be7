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
	"redlock":         {},
	"redlock/redsync": {"redlock"}, // the same lock in another shape
	"history":         {},
	"cluster":         {"history"},
	"nemesis":         {"cluster", "history"},
	"workload":        {"redlock", "cluster", "history"},
	"checker":         {"history"},
	"campaign":        {"redlock", "history", "cluster", "cluster/sim", "nemesis", "workload", "workload/remote", "workload/twins", "checker"},
	// The Go twins of the scripts of the locks under test. They are a package of their own,
	// so that a lock knows nothing of simulated masters, and they nothing of locks.
	"workload/twins": {"cluster/sim", "redlock", "workload"},
	// The simulated masters answer the lock's own commands; clients that are processes
	// speak for the locks under test.
	"cluster/sim":     {"cluster", "history", "redlock"},
	"workload/remote": {"redlock", "history", "cluster", "workload"},
	"reports":         {"history", "checker", "campaign"},
	"cmd/lockpick": {
		"redlock", "history", "cluster", "nemesis", "workload", "workload/remote", "checker", "campaign", "reports",
	},
}

// thirdParty says which modules a package may import from outside, where that matters.
var thirdParty = map[string][]string{
	"redlock":         {"github.com/redis/go-redis/v9"},
	"redlock/redsync": {"github.com/redis/go-redis/v9"},
	"history":         {"github.com/klauspost/compress"}, // histories are kept compressed
	"checker":         {"github.com/anishathalye/porcupine"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
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
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "lockpick/...").Output()
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
