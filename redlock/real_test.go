package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// hang is the timeout of commands that a master answers, however busy the machine is.
const hang = time.Minute

// masters starts redis-server processes, which end with the test.
func masters(t *testing.T, n int, p cluster.Persistence) cluster.Cluster {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server: ", err)
	}
	c, err := process.Start(t.Context(), cluster.Config{Masters: n, Persistence: p, Admin: true})
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

// dial makes a lock client of its own links, so that a test can cut it off.
func dial(t *testing.T, c cluster.Cluster, name string, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	var clients []*redis.Client
	for i := range c.Masters() {
		client := redis.NewClient(&redis.Options{Addr: link(t, c, name, i).Addr(), DialerRetries: 1})
		t.Cleanup(func() { client.Close() })
		clients = append(clients, client)
	}
	opts = append([]redlock.Option{redlock.WithTimeout(hang)}, opts...)
	l, err := redlock.New(clients, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func link(t *testing.T, c cluster.Cluster, client string, master int) cluster.Link {
	t.Helper()
	l, err := c.Link(client, master)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stores is how many masters that can be asked store a token under the key.
func stores(t *testing.T, c cluster.Cluster, key, token string) int {
	t.Helper()
	n := 0
	for _, m := range c.Masters() {
		if l, err := m.Inspect(t.Context(), []string{key}); err == nil && l.Keys[key] != "" && (token == "" || l.Keys[key] == token) {
			n++
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ballot keeps the votes, late ones included.
type ballot struct {
	mu    sync.Mutex
	votes []redlock.Vote
}

func (b *ballot) vote(v redlock.Vote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.votes = append(b.votes, v)
}

// count is how many votes there are that count as f has it.
func (b *ballot) count(f func(redlock.Vote) bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, v := range b.votes {
		if f(v) {
			n++
		}
	}
	return n
}

func (b *ballot) yesses(l *redlock.Lease, k redlock.Purpose) int {
	return b.count(func(v redlock.Vote) bool { return v.Yes && v.Purpose == k && v.Token == l.Token() })
}

// deaf is how many releases got no answer.
func (b *ballot) deaf() int {
	return b.count(func(v redlock.Vote) bool { return v.Err != nil && v.Purpose == redlock.Release })
}

// One holder at a time, on any number of masters, with more fencing tokens than
// leases.
func TestContention(t *testing.T) {
	for _, n := range []int{1, 2, 4, 5} {
		t.Run(fmt.Sprintf("%d masters", n), func(t *testing.T) {
			c := masters(t, n, cluster.None)
			var inside, total, highest atomic.Int64
			var wg sync.WaitGroup
			for i := range 3 {
				l := dial(t, c, fmt.Sprintf("c%d", i+1), redlock.WithFencing(), redlock.WithTTL(time.Hour),
					redlock.WithRetryDelay(time.Millisecond, 10*time.Millisecond))
				for range 2 {
					wg.Go(func() {
						for range 3 {
							lease, err := l.Lock(t.Context(), "k")
							if err != nil {
								t.Error(err)
								return
							}
							if inside.Add(1) != 1 {
								t.Error("two holders at a time")
							}
							if f := lease.Fence(); f <= highest.Swap(f) {
								t.Error("the fencing token does not grow")
							}
							total.Add(1)
							inside.Add(-1)
							if err := lease.Unlock(t.Context()); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			wg.Wait()
			if total.Load() != 18 {
				t.Errorf("%d leases", total.Load())
			}
			waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
		})
	}
}

// A hung minority neither holds up the lock nor its release, and takes part again
// as soon as it goes on; no key is left on it.
func TestPausedMinority(t *testing.T) {
	c := masters(t, 5, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithTimeout(2*time.Second), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	warm(t, c, l, votes)
	others := &ballot{}
	patient := dial(t, c, "c2", redlock.WithTTL(time.Minute), redlock.WithTimeout(time.Hour), redlock.WithHooks(redlock.Hooks{Vote: others.vote}))
	warm(t, c, patient, others)
	before := votes.deaf()
	for _, m := range c.Masters()[:2] {
		must(t, m.Pause(t.Context()))
		t.Cleanup(func() { _ = m.Resume(context.Background()) }) // so that the patient one can be closed if the test fails
	}
	waittest.Returns("locking", func() { // it does not wait for those two: that would take an hour
		lease, err := patient.Lock(t.Context(), "k")
		must(t, err)
		must(t, lease.Unlock(t.Context()))
	})
	for range 5 {
		lease, err := l.Lock(t.Context(), "k")
		must(t, err)
		must(t, lease.Unlock(t.Context()))
	}
	waittest.Until(t, "no release got through", func() bool { return votes.deaf() >= before+2*5 })
	for _, m := range c.Masters()[:2] {
		must(t, m.Resume(t.Context()))
	}
	// What was written to them before they answered no more is released too: by
	// the TTL it would take a minute.
	waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
	warm(t, c, l, votes)
}

// unanimous locks and unlocks once, and says whether all masters voted for it.
func unanimous(t *testing.T, c cluster.Cluster, l *redlock.Client, votes *ballot) bool {
	t.Helper()
	lease, err := l.Lock(t.Context(), "k")
	must(t, err)
	n := len(c.Masters())
	all := func(k redlock.Purpose) func() bool {
		return func() bool {
			return votes.count(func(v redlock.Vote) bool { return v.Purpose == k && v.Token == lease.Token() }) == n
		}
	}
	waittest.Until(t, "all votes", all(redlock.Set))
	must(t, lease.Unlock(t.Context()))
	waittest.Until(t, "all releases", all(redlock.Release))
	return votes.yesses(lease, redlock.Set) == n && votes.yesses(lease, redlock.Release) == n
}

// warm has every master be connected.
func warm(t *testing.T, c cluster.Cluster, l *redlock.Client, votes *ballot) {
	t.Helper()
	waittest.Until(t, "all masters vote", func() bool { return unanimous(t, c, l, votes) })
}

// A dead minority does no harm, and a master that is back votes again, however many
// connections it has refused.
func TestKilledMinorityComesBack(t *testing.T) {
	c := masters(t, 3, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithTimeout(time.Hour), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	warm(t, c, l, votes)
	m := c.Masters()[0]
	must(t, m.Kill(t.Context()))
	waittest.Returns("locking", func() { // it does not wait for that one: that would take an hour
		for range 100 {
			lease, err := l.TryLock(t.Context(), "dead")
			must(t, err)
			must(t, lease.Unlock(t.Context()))
		}
	})
	must(t, m.Start(t.Context()))
	warm(t, c, l, votes)
}

// Without a majority there is no lock, and what one master granted is released. The
// lock goes on when a second one is back.
func TestKilledMajority(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1", redlock.WithTimeout(time.Second))
	for _, m := range c.Masters()[:2] {
		must(t, m.Kill(t.Context()))
	}
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrTaken) {
		t.Error(err)
	}
	waittest.Until(t, "the third has released", func() bool { return stores(t, c, "k", "") == 0 })
	type outcome struct {
		lease *redlock.Lease
		err   error
	}
	waiting := make(chan outcome)
	go func() {
		lease, err := l.Lock(t.Context(), "k")
		waiting <- outcome{lease, err}
	}()
	must(t, c.Masters()[0].Start(t.Context()))
	got := <-waiting
	must(t, got.err)
	must(t, got.lease.Unlock(t.Context()))
}

// Replies are lost: the client believes that it has nothing, and the caller is gone.
// The release follows once the master answers again, so no key is left.
func TestLostReplies(t *testing.T) {
	c := masters(t, 3, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithTimeout(200*time.Millisecond), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	warm(t, c, l, votes)
	before := votes.deaf()
	for i := range c.Masters() {
		link(t, c, "c1", i).Set(cluster.LinkFault{Replies: cluster.Drop})
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan bool)
	go func() {
		saw := false
		for ctx.Err() == nil && !saw {
			saw = stores(t, c, "k", "") == 3
		}
		cancel()
		seen <- saw
	}()
	_, err := l.TryLock(ctx, "k")
	if !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
	cancel()
	if !<-seen {
		t.Fatal("not all masters stored the key: this shows nothing")
	}
	waittest.Until(t, "the releases have failed", func() bool { return votes.deaf() >= before+3 })
	for i := range c.Masters() {
		link(t, c, "c1", i).Set(cluster.LinkFault{})
	}
	waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
}

// Everything is lost from the moment on that the masters have the key: the release is
// owed, and is the first thing that they get when the network is back.
func TestOwedReleases(t *testing.T) {
	c := masters(t, 3, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithTimeout(200*time.Millisecond), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	warm(t, c, l, votes)
	before := votes.deaf()
	lease, err := l.Lock(t.Context(), "k")
	must(t, err)
	waittest.Until(t, "all masters store the key", func() bool { return stores(t, c, "k", "") == 3 })
	for i := range c.Masters() {
		link(t, c, "c1", i).Set(cluster.LinkFault{Requests: cluster.Drop, Replies: cluster.Drop})
	}
	if err := lease.Unlock(t.Context()); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
	waittest.Until(t, "the releases have failed", func() bool { return votes.deaf() >= before+3 })
	if n := stores(t, c, "k", ""); n != 3 {
		t.Fatalf("%d masters store a key: this shows nothing", n)
	}
	for i := range c.Masters() {
		link(t, c, "c1", i).Set(cluster.LinkFault{})
	}
	waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
}

// A release never deletes what others hold.
func TestReleaseIsSigned(t *testing.T) {
	c := masters(t, 3, cluster.None)
	a, b := dial(t, c, "a"), dial(t, c, "b", redlock.WithTTL(time.Minute))
	late, err := a.TryLock(t.Context(), "k", redlock.WithTTL(500*time.Millisecond))
	must(t, err)
	waittest.Until(t, "it has lapsed everywhere", func() bool { return stores(t, c, "k", "") == 0 })
	lease, err := b.TryLock(t.Context(), "k")
	must(t, err)
	waittest.Until(t, "all masters store it", func() bool { return stores(t, c, "k", lease.Token()) == 3 })
	if err := late.Unlock(t.Context()); !errors.Is(err, redlock.ErrNotHeld) || !errors.Is(err, redlock.ErrExpired) {
		t.Error(err)
	}
	if _, err := a.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrTaken) {
		t.Error(err)
	}
	if _, err := late.Extend(t.Context()); err == nil {
		t.Error("extended what has lapsed")
	}
	if n := stores(t, c, "k", lease.Token()); n != 3 {
		t.Errorf("only %d masters still store it", n)
	}
	must(t, lease.Unlock(t.Context()))
}

// A small pool, retries, and timeouts of their own do the lock no harm.
func TestCallersOptions(t *testing.T) {
	c := masters(t, 1, cluster.None)
	client := redis.NewClient(&redis.Options{
		Addr: link(t, c, "c1", 0).Addr(), PoolSize: 1, MaxRetries: 10,
		ReadTimeout: time.Hour, WriteTimeout: time.Hour,
	})
	defer client.Close()
	l, err := redlock.New([]*redis.Client{client}, redlock.WithTimeout(100*time.Millisecond))
	must(t, err)
	defer l.Close()
	waittest.Until(t, "the master votes", func() bool {
		lease, err := l.TryLock(t.Context(), "k")
		return err == nil && lease.Unlock(t.Context()) == nil
	})
	must(t, c.Masters()[0].Pause(t.Context()))
	waittest.Returns("failing after the lock's own timeout", func() {
		for range 10 {
			if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrNoQuorum) {
				t.Error(err)
			}
		}
	})
	must(t, c.Masters()[0].Resume(t.Context()))
}

func TestNewChecksMasters(t *testing.T) {
	a := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	again := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer a.Close()
	defer again.Close()
	for name, clients := range map[string][]*redis.Client{
		"none":              nil,
		"nil":               {a, nil},
		"one client twice":  {a, a},
		"one address twice": {a, again},
	} {
		if _, err := redlock.New(clients); err == nil {
			t.Errorf("%s: New takes it", name)
		}
	}
}

// A caller whose context has ended does not wait, but the release is carried through
// like any other.
func TestUnlockWithEndedContext(t *testing.T) {
	c := masters(t, 3, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	lease, err := l.TryLock(t.Context(), "k")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lease.Unlock(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	waittest.Until(t, "all have released", func() bool { return votes.yesses(lease, redlock.Release) == 3 })
}

// TestWaitForReplicas: a master's yes counts only once its replicas have heard of it.
func TestWaitForReplicas(t *testing.T) {
	masters, err := process.Start(t.Context(), cluster.Config{Masters: 1, Replicas: 1, LogDir: t.TempDir()})
	if err != nil {
		t.Skipf("no masters with replicas: %v", err)
	}
	defer masters.Close()
	link, err := masters.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	dialled := redis.NewClient(&redis.Options{Addr: link.Addr()})
	defer dialled.Close()
	locks, err := redlock.New([]*redis.Client{dialled}, redlock.WithWait(1), redlock.WithTimeout(500*time.Millisecond), redlock.WithFencing())
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	lease, err := locks.Lock(t.Context(), "k") // a replica's first acknowledgement takes up to a second
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := masters.Masters()[0]
	if err := m.HoldReplication(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	_, err = locks.TryLock(t.Context(), "k")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "only 0 of 1 replicas confirmed it") {
		t.Errorf("with its replication held: %v", err)
	}
	if look, err := m.Inspect(t.Context(), []string{"k"}); err != nil || look.Keys["k"] != "" {
		t.Errorf("the failed attempt left %v, %v", look.Keys, err)
	}
}
