package architecture

import (
	"bufio"
	"go/build/constraint"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryTestRuns: a test file with the tag real or portable says so in its name, and make tests its package with
// that tag, as it does the packages that try more cases with the tag real; each other module with tests is tested, too.
func TestEveryTestRuns(t *testing.T) {
	words := func(target string) []string {
		cmd := exec.CommandContext(t.Context(), "make", "-n", target)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("make -n %s: %v", target, err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" \"\n", r) })
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
