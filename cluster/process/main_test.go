package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockpick/cluster"
)

// harnessEnv makes the test binary a harness of its own, which the tests of
// Sweep kill.
const harnessEnv = "LOCKPICK_TEST_HARNESS"

func TestMain(m *testing.M) {
	if driver := os.Getenv(harnessEnv); driver != "" {
		os.Exit(beHarness(driver))
	}
	goleak.VerifyTestMain(m)
}

// beHarness starts two masters, tells where they are, and waits for the end of stdin.
func beHarness(driver string) int {
	start := Start
	if driver == "docker" {
		start = DockerDriver.Start
	}
	c, err := start(context.Background(), cluster.Config{Masters: 2})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	defer c.Close()
	g := c.(*group)
	fmt.Println(g.root, g.password, g.masters[0].now().addr, g.masters[1].now().addr)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// harness is a running copy of the test binary that has masters of its own.
type harness struct {
	cmd            *exec.Cmd
	stdin          io.Closer
	root, password string
	addrs          []string
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
	h.root, h.password, h.addrs = f[0], f[1], f[2:]
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

// within is a context for what must not take long.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for something that nothing announces.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for began := time.Now(); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
