package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTestsExist: docs/robustness.md says which tests show what it promises.
func TestNamedTestsExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/robustness.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile("`(Test[A-Z][A-Za-z]*)`").FindAllSubmatch(page, -1) {
		missing[string(name[1])] = true
	}
	if len(missing) < 10 {
		t.Fatalf("the page names %d tests", len(missing))
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(code), "func "+name+"(t *testing.T)") {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("docs/robustness.md names %s, and there is no such test", name)
	}
}
