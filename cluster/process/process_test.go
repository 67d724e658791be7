package process

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
)

// On Linux the servers die with the harness, without any sweep.
func TestServersDieWithTheirHarness(t *testing.T) {
	needs(t, "process")
	if !hasProc() {
		t.Skip("only Linux ends a process together with its parent")
	}
	h := startHarness(t, "process")
	h.kill(t)
	for _, addr := range h.addrs {
		eventually(t, "its masters are gone", func() bool {
			_, err := net.Dial("tcp", addr)
			return err != nil
		})
	}
	if _, err := Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSweepKillsTheServerThatWasNotedAndNoOther(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 2})
	file := g.masters[0].now().engine.(*process).Home + pidSuffix
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id, err := ParseIdentity(string(b))
	if err != nil {
		t.Fatal(err)
	}
	other := identity{id.Pid, id.start + "0"} // the id was given to another process since
	if err := os.WriteFile(file, []byte(other.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if killed, err := endNoted(file); killed != "" || err != nil || g.masters[0].State() != cluster.Up {
		t.Fatalf("killed %q, %v, state %s", killed, err, g.masters[0].State())
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if killed, err := endNoted(file); killed == "" || err != nil {
		t.Fatalf("killed %q, %v", killed, err)
	}
	eventually(t, "it is down", func() bool { return g.masters[0].State() == cluster.Down })
	if g.masters[1].State() != cluster.Up {
		t.Error("the other one is down too")
	}
}

func TestAHostWithoutRedisIsToldWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if ok, why := Available(t.Context()); ok || !strings.Contains(why, "apt-get install redis-server") {
		t.Errorf("%v, %s", ok, why)
	}
	if _, err := Start(t.Context(), cluster.Config{}); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error: %v", err)
	}
}

func TestIdentityTellsProcessesApart(t *testing.T) {
	me := Self()
	if again, err := ParseIdentity(me.String()); err != nil || again != me || !me.Alive() {
		t.Fatalf("%v, %v, alive %v", again, err, me.Alive())
	}
	if (identity{me.Pid, me.start + "1"}).Alive() {
		t.Error("a process of that id that started at another time lives")
	}
	for _, s := range []string{"", "1", "x@1", "0@1", "1@", "-3@7"} {
		if id, err := ParseIdentity(s); err == nil {
			t.Errorf("%q is taken for %v", s, id)
		}
	}
	st, err := parsePS("Ss   Fri Nov 20 09:01:00 2026\n")
	if err != nil || st.state != "S" || len(st.start) != 10 {
		t.Errorf("ps: %+v, %v", st, err)
	}
}

func TestPortsLieOutsideTheRangeOfOutgoingConnections(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi, ok := outgoingPorts()
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] {
			t.Errorf("port %d twice", p)
		}
		seen[p] = true
		if ok && p >= lo && p <= hi {
			t.Errorf("port %d lies between %d and %d", p, lo, hi)
		}
	}
}

func TestWaitingForATurnCanBeCalledOff(t *testing.T) {
	needs(t, "process")
	_, m, _ := one(t, "process", cluster.None)
	_, leave, err := m.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := m.Kill(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error: %v", err)
	}
	leave()
	if m.State() != cluster.Up {
		t.Error("it was killed all the same")
	}
}
