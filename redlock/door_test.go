package redlock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// Each master's own error is found: here, that nobody listens.
func TestNobodyListens(t *testing.T) {
	var clients []*redis.Client
	for _, addr := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"} {
		client := redis.NewClient(&redis.Options{Addr: addr, DialerRetries: 1})
		defer client.Close()
		clients = append(clients, client)
	}
	l, err := redlock.New(clients)
	must(t, err)
	defer l.Close()
	waittest.Returns("failing with the context", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := l.Lock(ctx, "k")
		for _, want := range []error{redlock.ErrNoQuorum, syscall.ECONNREFUSED, context.DeadlineExceeded} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
	})
}

// A master that has refused many connections takes part again once it accepts them.
func TestRefusedDialsAreForgotten(t *testing.T) {
	c := masters(t, 1, cluster.None)
	d := newDoor(t, link(t, c, "c1", 0).Addr())
	client := redis.NewClient(&redis.Options{Addr: d.addr, PoolSize: 1, DialerRetries: 1})
	defer client.Close()
	l, err := redlock.New([]*redis.Client{client}, redlock.WithTimeout(time.Second))
	must(t, err)
	defer l.Close()
	for range 50 {
		if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
	}
	d.open()
	waittest.Until(t, "the master votes", func() bool {
		lease, err := l.TryLock(t.Context(), "k")
		return err == nil && lease.Unlock(t.Context()) == nil
	})
}

// door is an address where nobody listens until it is opened.
type door struct {
	t        *testing.T
	addr, to string
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, ln.Close())
	return &door{t, ln.Addr().String(), to}
}

func (d *door) open() {
	ln, err := net.Listen("tcp", d.addr)
	must(d.t, err)
	var wg sync.WaitGroup
	d.t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", d.to)
				if err != nil {
					return
				}
				wg.Go(func() {
					io.Copy(out, in)
					out.Close()
				})
				io.Copy(in, out)
			})
		}
	})
}

// Close waits for masters that hang no longer than the timeout.
func TestCloseWithHungMasters(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1", redlock.WithTimeout(100*time.Millisecond))
	for _, m := range c.Masters() {
		must(t, m.Pause(t.Context()))
	}
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
	waittest.Returns("closing", func() { must(t, l.Close()) })
}
