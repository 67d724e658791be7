package locktest

import (
	"errors"
	"net"
	"testing"

	"lockpick/workload"
)

// TestReplyInACallOfALease: a client passes a point with each reply that it reads in an extension or a release, and with no other.
// It may stop or crash there. A crashed client cannot read any more.
func TestReplyInACallOfALease(t *testing.T) {
	var passed []string
	alive := true
	h := &halt{point: func(point, key string) bool {
		passed = append(passed, point+" "+key)
		return alive
	}}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := conn{ours, h}
	defer c.Close()
	reply := func() error {
		written := make(chan error)
		go func() {
			_, err := theirs.Write([]byte("+OK\r\n"))
			written <- err
		}()
		_, err := c.Read(make([]byte, 5))
		return errors.Join(err, <-written)
	}
	if err := reply(); err != nil || len(passed) > 0 {
		t.Errorf("outside of calls it passes %q: %v", passed, err)
	}
	done := h.changing("k0")
	if err := reply(); err != nil || len(passed) != 1 || passed[0] != workload.BetweenCommands+" k0" {
		t.Errorf("in an extension it passes %q: %v", passed, err)
	}
	alive = false
	for range 2 {
		if err := reply(); !errors.Is(err, errCrashed) || !h.hasCrashed() || len(passed) != 2 {
			t.Errorf("a client that crashed there has passed %q, and reads on: %v", passed, err)
		}
	}
	done()
}
