//go:build real

package doctest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mastersExamples are the languages of docs/masters.md: each example runs as a test, beside the client of its language.
var mastersExamples = []struct {
	kind  string   // of the block
	file  string   // of the example
	needs []string // commands that succeed if its framework is there
	run   []string
	files []string // of clients/masters, copied beside it
}{
	{"python", "test_example.py", []string{"/usr/bin/python3", "-c", "import pytest, redis"}, []string{"/usr/bin/python3", "-m", "pytest", "-q", "-W", "error"}, []string{"lockpick_masters.py"}},
	{"go", "example_test.go", []string{"go", "version"}, []string{"go", "test", "-count=1", "-overlay", "overlay.json", "lockpick/clients/masters"}, nil},
	{"java", "TwoWorkersTest.java", []string{"test", "-e", junit}, []string{"sh", "-c", "java --add-modules jdk.compiler -m jdk.compiler/com.sun.tools.javac.Main -cp " + junit + " *.java && java -jar " + junit + " -cp . --scan-classpath --disable-banner"}, []string{"LockpickMasters.java"}},
}

// junit is JUnit 5 with its launcher, as Debian has it.
const junit = "/usr/share/java/junit-platform-console-standalone.jar"

// TestExamplesOfMasters: the lock that forgets fails the test of each language with the reason, the one that remembers passes.
func TestExamplesOfMasters(t *testing.T) {
	blocks := blocksOf(t, "docs/masters.md", readLines(t, "docs/masters.md"))
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range mastersExamples {
		t.Run(x.kind, func(t *testing.T) {
			if out, err := exec.Command(x.needs[0], x.needs[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%v: %v %s", x.needs, err, out)
			}
			text := ""
			for _, b := range blocks {
				if b.kind == x.kind {
					text += strings.Join(b.text, "\n") + "\n"
				}
			}
			for persistence, fails := range map[string]bool{"none": true, "always": false} {
				dir := t.TempDir()
				example := filepath.Join(dir, x.file)
				written := map[string][]byte{example: []byte(strings.ReplaceAll(text, `"none"`, `"`+persistence+`", "--driver", "process", "--store", "`+dir+`"`))}
				if x.kind == "python" {
					written[filepath.Join(dir, "conftest.py")] = []byte(`pytest_plugins = ["lockpick_masters"]` + "\n")
				}
				overlay := map[string]map[string]string{"Replace": {filepath.Join(top, "clients/masters/example_test.go"): example}}
				if written[filepath.Join(dir, "overlay.json")], err = json.Marshal(overlay); err != nil {
					t.Fatal(err)
				}
				for _, f := range x.files {
					if written[filepath.Join(dir, f)], err = os.ReadFile(filepath.Join(top, "clients/masters", f)); err != nil {
						t.Fatal(err)
					}
				}
				for path, content := range written {
					if err := os.WriteFile(path, content, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.CommandContext(t.Context(), x.run[0], x.run[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "LOCKPICK="+binary)
				if x.kind == "go" {
					cmd.Dir = top
					cmd.Args[4] = filepath.Join(dir, "overlay.json")
				}
				out, err := cmd.CombinedOutput()
				if says := strings.Contains(string(out), "mutual-exclusion is violated"); (err != nil) != fails || says != fails {
					t.Errorf("persistence %s: %v\n%s", persistence, err, out)
				}
			}
		})
	}
}
