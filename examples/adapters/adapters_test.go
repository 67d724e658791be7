package adapters

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockpick/examples/adapters/goredis"
	"lockpick/locktest"
)

// adapter is a lock of another library, and how it is tested. What keeps its connections or its timers
// in global pools cannot live in a bubble: it is tested on real masters.
type adapter struct {
	make    func(locktest.Env) (locktest.Lock, error)
	masters int
	real    bool
}

var adapters = map[string]adapter{
	"redsync":     {goredis.Redsync, 3, false},
	"redislock":   {goredis.Redislock, 1, false},
	"rueidislock": {Rueidislock, 1, true},
	"go-zero":     {GoZero, 1, true},
}

// TestAdapter explores one adapter: TestEachAdapter runs it in a program of its own.
func TestAdapter(t *testing.T) {
	a, ok := adapters[os.Getenv("ADAPTER")]
	if !ok {
		t.Skip("run by TestEachAdapter, with the name of an adapter in ADAPTER")
	}
	options := []locktest.Option{
		locktest.Masters(a.masters), locktest.Persistence(os.Getenv("PERSISTENCE")), locktest.Faults("kill"), locktest.Schedules(300),
	}
	if a.real {
		enough := 20 * time.Second
		if os.Getenv("PERSISTENCE") == "none" {
			// It ends at the first violation, within seconds: rueidislock notices a restart after
			// some milliseconds itself, so not each schedule shows one, and on a busy machine few.
			enough = 5 * time.Minute
		}
		options = append(options, locktest.RealRedis(), locktest.For(enough))
	}
	locktest.Explore(t, a.make, options...)
}

// TestEachAdapter: a lock is convicted over masters that forget what they have granted when they
// restart, and not over masters that remember.
func TestEachAdapter(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range adapters {
		for _, persistence := range []string{"none", "always"} {
			t.Run(name+"/"+persistence, func(t *testing.T) {
				if adapters[name].real { // it mostly waits
					t.Parallel()
				}
				dir := t.TempDir()
				cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAdapter$", "-test.v", "-test.timeout=10m")
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "ADAPTER="+name, "PERSISTENCE="+persistence, "TMPDIR="+dir)
				b, err := cmd.CombinedOutput()
				out := string(b)
				if strings.Contains(out, "SKIP") {
					t.Skipf("it was skipped:\n%s", out)
				}
				violated := strings.Contains(out, "L2 mutual-exclusion is violated")
				if violated != (persistence == "none") {
					t.Errorf("violated: %v (%v)\n%s", violated, err, out)
				}
				if !violated && err != nil && !strings.Contains(out, "inconclusive") {
					t.Errorf("%v\n%s", err, out)
				}
				t.Log(out)
			})
		}
	}
}
