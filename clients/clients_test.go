package clients

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClientsAreShort: a newcomer copies one, so none has more than 40 lines, blank ones and comments included. Those in Go
// share the loop of the protocol; go/minimal is one that has everything in its own file.
func TestClientsAreShort(t *testing.T) {
	named := map[string]bool{}
	for _, c := range All {
		named[c.file] = true
	}
	var paths []string
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
			if !named[path] {
				t.Errorf("%s is not in the list", path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inGo, err := filepath.Glob("go/*.go")
	if err != nil || len(inGo) == 0 {
		t.Fatalf("the clients in Go: %v, %v", inGo, err)
	}
	shared := []string{"go/main.go", "go/version.go"}
	inGo = slices.DeleteFunc(inGo, func(path string) bool { return slices.Contains(shared, path) })
	for _, path := range slices.Concat(paths, inGo, []string{"go/minimal/main.go"}) {
		b, err := os.ReadFile(path)
		if n := bytes.Count(b, []byte("\n")); err != nil || n > 40 {
			t.Errorf("%s has %d lines, want at most 40 (%v)", path, n, err)
		}
	}
}

// TestCommandStartsAFileOrSaysWhatIsMissing: of each client.
func TestCommandStartsAFileOrSaysWhatIsMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range All {
		command, err := c.Command()
		if err != nil {
			if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), c.Needs()) {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		if c.file == "" {
			continue
		}
		path := command[len(command)-1-len(c.args)]
		if c.class != "" { // the command names the class, and its folder before it
			dir := command[len(command)-2-len(c.args)]
			if info, err := os.Stat(filepath.Join(dir, c.class+".class")); err != nil || info.Size() == 0 {
				t.Errorf("%s: not compiled: %v", c.Name, err)
			}
			path = filepath.Join(dir, filepath.Base(c.file))
		}
		want, _ := c.source()
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s: %v", c.Name, path, err)
		}
	}
	t.Setenv("PATH", "")
	missing := Client{Name: "x", Package: "x-lock", file: "perl/redis.pl", run: [][]string{{"no-such-interpreter"}}}
	if _, err := missing.Command(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install x-lock") {
		t.Errorf("without an interpreter: %v", err)
	}
}

// TestResolve: one word may be the name of a client that comes with Lockpick; all else is a command, whose program has to be there.
func TestResolve(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{program}, {program, "--verbose"}} {
		if got, err := Resolve(command); err != nil || !slices.Equal(got, command) {
			t.Errorf("%q became %q, %v", command, got, err)
		}
	}
	for _, command := range [][]string{{"./redis-py"}, {"no-such-program"}, {"no-such-program", "--verbose"}} {
		if got, err := Resolve(command); !errors.Is(err, ErrMissing) {
			t.Errorf("%q became %q, %v", command, got, err)
		}
	}
}

// TestClientsOfOtherStoresHaveAScenario: it exists.
func TestClientsOfOtherStoresHaveAScenario(t *testing.T) {
	for _, c := range All {
		if has := len(c.Scenario()) > 0; has != (c.Store != "") {
			t.Errorf("%s: store %q, and a scenario: %v", c.Name, c.Store, has)
		}
	}
}
