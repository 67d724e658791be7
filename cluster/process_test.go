package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
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
	g := start(t, "process", Config{Masters: 2})
	file := g.masters[0].now().engine.(*process).home + pidSuffix
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id, err := parseIdentity(string(b))
	if err != nil {
		t.Fatal(err)
	}
	other := identity{id.pid, id.start + "0"} // the id was given to another process since
	if err := os.WriteFile(file, []byte(other.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if killed, err := endNoted(file); killed != "" || err != nil || g.masters[0].State() != Up {
		t.Fatalf("killed %q, %v, state %s", killed, err, g.masters[0].State())
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if killed, err := endNoted(file); killed == "" || err != nil {
		t.Fatalf("killed %q, %v", killed, err)
	}
	eventually(t, "it is down", func() bool { return g.masters[0].State() == Down })
	if g.masters[1].State() != Up {
		t.Error("the other one is down too")
	}
}

func TestAHostWithoutRedisIsToldWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if ok, why := ProcessAvailable(t.Context()); ok || !strings.Contains(why, "apt-get install redis-server") {
		t.Errorf("%v, %s", ok, why)
	}
	if _, err := Process(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error: %v", err)
	}
	if _, err := imageFiles(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error: %v", err)
	}
}

func TestIdentityTellsProcessesApart(t *testing.T) {
	me := self()
	if again, err := parseIdentity(me.String()); err != nil || again != me || !me.alive() {
		t.Fatalf("%v, %v, alive %v", again, err, me.alive())
	}
	if (identity{me.pid, me.start + "1"}).alive() {
		t.Error("a process of that id that started at another time lives")
	}
	for _, s := range []string{"", "1", "x@1", "0@1", "1@", "-3@7"} {
		if id, err := parseIdentity(s); err == nil {
			t.Errorf("%q is taken for %v", s, id)
		}
	}
	st, err := parsePS("Ss   Fri Nov 20 09:01:00 2026\n")
	if err != nil || st.state != "S" || len(st.start) != 10 {
		t.Errorf("ps: %+v, %v", st, err)
	}
	root, err := newRoot("process")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	if id, ok := rootOwner("process", root[strings.LastIndex(root, "/")+1:]); !ok || id != me {
		t.Errorf("the root %s is of %v, %v", root, id, ok)
	}
	if _, ok := rootOwner("docker", root[strings.LastIndex(root, "/")+1:]); ok {
		t.Error("a root of the process driver is taken for one of docker")
	}
}

func TestLDDIsRead(t *testing.T) {
	got, err := parseLDD(`	linux-vdso.so.1 (0x00007ffc)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f12)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f12)
	/lib64/ld-linux-x86-64.so.2 (0x00007f1d)
`)
	want := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("glibc: %v, %v", got, err)
	}
	got, err = parseLDD("\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n")
	if err != nil || len(got) != 1 {
		t.Errorf("musl: %v, %v", got, err)
	}
	if _, err := parseLDD("\tlibx.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libx.so.1") {
		t.Errorf("a missing library: %v", err)
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
	_, m, _ := one(t, "process", None)
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
	if m.State() != Up {
		t.Error("it was killed all the same")
	}
}
