//go:build real

package doctest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/shlex"

	"lockpick/cluster/process"
)

// TestPages runs the commands of every page and compares the output that it quotes.
func TestPages(t *testing.T) {
	for _, page := range pages(t) {
		if elsewhere[page] != "" {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel() // some mostly wait
			lines := readLines(t, page)
			p := &runner{page, t.TempDir(), map[string]string{}}
			examples, err := filepath.Abs(root + "/examples")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(examples, filepath.Join(p.dir, "examples")); err != nil {
				t.Fatal(err)
			}
			blocks := blocksOf(t, page, lines)
			for i := range blocks {
				if name := blocks[i].args["file"]; blocks[i].kind == "yaml" && name != "" {
					if err := os.WriteFile(filepath.Join(p.dir, name), []byte(blocks[i].content()), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			shift := 0
			for i := range blocks {
				b := &blocks[i]
				switch b.kind {
				case "sh":
					p.commands(t, b)
				case "console":
					got := p.session(t, b)
					if *update && !slices.Equal(got, b.text) {
						lines = slices.Replace(lines, b.from+shift, b.from+shift+len(b.text), got...)
						shift += len(got) - len(b.text)
					}
				}
			}
			if *update {
				if err := os.WriteFile(filepath.Join(root, page), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestSimulatedTables does the same as TestTables, for figures that take minutes to make.
func TestSimulatedTables(t *testing.T) { compareTables(t, simulated) }

// runner runs the commands of one page.
type runner struct {
	page, dir string
	help      map[string]string // of each command
}

// inconclusive is the exit code of a campaign that has seen too little.
const inconclusive = 2

// commands runs a block of commands, each with the exit code that the block names for it.
func (p *runner) commands(t *testing.T, b *block) {
	p.checkAdded(t, b)
	exits := b.exits()
	for i, command := range b.commands() {
		if i >= len(exits) || exits[i] == "-" { // TestBlocks compares their numbers
			continue
		}
		out, code := p.run(t, command, with(b))
		for range 2 { // on a machine that is busy a campaign may see too little
			if exits[i] == "0" && code == inconclusive {
				out, code = p.run(t, command, with(b))
			}
		}
		if want, err := strconv.Atoi(exits[i]); err != nil || code != want {
			t.Errorf("%s:%d: %s: exit %d, want %s\n%s", p.page, b.from, command, code, exits[i], out)
		}
	}
}

// with is what a block adds to its commands: flags that are separated by commas.
func with(b *block) []string {
	text, ok := strings.CutPrefix(b.args["with"], "--")
	if !ok {
		return nil
	}
	flags := strings.Split(text, ",--")
	for i := range flags {
		flags[i] = "--" + flags[i]
	}
	return flags
}

// checkAdded fails if no command of a block takes a flag that the block adds: a misspelt one would be left out.
func (p *runner) checkAdded(t *testing.T, b *block) {
	t.Helper()
	if b.args["with"] != "" && with(b) == nil {
		t.Errorf("%s:%d: with=%s has no flags", p.page, b.from, b.args["with"])
	}
	for _, f := range with(b) {
		name, _, _ := strings.Cut(f, "=")
		if !slices.ContainsFunc(b.commands(), func(command string) bool {
			words := strings.Fields(command)
			return len(words) > 1 && p.knows(t, words[1], name)
		}) {
			t.Errorf("%s:%d: no command of the block knows the flag %s", p.page, b.from, name)
		}
	}
}

// run runs a command and returns what it printed on stdout. Flags that the command has
// already, or does not know, are not added.
func (p *runner) run(t *testing.T, command string, added []string) (stdout string, code int) {
	t.Helper()
	words, err := shlex.Split(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	args := words[1:]
	for i := range args {
		if i > 0 && args[i-1] == "--driver" && (args[i] == "docker" || args[i] == "process") {
			if ok, why := process.Available(t.Context()); !ok {
				t.Skipf("%s: needs redis-server: %s", command, why)
			}
			args[i] = "process" // quicker than containers, and in more places
		}
	}
	for _, f := range added {
		name, value, _ := strings.Cut(f, "=")
		has := slices.ContainsFunc(args, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
		if has || !p.knows(t, args[0], name) {
			continue
		}
		args = append(args, name+"="+value)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &problems
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code >= 64 {
		return problems.String(), code
	}
	return out.String(), code
}

func (p *runner) knows(t *testing.T, command, flag string) bool {
	t.Helper()
	if p.help[command] == "" {
		out, err := exec.CommandContext(t.Context(), binary, command, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		p.help[command] = string(out)
	}
	return strings.Contains(p.help[command], flag+" ")
}

// session runs the commands of a block, and returns the block with what they print now.
func (p *runner) session(t *testing.T, b *block) []string {
	var got []string
	for i := 0; i < len(b.text); {
		command, ok := strings.CutPrefix(b.text[i], "$ ")
		if !ok {
			t.Errorf("%s:%d: a console block begins with \"$ lockpick …\"", p.page, b.from)
			return b.text
		}
		end := i + 1
		for end < len(b.text) && !strings.HasPrefix(b.text[end], "$ ") {
			end++
		}
		quoted := b.text[i+1 : end]
		out, code := p.run(t, command, with(b))
		if code >= 64 {
			t.Errorf("%s:%d: %s: exit %d\n%s", p.page, b.from+i, command, code, out)
			return b.text
		}
		now := strings.Split(strings.TrimRight(normal(out), "\n"), "\n")
		got = append(got, b.text[i])
		if elided(quoted) {
			if !quotes(quoted, now) {
				t.Errorf("%s:%d: %s prints now:\n%s", p.page, b.from+i, command, strings.Join(now, "\n"))
			}
			got = append(got, quoted...)
		} else {
			if !*update && !slices.Equal(quoted, now) {
				t.Errorf("%s:%d: %s: the page (-), and what it prints now (+); make docs writes it anew:\n%s", p.page, b.from+i, command, cmp.Diff(quoted, now))
			}
			got = append(got, now...)
		}
		i = end
	}
	return got
}

// What differs from run to run: names of runs, and how long a search took.
var (
	runName = regexp.MustCompile(`store/\d{8}T\d{6}-([a-z-]*[a-z])(-\d+)?`) // -2: the second of that second
	found   = regexp.MustCompile(`((?:st|nd|rd|th) schedule,) [0-9.]+ m?s`)
	budget  = regexp.MustCompile(` in [0-9.]+ m?s \(budget`)
	took    = regexp.MustCompile(`( of virtual time|events in all;|simulations, of [0-9,]+ events in all;) in [0-9.]+ m?s`)
)

func normal(out string) string {
	out = runName.ReplaceAllString(out, "store/20261122T154428-$1")
	out = budget.ReplaceAllString(found.ReplaceAllString(out, "$1 20 ms"), " in 1 s (budget")
	return took.ReplaceAllString(out, "$1 in 1 s")
}

// elided reports whether a quotation leaves lines out.
func elided(quoted []string) bool {
	return slices.ContainsFunc(quoted, func(line string) bool { return strings.TrimSpace(line) == "…" })
}
