package locktest

import (
	"net"
	"sync"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// halt stops one client at its connections, like SIGSTOP stops a process: at the quorum of an acquire, or after a reply in an
// extension or a release. While the nemesis holds the client there, each of its goroutines stops at its next read, write
// or dial, and the call does not return. Timers of the lock still fire, and their goroutines run up to the next such call.
type halt struct {
	decided func(redlock.Decision)       // returns when the client may continue
	point   func(point, key string) bool // returns when the client may continue; false: it has crashed there
	quorum  int

	mu      sync.Mutex
	key     string          // the key that the client is acquiring
	yes     map[string]bool // masters that granted the key in this call of Acquire
	passed  bool            // this call has reached the quorum
	stopped chan struct{}   // closed when the client continues; nil: it is not stopped

	calls   int    // how many extensions and releases are under way
	of      string // the key of the one that began last
	crashed bool   // the client has crashed in one
}

// changing begins an extension or a release of a key.
func (h *halt) changing(key string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	h.of = key
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls--
	}
}

// replied stops the client, if the nemesis wants that, right after it has read a reply in an extension or a release: it is not
// known whether another command would follow. The error is errCrashed if the client crashes there.
func (h *halt) replied() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls > 0 && !h.crashed && h.stopped == nil && h.point != nil {
		alive, key := true, h.of
		h.stop(func() { alive = h.point(workload.BetweenCommands, key) })
		h.crashed = !alive
	}
	if h.crashed {
		return errCrashed
	}
	return nil
}

// stop stops the client until wait returns. The caller holds mu, which wait does not.
func (h *halt) stop(wait func()) {
	stopped := make(chan struct{})
	h.stopped = stopped
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.stopped = nil
		close(stopped)
	}()
	wait()
}

// hasCrashed reports whether the client has crashed in an extension or a release.
func (h *halt) hasCrashed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.crashed
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
	defer h.mu.Unlock()
	switch v := op.Value; {
	case v.Command == history.CommandRelease:
		delete(h.yes, op.Process)
	case v.Command == history.CommandSet && v.Yes && h.key != "":
		h.yes[op.Process] = true
	}
	if h.passed || len(h.yes) < h.quorum {
		return
	}
	h.passed = true
	d := redlock.Decision{Purpose: redlock.Set, Key: h.key, Yes: len(h.yes), Quorum: h.quorum}
	h.stop(func() { h.decided(d) })
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
	if n > 0 {
		if crash := c.halt.replied(); crash != nil {
			return 0, crash
		}
	}
	return n, err
}

func (c conn) Write(b []byte) (int, error) {
	c.halt.pass()
	return c.Conn.Write(b)
}
