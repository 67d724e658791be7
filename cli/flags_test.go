package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestAFlagHasOneType: a name stands for one type, and so for one unit, in all commands.
func TestAFlagHasOneType(t *testing.T) {
	types := map[string]map[string][]string{} // by flag and type: the commands
	for _, c := range rootCommand().Commands() {
		if c.Hidden {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if types[f.Name] == nil {
				types[f.Name] = map[string][]string{}
			}
			kind := strings.TrimSuffix(strings.TrimSuffix(f.Value.Type(), "Array"), "Slice") // several times the same
			types[f.Name][kind] = append(types[f.Name][kind], c.Name())
		})
	}
	for name, of := range types {
		if len(of) > 1 {
			t.Errorf("--%s has several types: %v", name, of)
		}
	}
}

// TestCommandsAreFew: a stranger finds the command that they need among at most 18, and each has a group.
func TestCommandsAreFew(t *testing.T) {
	var shown []string
	for _, c := range rootCommand().Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			shown = append(shown, c.Name())
			if c.GroupID == "" {
				t.Errorf("%s has no group", c.Name())
			}
		}
	}
	if len(shown) > 19 {
		t.Errorf("%d commands: %s", len(shown), strings.Join(shown, ", "))
	}
}

// TestOldNamesStay: each name of before is there, hidden, and says what to write instead.
func TestOldNamesStay(t *testing.T) {
	root := rootCommand()
	for _, name := range []string{"explore", "exhaust", "report", "export", "scoreboard", "image", "version"} {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 || !root.Commands()[i].Hidden || root.Commands()[i].Deprecated == "" {
			t.Errorf("%s is not a hidden command that names another one", name)
		}
	}
}

// TestHelpShowsTheEverydayFlags: --help shows few flags, and --help-all each of them.
func TestHelpShowsTheEverydayFlags(t *testing.T) {
	for _, name := range []string{"run", "search"} {
		some, _, _ := lockpick(t, t.TempDir(), name, "--help")
		all, _, _ := lockpick(t, t.TempDir(), name, "--help-all")
		c, _, err := rootCommand().Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flag := fmt.Sprintf(" --%s ", f.Name)
			if !strings.Contains(all, flag) {
				t.Errorf("%s --help-all lacks --%s", name, f.Name)
			}
			if strings.Contains(some, flag) {
				shown++
			}
		})
		if shown > 24 || !strings.Contains(some, "--help-all") {
			t.Errorf("%s --help shows %d flags:\n%s", name, shown, some)
		}
	}
}

// TestHelpFitsTheTerminal: at 60 columns no line of a help is longer, except commands, which stay whole, and long words.
func TestHelpFitsTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	for _, c := range rootCommand().Commands() {
		if c.Hidden {
			continue
		}
		root := rootCommand()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{c.Name(), "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		before, rest, _ := strings.Cut(out.String(), "\nExamples:\n")
		_, flags, _ := strings.Cut(rest, "\nFlags:\n")
		for line := range strings.SplitSeq(before+flags, "\n") {
			if utf8.RuneCountInString(line) > 60 && len(strings.Fields(line)) > 1 && !strings.HasPrefix(line, "  lockpick ") && !strings.HasPrefix(line, `Use "lockpick `) {
				t.Errorf("lockpick %s --help: %s", c.Name(), line)
			}
		}
	}
}
