package doctest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/campaign/scenario"
	"lockpick/risk"
)

// figures make the tables that stand between markers in a page. They are deterministic.
var figures = map[string]func(t *testing.T) []string{
	"packages":           packages,
	"simulated-commands": simulatedCommands,
	"missing-commands":   missingCommands,
	"situations":         situations,
	"risk-fields":        riskFields,
	"scenario-fields":    scenarioFields,
}

// simulated are figures that take minutes to make: TestSimulatedTables compares them.
var simulated = map[string]func(t *testing.T) []string{"explore": explored, "exhaust": exhausted, "redlock": redlockAndOne}

// made begins a generated table; end ends it.
var (
	made     = regexp.MustCompile(`^<!-- made by: (.*?)(?:; measured: (.*))? -->$`)
	measured = regexp.MustCompile(`^20\d\d-\d\d-\d\d at [0-9a-f]{7,}$`)
)

const end = "<!-- end -->"

// TestTables compares generated tables with what their command makes today. Of measured ones,
// which are different each time, it checks that they say when and at which commit, and that
// what they name exists.
func TestTables(t *testing.T) { compareTables(t, figures) }

// compareTables compares the tables that some figures make.
func compareTables(t *testing.T, some map[string]func(t *testing.T) []string) {
	t.Helper()
	for _, page := range pages(t) {
		lines := readLines(t, page)
		for i := 0; i < len(lines); i++ {
			m := made.FindStringSubmatch(lines[i])
			if m == nil {
				if strings.Contains(lines[i], "made by:") && !strings.Contains(page, "CONTRIBUTING") {
					t.Errorf("%s:%d: no marker of a table: %q", page, i+1, lines[i])
				}
				continue
			}
			n := slices.Index(lines[i:], end)
			if n < 0 {
				t.Fatalf("%s:%d: the table has no %s", page, i+1, end)
			}
			name, generated := strings.CutPrefix(m[1], "figures ")
			switch {
			case generated && figures[name] == nil && simulated[name] == nil:
				t.Errorf("%s:%d: there are no figures %q", page, i+1, name)
			case generated && some[name] == nil:
			case generated:
				now := some[name](t)
				if !slices.Equal(lines[i+1:i+n], now) {
					if !*update {
						t.Errorf("%s:%d: the table %s is stale; make docs writes it anew. It should be:\n%s", page, i+1, name, strings.Join(now, "\n"))
					}
					lines = slices.Replace(lines, i+1, i+n, now...)
				}
			case !measured.MatchString(m[2]):
				t.Errorf("%s:%d: a measured table says \"measured: DATE at COMMIT\", not %q", page, i+1, m[2])
			default:
				exists(t, fmt.Sprintf("%s:%d", page, i+1), m[1])
			}
		}
		if *update {
			if err := os.WriteFile(filepath.Join(root, page), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// exists checks that a test, a benchmark or a command of lockpick that made a table is there.
func exists(t *testing.T, where, command string) {
	words := strings.Fields(strings.Replace(command, " -tags real", "", 1))
	switch {
	case len(words) > 2 && words[0] == "go" && words[1] == "test":
		dir := words[2]
		i := slices.Index(words, "-bench")
		if i < 0 {
			i = slices.Index(words, "-run")
		}
		if i < 0 || i+1 >= len(words) {
			t.Errorf("%s: %s: say which test or benchmark", where, command)
			return
		}
		pattern := "^func (Test|Benchmark)" + strings.TrimPrefix(strings.TrimPrefix(words[i+1], "Test"), "Benchmark")
		out, err := exec.Command("grep", "-rlE", "--include=*_test.go", pattern, filepath.Join(root, dir)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s: %s has no such test: %v%s", where, command, dir, err, out)
		}
	case len(words) > 1 && words[0] == "lockpick":
		if out, err := exec.Command(binary, words[1], "--help").CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %v\n%s", where, command, err, out)
		}
	default:
		t.Errorf("%s: %q is neither figures, nor go test, nor lockpick", where, command)
	}
}

// number matches a cell that is a figure.
var number = regexp.MustCompile(`^[\d,.]+( .*)?$`)

// TestFiguresSayWhereTheyComeFrom: a table whose column holds figures stands between markers.
func TestFiguresSayWhereTheyComeFrom(t *testing.T) {
	for _, page := range pages(t) {
		if elsewhere[page] != "" || page == "docs/performance.md" || page == "docs/clients.md" {
			continue // generated as a whole, or with commands of their own
		}
		marked := false
		counts := map[int]int{}
		for i, line := range readLines(t, page) {
			switch {
			case made.MatchString(line):
				marked = true
			case line == end:
				marked = false
			case !strings.HasPrefix(line, "|"):
				clear(counts)
			case !marked:
				for c, cell := range strings.Split(strings.Trim(line, "|"), "|") {
					if number.MatchString(strings.TrimSpace(cell)) {
						if counts[c]++; counts[c] == 3 {
							t.Errorf("%s:%d: a column of figures without \"<!-- made by: COMMAND -->\"", page, i+1)
						}
					}
				}
			}
		}
	}
}

// packages draws which package imports which, without the arrows that others imply.
func packages(t *testing.T) []string {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "lockpick/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for d.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if name, ok := drawn(p.ImportPath); ok {
			imports[name] = []string{}
			for _, i := range p.Imports {
				if other, ok := drawn(i); ok {
					imports[name] = append(imports[name], other)
				}
			}
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return slices.ContainsFunc(imports[from], func(next string) bool { return next == to || reaches(next, to) })
	}
	lines := []string{"```mermaid", "graph TD"}
	var names []string
	for name := range imports {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, from := range names {
		slices.Sort(imports[from])
		for _, to := range imports[from] {
			if !slices.ContainsFunc(imports[from], func(other string) bool { return other != to && reaches(other, to) }) {
				lines = append(lines, fmt.Sprintf("    %s[%s] --> %s[%s]", id(from), from, id(to), to))
			}
		}
	}
	return append(lines, "```")
}

// drawn leaves out what is nobody else's: internal packages, tests, examples.
func drawn(path string) (string, bool) {
	name, ok := strings.CutPrefix(path, "lockpick/")
	return name, ok && !strings.Contains(name, "internal/") && !strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, "docs/")
}

func id(name string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(name) }

// situations are the battery of lockpick audit.
func situations(*testing.T) []string {
	var lines []string
	group := ""
	for _, s := range audit.Battery() {
		if s.Group != group {
			if group = s.Group; len(lines) > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, "### "+group, "", "| situation | what happens | judged | inherent, since |", "|---|---|---|---|")
		}
		inherent := ""
		if len(s.Inherent) > 0 {
			inherent = "**" + strings.Join(s.Inherent, ", ") + "**: " + s.Why
		}
		lines = append(lines, fmt.Sprintf("| `%s`: %s | %s | %s | %s |", s.ID, s.Name, strings.TrimSpace(s.Says+" "+s.Assumption()), strings.Join(s.Judges, ", "), inherent))
	}
	return lines
}

// riskFields is the table of the fields of a risk's setup.
func riskFields(*testing.T) []string {
	lines := []string{"| field | default | meaning | source of the default |", "|---|---|---|---|"}
	for _, f := range risk.Fields {
		lines = append(lines, fmt.Sprintf("| `%s` | `%s` | %s | %s |", f.Name, f.Default, f.Means, f.Source))
	}
	return lines
}

// scenarioFields is the table of the fields of a scenario.
func scenarioFields(*testing.T) []string {
	lines := []string{"| field | flag | default | meaning |", "|---|---|---|---|"}
	for _, f := range scenario.Fields {
		flag := ""
		if f.NoFlag == "" {
			flag = "`--" + f.FlagName() + "`"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, flag, f.Otherwise(), f.Meaning()))
	}
	return lines
}
