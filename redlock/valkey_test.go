package redlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// TestOnValkey repeats the tests on real masters with Valkey instead of Redis.
func TestOnValkey(t *testing.T) {
	server, err := exec.LookPath("valkey-server")
	if err != nil {
		t.Skip("skipped, because there is no valkey-server (Debian: bookworm-backports, trixie): ", err)
	}
	bin := t.TempDir()
	must(t, os.Symlink(server, filepath.Join(bin, "redis-server")))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))

	t.Run("IsValkey", func(t *testing.T) {
		c := masters(t, 1, cluster.None)
		client := redis.NewClient(&redis.Options{Addr: link(t, c, "c", 0).Addr()})
		defer client.Close()
		info, err := client.Info(t.Context(), "server").Result()
		must(t, err)
		if !strings.Contains(info, "server_name:valkey") {
			t.Fatalf("the master is not Valkey: %s", info)
		}
	})
	for name, test := range map[string]func(*testing.T){
		"Contention":               TestContention,
		"PausedMinority":           TestPausedMinority,
		"KilledMinorityComesBack":  TestKilledMinorityComesBack,
		"KilledMajority":           TestKilledMajority,
		"LostReplies":              TestLostReplies,
		"OwedReleases":             TestOwedReleases,
		"ReleaseIsSigned":          TestReleaseIsSigned,
		"UnlockWithEndedContext":   TestUnlockWithEndedContext,
		"WaitForReplicas":          TestWaitForReplicas,
		"WakeupsBetweenProcesses":  TestWakeupsBetweenProcesses,
		"InspectIsHeldForceUnlock": TestInspectIsHeldForceUnlock,
	} {
		t.Run(name, test)
	}
}
