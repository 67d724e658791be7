package cli

import (
	"os/exec"
	"strings"
	"testing"

	"lockpick/clients"
)

func needsRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
}

// keepToTheProtocol checks packaged clients on real masters. Those that cannot be started here are skipped.
func keepToTheProtocol(t *testing.T, packaged []clients.Client) {
	t.Helper()
	needsRedis(t)
	for _, c := range packaged {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Store != "" {
				t.Skip("the scripted exchanges need masters of Redis, and this is a client of another store: " + c.Store)
			}
			if _, err := c.Command(); err != nil {
				t.Skip(err)
			}
			out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", c.Name)
			if code != 0 || strings.Count(out, "ok  ") < 9 {
				t.Errorf("exit code %d\n%s%s", code, out, stderr)
			}
		})
	}
}

// TestOneClientOfEachLanguageKeepsToTheProtocol: all of them are tried with the tag real, and those in Go, whose
// libraries take minutes to build, only there.
func TestOneClientOfEachLanguageKeepsToTheProtocol(t *testing.T) {
	languages := map[string]bool{"Go": true}
	var one []clients.Client
	for _, c := range clients.All {
		if !languages[c.Language] {
			languages[c.Language] = true
			one = append(one, c)
		}
	}
	keepToTheProtocol(t, one)
}

// TestClientCheckNamesLineFieldAndWant: of clients that break the protocol or are no locks.
func TestClientCheckNamesLineFieldAndWant(t *testing.T) {
	needsRedis(t)
	// The beginning of a client that says that it can be shared.
	const shares = `while read -r l; do case $l in *'"init"'*) echo '{"type":"ok","can":["shared"]}';; *'"exit"'*) exit;; `
	for _, c := range []struct{ name, script, want string }{
		{"it grants to everybody", `while read -r l; do case $l in *'"exit"'*) exit;; *) echo '{"type":"ok"}';; esac; done`,
			`line 2 of what c2 said, its answer to acquire: type is "ok", want "fail" or "info"`},
		{"no such type", `read -r l; echo '{"type":"ok"}'; while read -r l; do echo '{"type":"yes"}'; done`, `the type "yes" is unknown`},
		{"half a lease", `read -r l; echo '{"type":"ok"}'; while read -r l; do echo '{"type":"ok","left":5}'; done`, "left, at is 5, 0, want both or neither"},
		{"it dies", `read -r l; echo no licence >&2; exit 3`, "no licence"},
		{"no numbers", shares + `*) echo '{"type":"ok"}';; esac; done`, `its answer to acquire: id is 0, want that of a request without an answer`},
		{"no token", shares + `*'"id":1'*) echo '{"type":"ok","id":1}';; *) echo '{"type":"fail"}';; esac; done`, `its answer to acquire: token is "", want the token that is stored`},
		{"one request after the other", shares + `*'"id":1'*) echo '{"type":"ok","id":1,"token":"a"}';; *'"id":2'*) echo '{"type":"fail","id":2,"error":"taken"}';; *'"id":3'*) echo '{"type":"ok","id":3}';; *) echo '{"type":"fail"}';; esac; done`,
			`the requests of threads are to be carried out at the same time: line 3 of what c1 said, its answer to acquire: type is "fail" (taken), want "ok"`},
		{"it does not exit", `trap '' TERM; while read -r l; do case $l in *'"exit"'*) exec sleep 60;; *) echo '{"type":"fail"}';; esac; done`, "init: type is fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", "--", "sh", "-c", c.script)
			if code != exitViolated || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %q in\n%s%s", code, c.want, out, stderr)
			}
		})
	}
}
