package docker

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
)

// hangingEngine stands between this program and the engine, and can stop to answer.
type hangingEngine struct {
	mu    sync.Mutex
	hangs chan struct{} // closed when it answers again; nil: it answers
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
	engine, ok := strings.CutPrefix(client.Endpoint(), "unix://")
	if !ok {
		t.Skipf("the engine at %s has no socket", client.Endpoint())
	}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var between hangingEngine
	go between.serve(ln, engine)
	before := os.Getenv("DOCKER_HOST")
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	masters, err := Start(inAMinute(t), cluster.Config{Masters: 2})
	if err != nil {
		t.Fatal(err)
	}
	goOn := between.hang()
	defer goOn()
	began := time.Now()
	if ok, why := Available(t.Context(), ""); ok {
		t.Errorf("an engine that hangs is available: %s", why)
	}
	if err := masters.Close(); err == nil || !strings.Contains(err.Error(), "docker rm -f") {
		t.Errorf("the masters were ended: %v", err)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
	goOn()
	t.Setenv("DOCKER_HOST", before)
	own, err := OwnContainers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range own {
		if err := removeContainer(t.Context(), client, strings.TrimPrefix(id, "/")); err != nil {
			t.Error(err)
		}
	}
	if own, err = OwnContainers(t.Context()); err != nil || len(own) > 0 {
		t.Errorf("left behind: %v, %v", own, err)
	}
}
