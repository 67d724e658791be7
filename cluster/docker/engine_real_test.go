//go:build real

package docker

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// hangingEngine stands between this program and the engine, and can stop to answer, or be gone.
type hangingEngine struct {
	mu    sync.Mutex
	hangs chan struct{} // closed when it answers again; nil: it answers
	gone  bool          // each connection is closed
	open  []net.Conn
}

// between is put in the way of a test.
func between(t *testing.T) *hangingEngine {
	t.Helper()
	engine, ok := strings.CutPrefix(engineFor(t).Endpoint(), "unix://")
	if !ok {
		t.Skipf("the engine at %s has no socket", engineFor(t).Endpoint())
	}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	h := &hangingEngine{}
	go h.serve(ln, engine)
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	return h
}

// leave ends all connections, and each new one until the engine is back.
func (h *hangingEngine) leave() (comeBack func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	for _, c := range h.open {
		c.Close()
	}
	h.open = nil
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gone = false
	})
}

// admits notes a connection, unless the engine is gone.
func (h *hangingEngine) admits(c net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.open = append(h.open, c)
	}
	return !h.gone
}

func (h *hangingEngine) hang() (goOn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hangs = make(chan struct{})
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(h.hangs)
		h.hangs = nil
	})
}

// wait returns when the engine answers.
func (h *hangingEngine) wait() {
	h.mu.Lock()
	hangs := h.hangs
	h.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
}

func (h *hangingEngine) serve(ln net.Listener, engine string) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			if !h.admits(client) {
				return
			}
			server, err := net.Dial("unix", engine)
			if err != nil {
				return
			}
			go func() {
				defer server.Close()
				_, _ = io.Copy(writer(func(b []byte) (int, error) { h.wait(); return server.Write(b) }), client)
			}()
			_, _ = io.Copy(writer(func(b []byte) (int, error) { h.wait(); return client.Write(b) }), server)
		}()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestAnEngineThatHangs: calls to it end with an error, and so does the end of the masters. What is
// left is removed when it answers again.
func TestAnEngineThatHangs(t *testing.T) {
	needDocker(t)
	client := engineFor(t)
	before := os.Getenv("DOCKER_HOST")
	engine := between(t)
	masters, err := Start(inAMinute(t), cluster.Config{Masters: 2})
	if err != nil {
		t.Fatal(err)
	}
	goOn := engine.hang()
	defer goOn()
	waittest.Returns("what asks an engine that hangs", func() {
		if ok, why := Available(t.Context(), ""); ok {
			t.Errorf("an engine that hangs is available: %s", why)
		}
		if err := masters.Close(); err == nil || !strings.Contains(err.Error(), "docker rm -f") {
			t.Errorf("the masters were ended: %v", err)
		}
	})
	goOn()
	t.Setenv("DOCKER_HOST", before)
	own, err := OwnContainers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range own {
		// The engine may still do what it was asked while it hung.
		if _, err := removeContainer(t.Context(), client, strings.TrimPrefix(id, "/")); err != nil {
			t.Error(err)
		}
	}
	if own, err = OwnContainers(t.Context()); err != nil || len(own) > 0 {
		t.Errorf("left behind: %v, %v", own, err)
	}
}

// TestAnEngineThatRestarts: masters whose engine is gone for a while and leaves its containers alone
// (live-restore) have not died. Faults fail until it is back, and work then.
func TestAnEngineThatRestarts(t *testing.T) {
	needDocker(t)
	engine := between(t)
	c, err := Start(inAMinute(t), cluster.Config{Masters: 1, Persistence: cluster.Always})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := c.Masters()[0]
	died := m.(cluster.Mortal).Died
	comeBack := engine.leave()
	defer comeBack()
	if err := m.Pause(inAMinute(t)); err == nil {
		t.Error("an engine that is gone has paused a master")
	}
	for began := time.Now(); time.Since(began) < time.Second; { // some ten tries to wait for its end
		found, err := m.Inspect(inAMinute(t), nil)
		if err != nil || found.RunID == "" || m.State() != cluster.Up || died() != "" {
			t.Fatalf("without its engine the master is %s, %+v, %v, %q", m.State(), found, err, died())
		}
	}
	comeBack()
	for _, call := range []func(context.Context) error{m.Pause, m.Resume, m.Kill, m.Start} {
		if err := call(inAMinute(t)); err != nil {
			t.Fatal(err)
		}
	}
	if m.State() != cluster.Up || died() != "" {
		t.Errorf("the master is %s, %q", m.State(), died())
	}
}

// TestAMasterThatEndsWithItsEngine: a fault that could not reach the engine has not ended the master that
// ends a moment later, as all do when an engine restarts that does not leave its containers alone.
func TestAMasterThatEndsWithItsEngine(t *testing.T) {
	needDocker(t)
	beside := engineFor(t)
	engine := between(t)
	for name, strike := range map[string]func(cluster.Master, context.Context) error{
		"kill": cluster.Master.Kill, "shut down": cluster.Master.Shutdown,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Start(inAMinute(t), cluster.Config{Masters: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			own, err := OwnContainers(t.Context())
			if err != nil || len(own) != 1 {
				t.Fatalf("%v, %v", own, err)
			}
			comeBack := engine.leave()
			defer comeBack()
			m := c.Masters()[0]
			if err := strike(m, inAMinute(t)); err == nil {
				t.Error("an engine that is gone has ended a master")
			}
			err = beside.KillContainer(docker.KillContainerOptions{ID: strings.TrimPrefix(own[0], "/"), Context: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			comeBack()
			for ctx := inAMinute(t); m.(cluster.Mortal).Died() == ""; time.Sleep(10 * time.Millisecond) {
				if ctx.Err() != nil {
					t.Fatalf("the master is %s, and has not died", m.State())
				}
			}
			if err := m.Start(inAMinute(t)); err != nil {
				t.Fatal(err)
			}
			if err := strike(m, inAMinute(t)); err != nil {
				t.Fatal(err)
			}
			if died := m.(cluster.Mortal).Died(); died != "" {
				t.Errorf("ended by a call: %s", died)
			}
		})
	}
}
