package judge_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test's program one that checks a single file, where a test starts it as that.
func TestMain(m *testing.M) {
	if path := os.Getenv(checkEnv); path != "" {
		if err := checkAndTell(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
