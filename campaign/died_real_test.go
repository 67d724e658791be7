//go:build real

package campaign

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
)

// mastersOf is the key of a channel, in the context of a run, that gets the run's masters.
type mastersOf struct{}

// capture has the masters of runs at hand, to do to them what the harness does not know of.
func capture(t *testing.T) {
	all := testDrivers.Real
	t.Cleanup(func() { testDrivers.Real = all })
	testDrivers.Real = slices.Clone(all)
	for i := range testDrivers.Real {
		lend := testDrivers.Real[i].Lend
		testDrivers.Real[i].Lend = func(ctx context.Context, s *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) error {
			return lend(ctx, s, cfg, func(c cluster.Cluster) error {
				if got, ok := ctx.Value(mastersOf{}).(chan cluster.Cluster); ok {
					got <- c
				}
				return use(c)
			})
		}
	}
}

// foreign is what kills a master from outside: by the process id that it tells, or in Docker
// by the engine.
type foreign struct {
	driver string
	addr   string
	pid    int
}

func foreignTo(t *testing.T, driver string, masters cluster.Cluster, i int) foreign {
	t.Helper()
	link, err := masters.Link("test", i)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: link.Addr()})
	defer c.Close()
	info := c.InfoMap(t.Context(), "server").Item("Server", "process_id")
	port := c.InfoMap(t.Context(), "server").Item("Server", "tcp_port")
	pid, err := strconv.Atoi(info)
	if err != nil {
		t.Fatalf("process id %q: %v", info, err)
	}
	return foreign{driver, "127.0.0.1:" + port, pid}
}

// container is the id of the container of a master of this test.
func container(t *testing.T, master string) string {
	out, err := exec.CommandContext(t.Context(), "docker", "ps", "-q", "--filter", fmt.Sprintf("name=lockpick-%d-[0-9]+-%s$", os.Getpid(), master)).Output()
	if err != nil {
		t.Skipf("no docker command to kill a container with: %v", err)
	}
	ids := strings.Fields(string(out))
	if len(ids) != 1 {
		t.Fatalf("the containers of %s are %q", master, ids)
	}
	return ids[0]
}

// killAll kills masters from outside. It returns false if the run was over before that. In Docker,
// where nobody else gets a container's port, again has the engine restart them.
func killAll(t *testing.T, driver string, all []foreign, names []string, again bool) bool {
	t.Helper()
	if driver != scenario.Docker {
		for _, f := range all {
			if err := syscall.Kill(f.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		return true
	}
	args := []string{"kill"}
	if again {
		args = []string{"restart", "--time", "0"}
	}
	for _, name := range names {
		args = append(args, container(t, name))
	}
	out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	if err != nil && strings.Contains(string(out), "is not running") {
		return false
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return true
}

// restart puts a server of the test's own in the place of a killed one.
func (f foreign) restart(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(f.addr, ":")
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// TestForeignDeathsAreRecorded: a master that somebody else ends is recorded as such within a
// second, whatever the nemesis does, and the run goes on to its end.
func TestForeignDeathsAreRecorded(t *testing.T) {
	capture(t)
	for _, c := range []struct {
		name   string
		stage  Stage
		faults []string
		kill   int
		again  bool // another server takes its place
	}{
		{"without faults", Working, nil, 1, false},
		{"beside faults", Working, []string{"pause"}, 1, false},
		{"replaced", Working, nil, 1, true},
		{"a majority after healing", FinalCheck, []string{"pause"}, 3, false},
	} {
		for _, driver := range driversToTry(t, "") {
			t.Run(c.name+"/"+driver, func(t *testing.T) {
				if driver != scenario.Docker { // whose containers are found by the names of their masters
					t.Parallel()
				}
				attempt := 1
			again: // a stage may be over before anything can be killed in it
				got := make(chan cluster.Cluster, 1)
				var once sync.Once
				var killed time.Time
				var names []string
				live := func(s Status) {
					if s.Stage != c.stage || s.Granted < 5 {
						return
					}
					once.Do(func() {
						masters := <-got
						var all []foreign
						for i := range c.kill {
							all = append(all, foreignTo(t, driver, masters, i))
						}
						for i := range all {
							names = append(names, fmt.Sprintf("m%d", i+1))
						}
						if killAll(t, driver, all, names, c.again) {
							killed = time.Now()
						}
						for _, f := range all {
							if c.again && driver != scenario.Docker {
								f.restart(t)
							}
						}
					})
				}
				_, h, r, err := Run(context.WithValue(t.Context(), mastersOf{}, got), shortScenario(driver, func(s *scenario.Scenario) {
					s.Faults, s.Nemesis, s.TimeLimit, s.Interval, s.Persistence = c.faults, scenario.Random, 4*time.Second, time.Second, "always"
					s.Hold, s.Keys, s.Clients = "0s..20ms", 40, 8
				}), Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Live: live})
				if err != nil {
					t.Fatal(err)
				}
				once.Do(func() {}) // wait until all are killed: the run may end before
				if killed.IsZero() && attempt < 5 {
					attempt++
					goto again
				}
				if killed.IsZero() {
					t.Fatalf("the stage %s was over in each of %d runs before anything could be killed", c.stage, attempt)
				}
				var died []string
				for _, op := range h.Ops {
					if op.F == history.FDied {
						died = append(died, op.Process)
						t.Logf("%s is recorded %v after it was killed", op.Process, h.Header.Started.Add(op.Time).Sub(killed))
					}
				}
				slices.Sort(died)
				if !slices.Equal(died, names) {
					t.Errorf("died: %v, killed: %v", died, names)
				}
				if r.CutShort != "" {
					t.Errorf("the run did not come to its end: %s", r.CutShort)
				}
				for _, name := range names {
					if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "master "+name+" died") }) {
						t.Errorf("the notes %q do not tell of %s", r.Notes, name)
					}
				}
			})
		}
	}
}

// TestFaultsAreNoForeignDeaths: what the nemesis ends did not die by itself.
func TestFaultsAreNoForeignDeaths(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		h, _ := mustRun(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.Faults, s.Nemesis, s.TimeLimit, s.Interval = []string{"kill", "shutdown", "pause", "failover", "full-disk"}, scenario.Random, 6*time.Second, 300*time.Millisecond
			s.Persistence = "always"
		}))
		for _, op := range h.Ops {
			if op.F == history.FDied {
				t.Errorf("%s is said to have died at %v: %s", op.Process, op.Time, op.Error)
			}
		}
	})
}
