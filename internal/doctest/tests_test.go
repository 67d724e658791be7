package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachPromiseOfTheThreatModelNamesItsTest: each item of the section names a test that shows it. The first only says
// who is trusted.
func TestEachPromiseOfTheThreatModelNamesItsTest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/robustness.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Who is trusted\n")
	section, _, ended := strings.Cut(section, "\nNot defended")
	items := strings.Split(section, "\n- ")
	if !found || !ended || len(items) < 8 {
		t.Fatalf("the section has %d items", len(items))
	}
	for _, item := range items[2:] {
		if !strings.Contains(item, "`Test") {
			t.Errorf("no test is named for: %s", item)
		}
	}
}

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
