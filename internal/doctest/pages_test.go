package doctest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the quoted output and the generated tables of the documents anew")

const root = "../.."

// elsewhere are pages whose blocks other tests run.
var elsewhere = map[string]string{
	"docs/checking.md": "the checker's tests run its histories",
	"docs/claims.md":   "claims' tests compare it with the catalogue",
}

// binary is lockpick as users run it.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "lockpick-doctest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "lockpick")
	build := exec.Command("go", "build", "-o", binary, "./cmd/lockpick")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build lockpick: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %d pages: %v", len(paths), err)
	}
	all := []string{"README.md", "CONTRIBUTING.md"}
	for _, p := range paths {
		all = append(all, "docs/"+filepath.Base(p))
	}
	return all
}

func readLines(t *testing.T, page string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)

// TestLinksLeadSomewhere: every relative link is to a file that exists.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for i, line := range readLines(t, page) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), m[1])); err != nil {
					t.Errorf("%s:%d: %s is not there", page, i+1, m[1])
				}
			}
		}
	}
}

// named matches paths of this repository in backquotes.
var named = regexp.MustCompile("`((?:redlock|history|cluster|nemesis|workload|checker|campaign|search|claims|reports|cmd|internal|examples|docs)/[A-Za-z0-9_./-]*)`")

// TestNamedFilesExist: every path of the repository that a page names exists.
func TestNamedFilesExist(t *testing.T) {
	for _, page := range pages(t) {
		for i, line := range readLines(t, page) {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(m[1], "/..."))); err != nil {
					t.Errorf("%s:%d: `%s` is not there", page, i+1, m[1])
				}
			}
		}
	}
}
