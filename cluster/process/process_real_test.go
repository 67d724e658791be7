//go:build real

package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/waittest"
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
		waittest.Until(t, "its masters are gone", func() bool {
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
	waittest.Until(t, "it is down", func() bool { return g.masters[0].State() == cluster.Down })
	if g.masters[1].State() != cluster.Up {
		t.Error("the other one is down too")
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

// harness is a running copy of the test binary that has masters of its own.
type harness struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	root      string
	passwords []string
	addrs     []string
}

func startHarness(t *testing.T, driver string) *harness {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), harnessEnv+"="+driver)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &harness{cmd: cmd, stdin: stdin}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	f := strings.Fields(line)
	if err != nil || len(f) != 4 {
		t.Fatalf("the harness said %q, %v", line, err)
	}
	h.root, h.passwords, h.addrs = f[0], strings.Split(f[1], ","), f[2:]
	return h
}

// kill ends the harness as no program can prepare for.
func (h *harness) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.cmd.Wait()
}
