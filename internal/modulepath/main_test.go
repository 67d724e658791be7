package main

import (
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	named := mentions("lockpick", []string{"redlock", "cli", "cmd", "internal"})
	for text, want := range map[string]string{
		`import "lockpick/redlock"`:                       `import "x.org/y/redlock"`,
		`import "lockpick/redlock/protocol"`:              `import "x.org/y/redlock/protocol"`,
		`go list lockpick/...`:                            `go list x.org/y/...`,
		`strings.CutPrefix(p, "lockpick/")`:               `strings.CutPrefix(p, "x.org/y/")`,
		"`go doc lockpick/redlock`":                       "`go doc x.org/y/redlock`",
		`-ldflags=-X lockpick/cli.version=1`:              `-ldflags=-X x.org/y/cli.version=1`,
		`-require lockpick@v0.0.0 -replace lockpick=/p/l`: `-require x.org/y@v0.0.0 -replace x.org/y=/p/l`,
		`./cmd/lockpick`:                                  `./cmd/lockpick`,
		`lockpick run`:                                    `lockpick run`,
		`testdata/lockpick/*.yaml`:                        `testdata/lockpick/*.yaml`,
		`"lockpick-test-"`:                                `"lockpick-test-"`,
		`/path/to/lockpick/redlock`:                       `/path/to/lockpick/redlock`,
	} {
		if got := named.ReplaceAllString(text, "${1}x.org/y${2}"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestOnlyModulePathsAreTaken(t *testing.T) {
	for _, to := range []string{"", "Example.org/x", "/abs", "a b", "../up", "x/"} {
		if _, err := rename(t.TempDir(), to); err == nil || !strings.Contains(err.Error(), "not a module path") {
			t.Errorf("%q: %v", to, err)
		}
	}
}
