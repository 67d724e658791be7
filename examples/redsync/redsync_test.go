package redsync_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/examples/redsync"
	"lockpick/redlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a Redsync as a program does that had the other one.
func open(t *testing.T, c cluster.Cluster, name string) *redsync.Redsync {
	t.Helper()
	var pools []redsync.Pool
	for i := range c.Masters() {
		l, err := c.Link(name, i)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: l.Addr()})
		t.Cleanup(func() { client.Close() })
		pools = append(pools, redsync.NewPool(client))
	}
	rs := redsync.New(pools...)
	t.Cleanup(func() {
		if err := rs.Close(); err != nil {
			t.Error(err)
		}
	})
	return rs
}

func masters(t *testing.T) cluster.Cluster {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	c, err := process.Start(t.Context(), cluster.Config{Masters: 3, Persistence: cluster.None})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// patient is for a machine that is busy.
var patient = redsync.WithTimeoutFactor(0.5)

func TestMutex(t *testing.T) {
	c := masters(t)
	a := open(t, c, "a").NewMutex("k", redsync.WithExpiry(4*time.Second), patient)
	b := open(t, c, "b").NewMutex("k", redsync.WithTries(3), redsync.WithRetryDelay(5*time.Millisecond), patient)
	if ok, err := a.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		t.Error(ok, err)
	}
	for range 2 { // again and again
		if err := a.LockContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Name() != "k" || len(a.Value()) != 40 || time.Until(a.Until()) > 4*time.Second {
			t.Error(a.Name(), a.Value(), a.Until())
		}
		if ok, err := a.Valid(); !ok || err != nil {
			t.Error(ok, err)
		}
		var taken *redsync.ErrTaken
		if err := b.TryLock(); !errors.As(err, &taken) || len(taken.Nodes) < 2 || !errors.Is(err, redsync.ErrFailed) {
			t.Error(err)
		}
		var failure *redlock.Error
		if err := b.Lock(); !errors.Is(err, redsync.ErrFailed) || !errors.As(err, &failure) || failure.Attempts != 3 {
			t.Error(err)
		}
		before := a.Until()
		if ok, err := a.ExtendContext(t.Context()); !ok || err != nil || !a.Until().After(before) {
			t.Error(ok, err)
		}
		if ok, err := a.UnlockContext(t.Context()); !ok || err != nil {
			t.Error(ok, err)
		}
		if ok, _ := a.Valid(); ok {
			t.Error("it is valid after it was released")
		}
		if ok, err := a.Extend(); ok || !errors.Is(err, redsync.ErrExtendFailed) {
			t.Error(ok, err)
		}
		if ok, err := a.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) {
			t.Error(ok, err)
		}
	}
	if err := b.Lock(); err != nil {
		t.Error(err)
	}
	if ok, err := b.Unlock(); !ok || err != nil {
		t.Error(ok, err)
	}
}

// Who waits in line gives up too, when the tries that it has would be over.
func TestTriesBoundTheLine(t *testing.T) {
	rs := open(t, masters(t), "a")
	if err := rs.NewMutex("k", patient).Lock(); err != nil {
		t.Fatal(err)
	}
	m := rs.NewMutex("k", redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond), redsync.WithTimeoutFactor(0.01))
	if err := m.Lock(); !errors.Is(err, redsync.ErrFailed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.LockContext(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A delay of one's own is asked for after each try but the last, and bounds the line.
func TestRetryDelayFunc(t *testing.T) {
	c := masters(t)
	a := open(t, c, "a").NewMutex("k", patient)
	if err := a.Lock(); err != nil {
		t.Fatal(err)
	}
	var asked []int
	delay := func(tries int) time.Duration {
		asked = append(asked, tries)
		return time.Millisecond
	}
	b := open(t, c, "b").NewMutex("k", redsync.WithTries(3), redsync.WithRetryDelay(time.Hour), redsync.WithRetryDelayFunc(delay), patient)
	if err := b.Lock(); !errors.Is(err, redsync.ErrFailed) {
		t.Fatal(err)
	}
	if want := []int{1, 3, 1, 2}; !slices.Equal(asked, want) { // 1 and 3 for the bound
		t.Errorf("asked after %v tries, want %v", asked, want)
	}
}

func TestNoMasters(t *testing.T) {
	rs := redsync.New()
	defer rs.Close()
	if err := rs.NewMutex("k").Lock(); err == nil {
		t.Error("locked on nothing")
	}
	if err := rs.NewMutex("k").TryLock(); err == nil {
		t.Error("locked on nothing")
	}
}
