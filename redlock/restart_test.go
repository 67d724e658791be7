package redlock_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// Masters that restart forget their scripts: they are sent again, in every command
// that is one.
func TestRestartForgetsScripts(t *testing.T) {
	c := masters(t, 3, cluster.Always)
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithFencing())
	fence := int64(0)
	for range 2 {
		lease, err := l.TryLock(t.Context(), "k")
		must(t, err)
		if lease.Fence() <= fence {
			t.Errorf("fencing token %d after %d", lease.Fence(), fence)
		}
		fence = lease.Fence()
		for _, m := range c.Masters() {
			must(t, m.Shutdown(t.Context()))
			must(t, m.Start(t.Context()))
		}
		lease, err = lease.Extend(t.Context())
		must(t, err)
		for _, m := range c.Masters() {
			must(t, m.Kill(t.Context()))
			must(t, m.Start(t.Context()))
		}
		must(t, lease.Unlock(t.Context()))
		waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
	}
}

// Masters that restart without persistence forget the lock. An extension notices.
func TestRestartForgetsTheLock(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute))
	lease, err := l.TryLock(t.Context(), "k")
	must(t, err)
	waittest.Until(t, "all masters store the key", func() bool { return stores(t, c, "k", "") == 3 })
	for _, m := range c.Masters()[:2] {
		must(t, m.Kill(t.Context()))
		must(t, m.Start(t.Context()))
	}
	if _, err := lease.Extend(t.Context()); !errors.Is(err, redlock.ErrLost) {
		t.Error(err)
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, redlock.ErrLost) {
		t.Error(cause)
	}
	if n := stores(t, c, "k", ""); n > 1 {
		t.Errorf("the extension has created %d keys anew", n-1)
	}
	if err := lease.Unlock(t.Context()); !errors.Is(err, redlock.ErrNotHeld) {
		t.Error(err)
	}
	waittest.Until(t, "the key that was left is released", func() bool { return stores(t, c, "k", "") == 0 })
}

// An extension that comes after the release, by a script that the master does not know,
// finds nothing to extend, and that is the master's answer.
func TestLateExtensionByAnUnknownScript(t *testing.T) {
	c := masters(t, 1, cluster.None)
	client := redis.NewClient(&redis.Options{Addr: link(t, c, "c1", 0).Addr()})
	defer client.Close()
	m, err := redlock.NewMasters([]*redis.Client{client})
	must(t, err)
	defer m.(io.Closer).Close()
	talk := m.Begin(nil)
	script := protocol.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end return 0 -- nobody has loaded it`)
	for _, cmd := range []protocol.Command{
		{Purpose: redlock.Set, Key: "k", Token: "t", TTL: 60_000},
		{Purpose: redlock.Release, Key: "k", Token: "t", Args: []any{"del", "k"}},
		{Purpose: redlock.Extend, Key: "k", Token: "t", Script: script},
	} {
		for v := range talk.Ask(t.Context(), cmd, nil, 5*time.Second) {
			if v.Err != nil || v.Yes != (cmd.Purpose != redlock.Extend) {
				t.Errorf("%s: %v, %v", cmd.Purpose, v.Yes, v.Err)
			}
		}
	}
}
