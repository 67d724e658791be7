package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// address is one that is free.
func address(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// The program locks and releases, and what it says at /metrics tells of it.
func TestMetrics(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server to lock on: ", err)
	}
	master, listen := address(t), address(t)
	_, port, _ := net.SplitHostPort(master)
	server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{master}, listen) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Process.Kill()
		server.Wait()
	}()
	want := []string{
		`redlock_votes_total{command="set",master="` + master + `",result="yes"}`,
		`redlock_votes_total{command="release",master="` + master + `",result="yes"}`,
		`redlock_attempts_total{result="acquired"}`,
		`redlock_ended_total{cause="released"}`,
	}
	said := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://" + listen + "/metrics")
		if err != nil {
			continue // it has not begun yet
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		said = string(body)
		missing := 0
		for _, w := range want {
			if !strings.Contains(said, w) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	t.Errorf("want %q in\n%s", want, said)
}
