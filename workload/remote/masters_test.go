package remote

import (
	"os/exec"
	"testing"

	"lockpick/cluster"
	"lockpick/cluster/process"
)

// masters starts redis-server processes, which end with the test, and returns their
// addresses.
func masters(t *testing.T, n int) []string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	c, err := process.Start(t.Context(), cluster.Config{Masters: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	var addrs []string
	for i := range n {
		l, err := c.Link("c1", i)
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr())
	}
	return addrs
}
