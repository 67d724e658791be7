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
	"packages": packages,
	"explore":  explored,
	"exhaust":  exhausted,
	"redlock":  redlockAndOne,

	"situations":  situations,
	"risk-fields": riskFields,

	"scenario-fields": scenarioFields,
}

// made begins a generated table; end ends it.
var (
	made     = regexp.MustCompile(`^<!-- made by: (.*?)(?:; measured: (.*))? -->$`)
	measured = regexp.MustCompile(`^20\d\d-\d\d-\d\d at [0-9a-f]{7,}$`)
)

const end = "<!-- end -->"

// TestTables compares generated tables with what their command makes today. Of measured ones,
// which are different each time, it checks that they say when and at which commit, and that
// what they name exists.
func TestTables(t *testing.T) {
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
			case generated && figures[name] == nil:
				t.Errorf("%s:%d: there are no figures %q", page, i+1, name)
			case generated:
				now := figures[name](t)
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
	words := strings.Fields(command)
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

// output is what a command prints with --json.
func output(t *testing.T, into any, flags string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(strings.Fields(flags), "--json", "--store", t.TempDir())...)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() >= 64 {
		t.Fatalf("lockpick %s: %v", flags, err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("lockpick %s: %v\n%s", flags, err, out)
	}
}

// explored is what explore finds of some planted bugs and broken assumptions.
func explored(t *testing.T) []string {
	lines := []string{"| what is wrong | flags | found in schedule | shrunk to |", "|---|---|---|---|"}
	for _, c := range [][2]string{
		{"a restart without persistence", "--faults kill,partition"},
		{"a clock that jumps", "--persistence always --faults clock --clock +60s"},
		{"a restart delay below the TTL", "--faults kill,partition --restart-delay 1s"},
		{"a quorum of N/2 with N = 4", "--lock redlock-quorum-half --masters 4 --persistence always --faults none"},
	} {
		var x struct {
			Found []struct {
				Schedule int `json:"schedule"`
				Shrunk   struct {
					Minimal                  bool
					Faults, Clients, Masters int
				} `json:"counterexample"`
			} `json:"violations"`
		}
		output(t, &x, "explore --seed 1 "+c[1])
		if len(x.Found) == 0 {
			t.Fatalf("explore %s finds nothing", c[1])
		}
		f := x.Found[0]
		if !f.Shrunk.Minimal {
			t.Skipf("explore %s: shrinking ran out of real time: the machine is too busy to say how small it gets", c[1])
		}
		lines = append(lines, fmt.Sprintf("| %s | `%s` | %d | faults %d, clients %d, masters %d |", c[0], c[1], f.Schedule, f.Shrunk.Faults, f.Shrunk.Clients, f.Shrunk.Masters))
	}
	return lines
}

// exhausted is how large some searches are.
func exhausted(t *testing.T) []string {
	lines := []string{"| bounds | states | simulations |", "|---|---|---|"}
	for _, c := range [][2]string{
		{"the default, no fault", "--faults none"},
		{"the default, persistence always: one kill", "--persistence always"},
		{"`late` and `lost`, one of them", "--faults late,lost"},
	} {
		var x struct{ States, Runs int }
		output(t, &x, "exhaust "+c[1])
		lines = append(lines, fmt.Sprintf("| %s | %d | %d |", c[0], x.States, x.Runs))
	}
	return lines
}

// redlockAndOne compares Redlock with one master, as claim 66 does.
func redlockAndOne(t *testing.T) []string {
	var x struct {
		Claims []struct {
			Cases []struct {
				Name    string
				Figures []struct {
					Name             string
					Value, Low, High float64
					N                int
				}
			}
		}
	}
	output(t, &x, "claims --only 66 --evidence none")
	share := func(name, figure string) string {
		for _, c := range x.Claims[0].Cases {
			for _, f := range c.Figures {
				if c.Name == name && f.Name == figure {
					if f.N == 0 {
						return "–"
					}
					return fmt.Sprintf("%.0f %% (%.0f to %.0f) of %d", f.Value, f.Low, f.High, f.N)
				}
			}
		}
		t.Fatalf("claim 66 has no %s of %q", figure, name)
		return ""
	}
	lines := []string{"| share of the conclusive schedules that violate … | Redlock, five masters | one master |", "|---|---|---|"}
	for _, row := range [][3]string{
		{"L2, a master restarts empty about once a second", "restarts", "L2-violated"},
		{"L2, power cuts with `everysec`", "power cuts with everysec", "L2-violated"},
		{"L3, clients stop", "client pauses", "L3-violated"},
		{"L4, clients stop", "client pauses", "L4-violated"},
	} {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", row[0], share(row[1]+", Redlock", row[2]), share(row[1]+", one master", row[2])))
	}
	return lines
}

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
		lines = append(lines, fmt.Sprintf("| `%s`: %s | %s | %s | %s |", s.ID, s.Name, strings.TrimSpace(s.Says+" "+s.Breaks), strings.Join(s.Judges, ", "), inherent))
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
