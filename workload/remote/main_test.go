package remote

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockpick/workload"
)

// clientEnv makes the test binary a client process, and harnessEnv a harness that has
// one: tests kill it.
const (
	clientEnv  = "LOCKPICK_TEST_CLIENT"
	harnessEnv = "LOCKPICK_TEST_HARNESS"
)

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // of the clients: they would take a second to exit
	switch {
	case os.Getenv(clientEnv) != "":
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	case os.Getenv(harnessEnv) != "":
		os.Exit(beHarness(os.Getenv(harnessEnv)))
	}
	goleak.VerifyTestMain(m)
}

// beHarness starts a client process, tells its id, and waits for the end of stdin.
func beHarness(what string) int {
	os.Setenv(clientEnv, "yes")
	c, err := Start(Command{Args: []string{os.Args[0]}, Lock: "redlock"}, workload.Env{Client: "c1", Addrs: []string{nowhere}, TTL: time.Second})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	if strings.Contains(what, "stopped") {
		c.Stop()
	}
	fmt.Println(c.process.cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// nowhere is an address at which no master is.
const nowhere = "127.0.0.1:1"
