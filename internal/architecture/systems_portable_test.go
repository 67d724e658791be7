//go:build portable

package architecture

import (
	"os"
	"os/exec"
	"testing"
)

// TestOtherSystems: the program is built for Windows with all that it leaves out there, and the portable packages for a browser.
func TestOtherSystems(t *testing.T) {
	for _, c := range []struct {
		os, arch string
		packages []string
	}{{"windows", "amd64", []string{"lockpick/cmd/lockpick", "lockpick/locktest", "lockpick/redlock/..."}}, {"js", "wasm", portable}} {
		t.Run(c.os, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", append([]string{"build"}, c.packages...)...)
			cmd.Env = append(os.Environ(), "GOOS="+c.os, "GOARCH="+c.arch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
