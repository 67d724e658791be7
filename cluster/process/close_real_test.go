//go:build real

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

func TestCloseLeavesLogsAndNothingElse(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		logs := filepath.Join(t.TempDir(), "2026-01-02T03:04:05", "masters") // colons and all
		g := start(t, driver, cluster.Config{Masters: 3, LogDir: logs})
		if g.Driver() != driver || g.Version() == "" || len(g.Masters()) != 3 {
			t.Fatalf("%s, Redis %s, %d masters", g.Driver(), g.Version(), len(g.Masters()))
		}
		l, err := g.Link("c1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Link("c1", 3); err == nil {
			t.Error("there is no master 3")
		}
		must(t, g.masters[0].Kill, g.masters[0].Start, g.masters[1].Pause, g.masters[2].Kill)
		for range 2 {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(g.root); !os.IsNotExist(err) {
			t.Errorf("the data is still there: %v", err)
		}
		for _, m := range g.masters {
			if _, err := net.Dial("tcp", m.now().addr); err == nil {
				t.Errorf("%s still listens", m.name)
			}
			if err := m.Start(t.Context()); !errors.Is(err, cluster.ErrClosed) {
				t.Errorf("start after close: %v", err)
			}
		}
		if _, err := net.Dial("tcp", l.Addr()); err == nil {
			t.Error("the link still listens")
		}
		if _, err := g.Link("c2", 0); !errors.Is(err, cluster.ErrClosed) {
			t.Errorf("link after close: %v", err)
		}
		log, err := os.ReadFile(filepath.Join(logs, "m1.log"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), "Ready to accept connections"); n != 2 {
			t.Errorf("the log tells of %d starts; want 2:\n%s", n, log)
		}
		for _, mark := range []string{"start 1 of m1", "kill m1", "start 2 of m1"} {
			if !strings.Contains(string(log), mark) {
				t.Errorf("the log has no mark %q", mark)
			}
		}
	})
}

func TestCloseEndsAStartUnderWay(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
			g, m, _ := one(t, driver, cluster.None)
			must(t, m.Kill)
			started := make(chan error, 1)
			go func() { started <- m.Start(context.Background()) }()
			time.Sleep(after)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-started; err != nil && !errors.Is(err, cluster.ErrClosed) {
				t.Errorf("the start that was ended says: %v", err)
			}
			if _, err := net.Dial("tcp", m.now().addr); err == nil {
				t.Error("it still listens")
			}
		}
	})
}

func TestAClusterThatIsCalledOffLeavesNothing(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		before := leftovers(t)
		for _, after := range []time.Duration{0, 5 * time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			c, err := starter(driver)(ctx, cluster.Config{})
			cancel()
			if err == nil {
				c.Close()
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("called off after %v: %v", after, err)
			}
			if now := leftovers(t); now != before {
				t.Fatalf("called off after %v: left behind %s; before it was %s", after, now, before)
			}
		}
	})
}

// leftovers lists everything on this host that is this test process's.
func leftovers(t *testing.T) string {
	t.Helper()
	var all []string
	for _, driver := range []string{"process", "docker"} {
		folder, err := dataFolder()
		if err != nil {
			t.Fatal(err)
		}
		roots, _ := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%s-%d-*", driver, os.Getpid())))
		all = append(all, roots...)
	}
	own, err := DockerDriver.Own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(all, own...), " ")
}

// anotherBuild makes engines like those of a cluster.
func anotherBuild(t *testing.T, g *group) Build {
	t.Helper()
	if e, ok := g.masters[0].now().engine.(*process); ok {
		flags, _ := persistenceFlags(cluster.None)
		return processes(e.spawner, e.path, flags)
	}
	_, containers, err := DockerDriver.Containers(within(t, time.Minute), cluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return containers
}

func TestSweepRemovesWhatADeadHarnessLeftAndNothingElse(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // or another harness that starts meanwhile removes it first
	eachDriver(t, func(t *testing.T, driver string) {
		dead, living := startHarness(t, driver), startHarness(t, driver)
		dead.kill(t)
		sweep := Sweep
		if driver == "docker" {
			sweep = DockerDriver.Sweep
		}
		if listed, err := Leftovers(driver); err != nil || !slices.Contains(listed, dead.root) || slices.Contains(listed, living.root) {
			t.Errorf("of %s (dead) and %s (living) the leftovers are %v: %v", dead.root, living.root, listed, err)
		}
		removed, err := sweep(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(removed, "\n")
		if !strings.Contains(all, dead.root) || strings.Contains(all, living.root) {
			t.Errorf("of %s (dead) and %s (living) it removed\n%s", dead.root, living.root, all)
		}
		if _, err := os.Stat(dead.root); !os.IsNotExist(err) {
			t.Errorf("the dead one's data is there: %v", err)
		}
		for _, addr := range dead.addrs {
			waittest.Until(t, "the dead one's masters are gone", func() bool {
				_, err := net.Dial("tcp", addr)
				return err != nil
			})
		}
		for i, addr := range living.addrs {
			if _, err := probe(within(t, 5*time.Second), cluster.Dial, addr, living.passwords[i]); err != nil {
				t.Errorf("a living one's master: %v", err)
			}
		}
	})
}
