//go:build real

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAuditOfAClient audits a lock behind a command, on redis-server processes.
func TestAuditOfAClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here: " + err.Error())
	}
	dir := t.TempDir()
	stdout, stderr, code := lockpick(t, dir, "audit", "--client", binary+" client", "--lock", "textbook", "--only", "overrun", "--most", "1", "--json")
	var got struct {
		Lock, Driver, Library string
		Client                []string
		Situations            []struct {
			Schedules int
			Cells     []struct{ Level, Outcome string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if got.Lock != "textbook" || got.Driver != "process" || len(got.Client) != 2 || got.Library == "" || len(got.Situations) != 1 || got.Situations[0].Schedules != 1 {
		t.Errorf("exit %d, %+v\n%s", code, got, stderr)
	}
	for _, s := range got.Situations {
		for _, c := range s.Cells {
			if c.Level == "L2" && c.Outcome != "safe" || c.Outcome == "broken" {
				t.Errorf("%s is %s\n%s", c.Level, c.Outcome, stdout)
			}
		}
	}
	for _, bad := range []string{"false", "no-such-command-anywhere"} {
		if _, stderr, code := lockpick(t, dir, "audit", "--client", bad); code != exitUsage || !strings.Contains(stderr, "--client: ") {
			t.Errorf("%s: exit %d\n%s", bad, code, stderr)
		}
	}
}

// TestAuditOfALockOnAnotherStore: on etcd, a client that counts the time is safe where it is cut off, and one that waits for
// Done is broken. L1 is not tested, and rows that need Redis say so. What the file names is not started without --trust.
func TestAuditOfALockOnAnotherStore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip(".ci/setup test installs what is missing: ", err)
	}
	client := filepath.Join(t.TempDir(), "lockpick-etcd")
	if out, err := exec.Command("go", "build", "-C", "../examples/services/etcd", "-o", client, ".").CombinedOutput(); err != nil {
		t.Skipf("the client in Go needs the modules of etcd: %v: %s", err, out)
	}
	scenario, err := os.ReadFile("../examples/services/etcd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "etcd.yaml"), scenario, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := lockpick(t, dir, "audit", "etcd.yaml", "--client", client+" timed", "--only", "client-apart", "--most", "1"); code != exitUsage || !strings.Contains(stderr, "Add --trust") {
		t.Errorf("without --trust: exit %d\n%s", code, stderr)
	}
	for mode, want := range map[string]string{"timed": "safe", "done": "broken"} {
		stdout, stderr, code := lockpick(t, dir, "audit", "etcd.yaml", "--trust", "--client", client+" "+mode, "--only", "client-apart,powercut-always,restart-forgets,minority-down", "--json")
		var got struct {
			Lock       string
			Versions   map[string]string
			Situations []struct {
				ID, Skipped string
				Untested    map[string]string
				Cells       []struct{ Level, Outcome string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		if got.Lock != "etcd" || got.Versions["etcd"] == "" || len(got.Situations) != 4 {
			t.Errorf("%s: exit %d, %+v\n%s", mode, code, got, stderr)
		}
		for _, s := range got.Situations {
			if (s.ID == "client-apart") != (s.Untested["quorum"] != "") {
				t.Errorf("%s: of L1 it says %q", s.ID, s.Untested)
			}
			if s.ID != "client-apart" {
				if s.Skipped == "" {
					t.Errorf("%s was tried on etcd", s.ID)
				}
				continue
			}
			for level, outcome := range map[string]string{"L1": "not applicable", "L2": want} {
				if !slices.ContainsFunc(s.Cells, func(c struct{ Level, Outcome string }) bool { return c.Level == level && c.Outcome == outcome }) {
					t.Errorf("%s: %s is not %s: %v\n%s", mode, level, outcome, s.Cells, stderr)
				}
			}
		}
	}
}
