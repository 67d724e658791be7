package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/internal/racetest"
)

// module is a module whose tests pass, are skipped, and ask to run without the race
// detector; "bad" has one that fails, "leaks" fails beside
// its tests, "dies" panics, "broken" is not even compiled.
var module = map[string]string{
	"go.mod":          "module example\n\ngo 1.26\n",
	"good/race.go":    "//go:build race\n\npackage good\n\nconst raced = true\n",
	"good/norace.go":  "//go:build !race\n\npackage good\n\nconst raced = false\n",
	"bad/bad_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(\"two and two are five\") }\n",
	"leaks/leaks_test.go": "package leaks\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\n" +
		"func TestMain(m *testing.M) {\n\tm.Run()\n\tfmt.Println(\"a goroutine is left\")\n\tos.Exit(1)\n}\n\nfunc TestPasses(t *testing.T) {}\n",
	"dies/dies_test.go": "package dies\n\nimport \"testing\"\n\nfunc TestDies(t *testing.T) {\n\tdone := make(chan int)\n\tgo func() { panic(\"out of luck\") }()\n\t<-done\n}\n",
	"master/master.go":  "package master\n",
	"indeed/indeed.go":  "package indeed\n\nimport _ \"example/master\"\n",
	"real/real_test.go": "package real_test\n\nimport (\n\t_ \"example/indeed\"\n\t\"testing\"\n)\n\nfunc TestReal(t *testing.T) {}\n",
	"broken/broken.go":  "package broken\n\nvar x int = \"text\"\n",
	"broken/b_test.go":  "package broken\n\nimport \"testing\"\n\nfunc TestBuilt(t *testing.T) {}\n",
	"good/good_test.go": `package good

import (
	"os"
	"testing"
)

func TestPasses(t *testing.T) {}

func TestNeedsMore(t *testing.T) {
	t.Log("something else")
	t.Run("part", func(t *testing.T) { t.Skip("needs a\nlighthouse") })
}

func TestWorlds(t *testing.T) {
	if raced {
		t.Skip("` + racetest.Reason + `it simulates thousands of worlds")
	}
	if err := os.WriteFile("worlds", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzBytes(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = os.WriteFile("fuzzed", nil, 0o600)
	})
}
`,
}

// run is testrun in a copy of the module.
func run(t *testing.T, fuzz int, packages ...string) (r *runner, dir, out string) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range module {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var b bytes.Buffer
	r = &runner{ctx: t.Context(), out: &b, timeout: time.Minute}
	if err := r.all(packages, "example/master", nil, fuzz); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	r.summarize(3)
	return r, dir, b.String()
}

// TestPackagesWithMastersHaveALane: a package whose tests import the masters' package, also through another
// one. Packages without tests are in no lane.
func TestPackagesWithMastersHaveALane(t *testing.T) {
	r, _, out := run(t, 0, "./real", "./good")
	if r.failed || !strings.Contains(out, "Tests with real masters") || !strings.Contains(out, "PASS  example/real") || !strings.Contains(out, "PASS  example/good") {
		t.Errorf("failed %v\n%s", r.failed, out)
	}
	real, others, err := r.split([]string{"./..."}, "example/master")
	if err != nil || !slices.Equal(real, []string{"example/real"}) ||
		!slices.Equal(others, []string{"example/bad", "example/broken", "example/dies", "example/good", "example/leaks"}) {
		t.Errorf("%q %q %v", real, others, err)
	}
}

func TestExcludedTestsRunWithoutTheRaceDetectorAndSkipsAreListed(t *testing.T) {
	r, dir, out := run(t, 100, "./good")
	if r.failed {
		t.Fatal(out)
	}
	for _, made := range []string{"worlds", "fuzzed"} {
		if _, err := os.Stat(filepath.Join(dir, "good", made)); err != nil {
			t.Errorf("%v: the test that makes it did not run\n%s", err, out)
		}
	}
	for _, want := range []string{"Skipped tests: 1\n  1: needs a lighthouse\n", "TestNeedsMore/part", "fuzzing with 100 inputs: FuzzBytes"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

func TestFailuresAreShownAndFailTheRun(t *testing.T) {
	for pkg, want := range map[string]string{"./bad": "two and two are five", "./broken": "cannot use", "./leaks": "a goroutine is left", "./dies": "out of luck"} {
		if r, _, out := run(t, 0, pkg); !r.failed || !strings.Contains(out, want) || !strings.Contains(out, "FAILED") {
			t.Errorf("%s: failed %v, want %q in\n%s", pkg, r.failed, want, out)
		}
	}
}

// TestNoExcludedTestIsForgotten: a test that the second run skips for the race detector, too,
// is an error.
func TestNoExcludedTestIsForgotten(t *testing.T) {
	old := module["good/norace.go"]
	module["good/norace.go"] = strings.Replace(old, "false", "true", 1)
	defer func() { module["good/norace.go"] = old }()
	dir := t.TempDir()
	for path, text := range module {
		if name, ok := strings.CutPrefix(path, "good/"); ok || path == "go.mod" {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(dir)
	var b bytes.Buffer
	r := &runner{ctx: t.Context(), out: &b, timeout: time.Minute}
	if err := r.all([]string{"./..."}, "", nil, 0); err == nil || !strings.Contains(err.Error(), "neither run included TestWorlds") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
