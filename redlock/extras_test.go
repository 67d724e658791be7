package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// Who holds a lock can be looked at, asked for, and ended by force.
func TestInspectIsHeldForceUnlock(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithPrefix("app:"))
	health, err := l.Connect(t.Context())
	if err != nil || len(health) != 3 || health[0].RoundTrip <= 0 {
		t.Error(health, err)
	}
	lease, err := l.Lock(t.Context(), "k")
	must(t, err)
	waittest.Until(t, "all masters store it", func() bool { return stores(t, c, "app:k", lease.Token()) == 3 })
	holder, keys, err := l.Inspect(t.Context(), "k")
	if err != nil || holder != lease.Token() || keys[2].Remaining < 50*time.Second {
		t.Error(holder, keys, err)
	}
	if held, err := lease.IsHeld(t.Context()); !held || err != nil || lease.Remaining() < 50*time.Second {
		t.Error(held, err, lease.Remaining())
	}
	must(t, l.ForceUnlock(t.Context(), "k"))
	waittest.Until(t, "no master stores it", func() bool { return stores(t, c, "app:k", "") == 0 })
	if held, err := lease.IsHeld(t.Context()); held || err != nil {
		t.Error(held, err)
	}
	if err := lease.Unlock(t.Context()); !errors.Is(err, redlock.ErrNotHeld) {
		t.Error(err)
	}
}

// All keys or none, whatever their order.
func TestLockAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		a, b := open(t, m, redlock.WithTTL(10*time.Second)), open(t, m)
		all, err := a.LockAll(t.Context(), []string{"y", "x", "y"})
		if err != nil || len(all) != 2 || all[0].Key() != "x" {
			t.Fatal(all, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.LockAll(ctx, []string{"a", "x"}); !errors.Is(err, redlock.ErrTaken) {
			t.Error(err)
		}
		if all, err = all.Extend(t.Context()); err != nil || time.Until(all.Until()) < 9*time.Second {
			t.Error(err)
		}
		if err := all.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		settle()
		if !m.empty("a") || !m.empty("x") {
			t.Error("one of the keys is left locked")
		}
	})
}

// The error of a Lock that may not try any more says so, and why it failed.
func TestMaxAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		m.fate = func(int, protocol.Command) fate { return no }
		_, err := open(t, m, redlock.WithMaxAttempts(3)).Lock(t.Context(), "k")
		var failure *redlock.Error
		if !errors.Is(err, redlock.ErrRetryLimit) || !errors.Is(err, redlock.ErrTaken) || !errors.As(err, &failure) || failure.Attempts != 3 {
			t.Error(err)
		}
	})
}

// A lease that is extended survives that its masters forget it one after the other.
func TestVoteRecovery(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithVoteRecovery())
	lease, err := l.Lock(t.Context(), "k")
	must(t, err)
	for i := range c.Masters() {
		waittest.Until(t, "all masters store it", func() bool { return stores(t, c, "k", lease.Token()) == 3 })
		look(t, c, i, func(r *redis.Client) { must(t, r.FlushAll(t.Context()).Err()) })
		lease, err = lease.Extend(t.Context())
		must(t, err)
	}
	waittest.Until(t, "all masters store it", func() bool { return stores(t, c, "k", lease.Token()) == 3 })
	must(t, lease.Unlock(t.Context()))
	waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
}

// An error names the operation that failed, also if its context had ended before.
func TestErrorNamesTheOperation(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := open(t, newFakeMasters(3))
	for op, call := range map[string]func() error{
		"lock":         func() error { _, err := c.Lock(ended, "k"); return err },
		"force unlock": func() error { return c.ForceUnlock(ended, "k") },
	} {
		var e *redlock.Error
		if err := call(); !errors.As(err, &e) || e.Op != op || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// No leases guarantee nothing, and their time has passed.
func TestUntilOfNoLeases(t *testing.T) {
	if until := (redlock.Leases{}).Until(); !until.IsZero() {
		t.Error(until)
	}
}

// keeper is a hook of go-redis that keeps the commands of all pipelines, and what they were.
type keeper struct {
	redis.Hook
	mu   sync.Mutex
	cmds []redis.Cmder
	were []string
}

func (k *keeper) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (k *keeper) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (k *keeper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, c := range cmds {
			k.cmds = append(k.cmds, c)
			k.were = append(k.were, c.String())
		}
		return err
	}
}

// The lock reuses memory, but a hook of go-redis may keep the commands that it was given.
func TestGoRedisHooksMayKeepCommands(t *testing.T) {
	s := newServer(t)
	client := redis.NewClient(&redis.Options{Addr: s.ln.Addr().String()})
	defer client.Close()
	k := &keeper{}
	client.AddHook(k)
	l, err := redlock.New([]*redis.Client{client}, redlock.WithTimeout(hang))
	must(t, err)
	defer l.Close()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 50 {
				lease, err := l.TryLock(t.Context(), fmt.Sprint("k", g))
				if err == nil {
					err = lease.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.cmds) < 400 {
		t.Fatalf("the hook saw %d commands of at least 400", len(k.cmds))
	}
	for i, c := range k.cmds {
		if now := c.String(); now != k.were[i] {
			t.Fatalf("command %d was %q and became %q", i, k.were[i], now)
		}
	}
}
