//go:build portable

package architecture

import (
	"testing"

	"lockpick/internal/typecheck"
)

// TestOtherSystems: the program compiles for Windows with all that it leaves out there, and the portable packages for a browser.
func TestOtherSystems(t *testing.T) {
	for _, c := range []struct {
		os, arch string
		packages []string
	}{{"windows", "amd64", []string{"lockpick/cmd/lockpick", "lockpick/locktest", "lockpick/redlock/..."}}, {"js", "wasm", portable}} {
		t.Run(c.os, func(t *testing.T) {
			typecheck.Packages(t, "", []string{"GOOS=" + c.os, "GOARCH=" + c.arch, "CGO_ENABLED=0"}, c.packages...)
		})
	}
}
