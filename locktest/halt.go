package locktest

import (
	"net"
	"sync"

	"lockpick/history"
	"lockpick/redlock"
)

// halt stops one client at its connections, like SIGSTOP stops a process. While the nemesis holds the client
// at the quorum, each of its goroutines stops at its next read, write or dial, and Acquire does not return.
// Timers of the lock still fire, and their goroutines run up to the next such call.
type halt struct {
	decided func(redlock.Decision) // returns when the client may continue
	quorum  int

	mu      sync.Mutex
	key     string          // the key that the client is acquiring
	yes     map[string]bool // masters that granted the key in this call of Acquire
	passed  bool            // this call has reached the quorum
	stopped chan struct{}   // closed when the client continues; nil: it is not stopped
}

// acquiring begins a call of Acquire.
func (h *halt) acquiring(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key, h.yes, h.passed = key, map[string]bool{}, false
}

// vote counts a vote before the client reads it. The vote that completes the quorum stops the client, if the
// nemesis wants that.
func (h *halt) vote(op history.Op) {
	h.mu.Lock()
	switch v := op.Value; {
	case v.Command == history.CommandRelease:
		delete(h.yes, op.Process)
	case v.Command == history.CommandSet && v.Yes && h.key != "":
		h.yes[op.Process] = true
	}
	if h.passed || len(h.yes) < h.quorum {
		h.mu.Unlock()
		return
	}
	stopped := make(chan struct{})
	yes := len(h.yes)
	h.passed, h.stopped = true, stopped
	key := h.key
	h.mu.Unlock()
	h.decided(redlock.Decision{Kind: redlock.Set, Key: key, Yes: yes, Quorum: h.quorum})
	h.mu.Lock()
	h.stopped = nil
	h.mu.Unlock()
	close(stopped)
}

// pass waits while the client is stopped.
func (h *halt) pass() {
	h.mu.Lock()
	stopped := h.stopped
	h.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// conn is a connection of a client that halt can stop.
type conn struct {
	net.Conn
	halt *halt
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.halt.pass()
	return n, err
}

func (c conn) Write(b []byte) (int, error) {
	c.halt.pass()
	return c.Conn.Write(b)
}
