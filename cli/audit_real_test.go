//go:build real

package cli

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestAuditOfAClient audits a lock behind a command, on redis-server processes.
func TestAuditOfAClient(t *testing.T) {
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
