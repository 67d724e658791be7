package abort

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// end is the variable of the environment that makes the test program end in one of these ways.
const end = "ABORT_TEST_END"

var ends = map[string]func(){
	"a panic": func() {
		go panic("out of cheese")
		select {}
	},
	"exhausted memory": func() {
		var all [][]byte
		for range 8 { // more than there are addresses
			all = append(all, make([]byte, 1<<46))
		}
		runtime.KeepAlive(all)
	},
}

func TestMain(m *testing.M) {
	if f := ends[os.Getenv(end)]; f != nil {
		ExitWith(70, "this is not a verdict")
		f()
	}
	os.Exit(m.Run())
}

// TestExitWith: the code is the caller's, and the sentence is the last line.
func TestExitWith(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("on this system the process ends with SIGABRT")
	}
	for name := range ends {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), end+"="+name)
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 70 {
				t.Errorf("%v, want exit code 70\n%s", err, out)
			}
			if !strings.HasSuffix(string(out), "\nthis is not a verdict\n") || !strings.Contains(string(out), "goroutine ") {
				t.Errorf("want the stacks and then the sentence:\n%s", out)
			}
		})
	}
}
