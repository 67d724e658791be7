package campaign

import (
	"fmt"
	"os"
	"testing"

	"lockpick/workload/remote"
)

// TestMain makes the test's program a client process where a campaign starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv("LOCKPICK_TEST_CLIENT") != "" {
		withWall()
		if err := remote.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
