// Package redistest starts a redis-server for a test, or makes the certificate for one that speaks TLS.
package redistest

import (
	"net"
	"os/exec"
	"testing"

	"lockpick/internal/waittest"
)

// Start starts a redis-server that is killed at the end of the test, and returns its address. It skips the test if
// there is no redis-server.
func Start(t testing.TB, args ...string) string {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("there is no redis-server")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(server, append(args, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	waittest.Until(t, "redis-server answers", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return address
}
