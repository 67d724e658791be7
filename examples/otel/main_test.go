package main

import (
	"context"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"lockpick/redlock"
)

// master is a redis-server that ends with the test.
func master(t *testing.T) *redis.Client {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server to lock on: ", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	t.Cleanup(func() {
		c.Close()
		server.Process.Kill()
		server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); c.Ping(t.Context()).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the redis-server does not answer")
		}
	}
	return c
}

// Each Lock is a span with its attempts, and the hold one with its extensions and its end.
func TestSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	defer provider.Shutdown(context.Background())
	locks, err := New([]*redis.Client{master(t)}, provider)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	lease, err := locks.Lock(t.Context(), "invoice-17")
	if err != nil {
		t.Fatal(err)
	}
	if lease, err = lease.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lease.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, s := range spans.Ended() {
		events := []string{}
		for _, e := range s.Events() {
			events = append(events, e.Name)
		}
		got[s.Name()] = events
	}
	for name, want := range map[string][]string{"redlock.Lock": {"attempt"}, "redlock.hold": {"extension"}} {
		if events, ok := got[name]; !ok || !slices.Equal(events, want) {
			t.Errorf("span %s has the events %v, want %v (all spans: %v)", name, events, want, got)
		}
	}
}

// The spans of redisotel appear for the lock's commands, because they go through the
// user's client.
func TestRedisSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	defer provider.Shutdown(context.Background())
	client := master(t)
	if err := redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(provider), redisotel.WithDBStatement(true)); err != nil {
		t.Fatal(err)
	}
	locks, err := redlock.New([]*redis.Client{client})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	lease, err := locks.Lock(t.Context(), "invoice-17")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	var statements strings.Builder
	for _, s := range spans.Ended() {
		for _, a := range s.Attributes() {
			statements.WriteString(a.Value.Emit() + "\n")
		}
	}
	for _, want := range []string{"set invoice-17", "EVALSHA"} {
		if !strings.Contains(statements.String(), want) {
			t.Errorf("no span says %q: %s", want, statements.String())
		}
	}
}
