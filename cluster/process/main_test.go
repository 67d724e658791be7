package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"lockpick/cluster"
)

// harnessEnv makes the test binary a harness of its own, which the tests of
// Sweep kill.
const harnessEnv = "LOCKPICK_TEST_HARNESS"

// portEnv makes it one that says whether it gets a port.
const portEnv = "LOCKPICK_TEST_PORT"

func TestMain(m *testing.M) {
	if port, err := strconv.Atoi(os.Getenv(portEnv)); err == nil {
		fmt.Println(reserve(port))
		return
	}
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
	fmt.Println(g.root, g.masters[0].now().Password+","+g.masters[1].now().Password, g.masters[0].now().addr, g.masters[1].now().addr)
	io.Copy(io.Discard, os.Stdin)
	return 0
}
