//go:build real

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
)

// TestWordsOfAClientCommandNoTerminal: what a client says of itself, and why it cannot start, reaches the terminal without
// control characters.
func TestWordsOfAClientCommandNoTerminal(t *testing.T) {
	if !slices.Contains(driversHere(t), scenario.Process) {
		t.Skip("needs redis-server")
	}
	for name, c := range map[string]struct {
		script, want string
		code         int
	}{
		"an error of init": {`read -r l; printf '{"type":"fail","error":"no \\u001b[31mred\\u001b]0;x\\u0007 library"}\n'; read -r l`, "no \uFFFD[31mred\uFFFD]0;x\uFFFD library", exitUsage},
		"its stderr":       {`printf 'no \033[31mlicence\r\n' >&2; exit 3`, "licence", exitUsage},
		"its library":      {`read -r l; printf '{"type":"ok","library":"\\u001b[31mred 1.0"}\n'; read -r l; printf '{"type":"fail","error":"\\u001b[2J"}\n'`, "\uFFFD[31mred 1.0", -1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			client := filepath.Join(dir, "client")
			if err := os.WriteFile(client, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := lockpick(t, dir, "run", "--driver", "process", "--masters", "1", "--clients", "1", "--faults", "none", "--time-limit", "1s", "--client", client)
			if c.code >= 0 && code != c.code {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("it does not say %q:\n%q", c.want, stdout+stderr)
			}
			if strings.ContainsAny(stdout+stderr, "\x1b\x07\r") {
				t.Errorf("a control character reached the terminal:\n%q", stdout+stderr)
			}
		})
	}
}
