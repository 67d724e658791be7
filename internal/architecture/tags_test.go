package architecture

import (
	"bufio"
	"go/build/constraint"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryTestRuns: a test file with the tag real or portable says so in its name, and make tests its package with
// that tag, as it does the packages that try more cases with the tag real; each other module with tests is tested, too.
func TestEveryTestRuns(t *testing.T) {
	words := func(target string) []string {
		return strings.FieldsFunc(commandsOf(t, target), func(r rune) bool { return strings.ContainsRune(" \"\n", r) })
	}
	tests, withTag := words("tests"), map[string][]string{"real": words("tests-real"), "portable": words("tests-portable")}
	tagged := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if module := moduleOf(dir); module != "." {
			if !slices.Contains(tests, module) && !slices.Contains(withTag["real"], module) {
				t.Errorf("no target of the Makefile tests the module %s", module)
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "/internal/sampletest\"\n") && !slices.Contains(withTag["real"], "./"+filepath.ToSlash(dir)) {
			t.Errorf("%s: make tests-real does not try more of its cases", path)
		}
		for tag, words := range withTag {
			has, err := needsTag(path, tag)
			if err != nil {
				return err
			}
			if named := strings.HasSuffix(path, "_"+tag+"_test.go"); has != named {
				t.Errorf("%s: it needs the tag %s: %v; its name says so: %v", path, tag, has, named)
			}
			if !has {
				continue
			}
			if tagged++; !slices.Contains(words, "./"+filepath.ToSlash(dir)) {
				t.Errorf("%s: make tests-%s does not test its package", path, tag)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tagged < 10 {
		t.Errorf("only %d files have one of the tags", tagged)
	}
}

// commandsOf returns what make would run for a target, all samples included.
func commandsOf(t *testing.T, target string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "-n", target, "SAMPLE=all")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make -n %s: %v", target, err)
	}
	return string(out)
}

// packagePath fits a package, or packages, of this module in a command.
var packagePath = regexp.MustCompile(`^(\./|lockpick/)[a-z/]+(\.\.\.)?$`)

// TestNoBubbleRunsWithTheRaceDetector: no package that make tests with the race detector uses masters in a bubble, in which the race
// detector itself fails now and then.
func TestNoBubbleRunsWithTheRaceDetector(t *testing.T) {
	const bubbles = "lockpick/cluster/virtual"
	var raced []string
	for _, target := range []string{"tests", "tests-real"} {
		for command := range strings.SplitSeq(commandsOf(t, target), `"`) {
			words := strings.Fields(command)
			if slices.Contains(words, "-race") {
				raced = append(raced, slices.DeleteFunc(words, func(w string) bool { return !packagePath.MatchString(w) })...)
			}
		}
	}
	using := func(packages ...string) []string {
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-test", "-tags", "real", "-f", `{{.ImportPath}} {{join .Deps " "}}`}, packages...)...)
		list.Dir = root
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list of %q: %v", packages, err)
		}
		var all []string
		for line := range strings.Lines(string(out)) {
			if words := strings.Fields(line); slices.Contains(words, bubbles) {
				all = append(all, words[0])
			}
		}
		return all
	}
	if len(raced) < 20 || len(using("./locktest")) == 0 {
		t.Fatalf("it finds only %q, and in locktest no bubble", raced)
	}
	for _, name := range using(raced...) {
		t.Errorf("make runs %s with the race detector, and it uses %s", name, bubbles)
	}
}

// moduleOf returns the folder of the module that a folder belongs to.
func moduleOf(dir string) string {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return filepath.ToSlash(dir)
		}
	}
	return dir
}

// needsTag reports whether the build constraint of a file names a tag.
func needsTag(path, tag string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && !strings.HasPrefix(lines.Text(), "package "); {
		if !constraint.IsGoBuild(lines.Text()) {
			continue
		}
		expression, err := constraint.Parse(lines.Text())
		if err != nil {
			return false, err
		}
		mentioned := false
		expression.Eval(func(t string) bool { // it looks at every tag
			mentioned = mentioned || t == tag
			return true
		})
		return mentioned, nil
	}
	return false, nil
}
