package doctest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependenciesAreListed: docs/architecture.md says of each module that is required why it is there,
// and of no other.
func TestDependenciesAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ = bytes.Cut(page, []byte("\n## Dependencies\n"))
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\|$").FindAllSubmatch(page, -1) {
		listed = append(listed, string(row[1]))
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	required := strings.Fields(string(out))
	for _, module := range required {
		if !slices.Contains(listed, module) {
			t.Errorf("%s is required, and docs/architecture.md does not say what for", module)
		}
	}
	for _, module := range listed {
		if !slices.Contains(required, module) {
			t.Errorf("docs/architecture.md has %s, which is not required", module)
		}
	}
}
