package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockpick/clients"
	"lockpick/internal/sampletest"
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
	in, ofStores := sampletest.Of(t, 4, 4), 0
	for _, c := range packaged {
		if c.Store != "" {
			if ofStores++; !in(ofStores) {
				continue
			}
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := c.Command(); err != nil {
				t.Skip(err)
			}
			args := []string{"client", "check", "--driver", "process", c.Name}
			if c.Store != "" { // it brings its servers
				args = []string{"client", "check", c.Name}
			}
			out, stderr, code := lockpick(t, t.TempDir(), args...)
			want, failed, enough := 0, unanswered(c), 9
			if failed != nil {
				want = exitViolated
			}
			if c.Store != "" {
				enough = 7 - len(failed)
			}
			var is []string
			for _, found := range regexp.MustCompile(`(?m)^FAILED +(.*)$`).FindAllStringSubmatch(out, -1) {
				is = append(is, found[1])
			}
			if code != want || !slices.Equal(is, failed) || strings.Count(out, "ok  ") < enough {
				t.Errorf("exit code %d, failed: %q, want %q\n%s%s", code, is, failed, out, stderr)
			}
		})
	}
}

// unanswered lists the checks that a client of another store fails because of its library: while no server answers, kazoo keeps
// its requests for the next connection, whatever time an acquire is given, and redis-py's RedisCluster asks one node after the other.
func unanswered(c clients.Client) []string {
	switch {
	case c.Store == "zookeeper":
		return []string{"a master that does not answer", "a master that is down"}
	case c.Name == "redis-py-cluster":
		return []string{"a master that does not answer"}
	}
	return nil
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

// TestClientCheckNeedsAService: a scenario says which servers of another store a client uses, and whose programs they are.
func TestClientCheckNeedsAService(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	etcd := filepath.Join(dir, "services", "etcd.yaml")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(dir, "restart-without-persistence.yaml")}, "describes no service"},
		{[]string{"missing.yaml"}, "missing.yaml"},
		{[]string{etcd}, "names a program that would run with your rights: lockpick-etcd timed"},
		{[]string{"--driver", "process", etcd, "--trust", "--", "true"}, "leave --driver out"},
		{[]string{"--driver", "process", "kazoo"}, "the servers are those of ZooKeeper: leave --driver out"},
		{[]string{"--driver", "sim", "--", "true"}, "clients that are processes need real masters"},
	} {
		if out, stderr, code := lockpick(t, t.TempDir(), append([]string{"client", "check"}, c.args...)...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, want %q in\n%s%s", c.args, code, c.want, out, stderr)
		}
	}
}

// TestClientCheckNamesLineFieldAndWant: of clients that break the protocol or are not locks.
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
