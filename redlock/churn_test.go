package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// look has a test talk to a master, on a link that nobody hurts.
func look(t *testing.T, c cluster.Cluster, master int, f func(*redis.Client)) {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: link(t, c, "look", master).Addr()})
	defer r.Close()
	f(r)
}

// keysLeft is how many keys all masters store.
func keysLeft(t *testing.T, c cluster.Cluster) int64 {
	t.Helper()
	var n int64
	for i := range c.Masters() {
		look(t, c, i, func(r *redis.Client) {
			k, err := r.DBSize(t.Context()).Result()
			must(t, err)
			n += k
		})
	}
	return n
}

// After Unlock no master keeps a key, however many locks come and go, and although both
// Lock and Unlock return as soon as a majority has answered, or sooner: some callers'
// contexts end at any moment.
func TestNoOrphans(t *testing.T) {
	pairs := 100_000
	if raced {
		pairs = 10_000
	}
	c := masters(t, 5, cluster.None)
	l := dial(t, c, "c1", redlock.WithTTL(time.Hour))
	var left atomic.Int64
	left.Store(int64(pairs))
	var cut atomic.Int64
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for left.Add(-1) >= 0 {
				ctx, cancel := context.WithCancel(t.Context())
				early := r.IntN(4) == 0
				if early {
					time.AfterFunc(time.Duration(r.IntN(400))*time.Microsecond, cancel)
				}
				lease, err := l.TryLock(ctx, fmt.Sprintf("k%d", g))
				if early && r.IntN(2) == 0 {
					cancel()
				}
				switch {
				case err == nil:
					err = lease.Unlock(ctx)
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				case ctx.Err() == nil:
					t.Error(err)
				}
				if err != nil {
					cut.Add(1)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if n := cut.Load(); n < int64(pairs/50) {
		t.Errorf("only %d of %d calls were cut short: this shows little", n, pairs)
	}
	waittest.Until(t, "no key is left", func() bool { return keysLeft(t, c) == 0 })
}

// Masters stop, die, and cannot be reached, and callers give up at any moment: no two
// hold the lock, goroutines do not add up, everybody goes on afterwards, and no key is
// left.
func TestChurn(t *testing.T) {
	// A busy machine may need more rounds, and gets them.
	churn(t, func(round int, leases int64) bool { return round < 12 || leases < enoughLeases && round < 1000 })
}

// faultFor is how long a fault lasts: longer than the timeout per master.
const faultFor = 120 * time.Millisecond

// maxClients is how many clients of the lock a test's process has at most.
const maxClients = 8

// enoughLeases is how many leases show that the lock goes on while masters fail.
const enoughLeases = 100

// churn has masters fail while more says so.
func churn(t *testing.T, more func(round int, leases int64) bool) cluster.Cluster {
	c := masters(t, 5, cluster.Always)
	for i := range 2 {
		dial(t, c, fmt.Sprintf("c%d", i), redlock.WithTTL(time.Minute)) // so that the links are there
	}
	var clients []*redlock.Client
	for i := range 2 {
		clients = append(clients, dial(t, c, fmt.Sprintf("c%d", i), churnOptions...))
	}
	churnOn(t, clients, func(r *rand.Rand) {
		i := r.IntN(5)
		m := c.Masters()[i]
		switch r.IntN(3) {
		case 0:
			must(t, m.Pause(t.Context()))
			time.Sleep(faultFor) // the fault
			must(t, m.Resume(t.Context()))
		case 1:
			must(t, m.Kill(t.Context()))
			time.Sleep(20 * time.Millisecond) // it is down
			must(t, m.Start(t.Context()))
		case 2:
			l := link(t, c, fmt.Sprintf("c%d", r.IntN(2)), i)
			l.Set([]cluster.LinkFault{
				{Requests: cluster.Hold, Replies: cluster.Hold}, {Replies: cluster.Drop}, {Requests: cluster.Drop, Replies: cluster.Drop},
			}[r.IntN(3)])
			time.Sleep(faultFor) // the fault
			l.Set(cluster.LinkFault{})
		}
	}, more)
	waittest.Until(t, "no key is left", func() bool { return keysLeft(t, c) == 0 })
	return c
}

var churnOptions = []redlock.Option{
	redlock.WithTTL(time.Minute), redlock.WithTimeout(50 * time.Millisecond),
	redlock.WithRetryDelay(time.Millisecond, 5*time.Millisecond), redlock.WithWakeups(),
}

// churnOn has callers take and leave locks while faults strike.
func churnOn(t *testing.T, clients []*redlock.Client, fault func(*rand.Rand), more func(round int, leases int64) bool) {
	t.Helper()
	var inside, total atomic.Int64
	var patience atomic.Int64 // of a caller at most; doubled while too few leases are granted
	patience.Store(int64(50 * time.Millisecond))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, l := range clients {
		for g := range 16 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(2, uint64(g)))
				for ctx.Err() == nil {
					key := "shared"
					if g > 4 {
						key = fmt.Sprintf("%p-%d", l, g)
					}
					try, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(patience.Load())))
					lease, err := l.Lock(try, key)
					if err == nil {
						if key == "shared" {
							if inside.Add(1) != 1 {
								t.Error("two holders at a time")
							}
							inside.Add(-1)
						}
						if r.IntN(3) == 0 {
							if _, err := lease.Extend(try); err != nil && !errors.Is(err, redlock.ErrNoQuorum) && try.Err() == nil {
								t.Error(err)
							}
						}
						lease.Unlock(try)
						total.Add(1)
					}
					cancel()
				}
			})
		}
	}
	most := 0
	r := rand.New(rand.NewPCG(3, 3))
	for round := 0; more(round, total.Load()); round++ {
		if round%12 == 11 && total.Load() < enoughLeases {
			patience.Store(min(2*patience.Load(), int64(time.Second)))
		}
		fault(r)
		most = max(most, lockGoroutines(t))
	}
	stop()
	wg.Wait()
	if total.Load() < enoughLeases {
		t.Errorf("%d leases: too few to show anything", total.Load())
	}
	// A master has at most 8 pipelines in flight, 2 that were abandoned, a prober, and 2
	// goroutines that listen.
	if bound := maxClients * 5 * 13; most == 0 || most > bound {
		t.Errorf("the lock has at most %d goroutines; 1 to %d are explained", most, bound)
	}
	for _, l := range clients {
		waittest.Until(t, "everybody goes on", func() bool {
			lease, err := l.TryLock(t.Context(), "after")
			return err == nil && lease.Unlock(t.Context()) == nil
		})
	}
	t.Logf("%d leases, at most %d goroutines", total.Load(), most)
}

// lockGoroutines counts the goroutines that the lock itself started.
func lockGoroutines(t *testing.T) (n int) {
	t.Helper()
	var stacks strings.Builder
	must(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
	for group := range strings.SplitSeq(stacks.String(), "\n\n") {
		lock := strings.Contains(group, "lockpick/redlock.(") || strings.Contains(group, "lockpick/redlock/internal/transport.")
		if lock && !strings.Contains(group, "lockpick/redlock_test.") {
			count, _, _ := strings.Cut(group, " @")
			lines := strings.Split(count, "\n")
			k, _ := strconv.Atoi(lines[len(lines)-1])
			n += k
		}
	}
	return n
}

// Once a master does not answer it is not asked again, until it is back. All votes are
// told, the quorum stays, and whoever asks for the lock does not notice.
func TestSuspectIsNotAsked(t *testing.T) {
	c := masters(t, 5, cluster.None)
	votes := &ballot{}
	l := dial(t, c, "c1", redlock.WithTTL(time.Minute), redlock.WithTimeout(100*time.Millisecond), redlock.WithHooks(redlock.Hooks{Vote: votes.vote}))
	warm(t, c, l, votes)
	m := c.Masters()[4]
	must(t, m.Pause(t.Context()))
	fails := func(v redlock.Vote) bool { return v.Master == 4 && v.Purpose == redlock.Set && v.Err != nil }
	asked := 0
	for began := votes.count(fails); votes.count(fails) == began; asked++ {
		pair(t, l)
	}
	var wg sync.WaitGroup
	told := votes.count(func(v redlock.Vote) bool { return v.Master == 4 && v.Purpose == redlock.Set })
	const pairs = 400
	for g := range 20 {
		wg.Go(func() {
			for range pairs / 20 {
				lease, err := l.Lock(t.Context(), fmt.Sprintf("k%d", g))
				if err == nil {
					err = lease.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	waittest.Until(t, "all votes are told", func() bool {
		return votes.count(func(v redlock.Vote) bool { return v.Master == 4 && v.Purpose == redlock.Set }) >= told+pairs
	})
	for purpose, least := range map[redlock.Purpose]int{redlock.Set: pairs, redlock.Release: pairs} {
		if n := votes.count(func(v redlock.Vote) bool { return v.Master == 4 && v.Purpose == purpose && v.Err != nil }); n < least {
			t.Errorf("%d of %d votes on %s are errors", n, least, purpose)
		}
	}
	must(t, m.Resume(t.Context()))
	warm(t, c, l, votes)
	waittest.Until(t, "no key is left", func() bool { return keysLeft(t, c) == 0 })
	// What it was sent is what was under way when it was noticed, and what waited for it
	// when it was back.
	if n := commands(t, c, 4, "set") - asked; n > pairs/2 {
		t.Errorf("the master that was stopped got %d SETs", n)
	}
}

// commands is how often a master has carried out a command.
func commands(t *testing.T, c cluster.Cluster, master int, name string) (n int) {
	t.Helper()
	look(t, c, master, func(r *redis.Client) {
		stats, err := r.InfoMap(t.Context(), "commandstats").Result()
		must(t, err)
		fmt.Sscanf(stats["Commandstats"]["cmdstat_"+name], "calls=%d", &n)
	})
	return n
}

// A process that waits hears of the release in another, also if most masters do not let
// the other publish.
func TestWakeupsBetweenProcesses(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		t.Run(fmt.Sprintf("refused %v", refuses), func(t *testing.T) {
			c := masters(t, 3, cluster.None)
			if refuses {
				for i := range 3 {
					look(t, c, i, func(r *redis.Client) {
						must(t, r.Do(t.Context(), "acl", "setuser", "default", "resetchannels").Err())
					})
				}
			}
			// The retry delay is beyond the test's patience, where the master lets it listen.
			never := redlock.WithRetryDelay(time.Hour, time.Hour)
			if refuses {
				never = redlock.WithRetryDelay(time.Millisecond, 20*time.Millisecond)
			}
			a := dial(t, c, "a", redlock.WithWakeups(), redlock.WithTTL(time.Minute))
			b := dial(t, c, "b", redlock.WithWakeups(), redlock.WithTTL(time.Minute), never)
			for range 3 {
				lease, err := a.Lock(t.Context(), "k")
				must(t, err)
				waittest.Until(t, "a majority stores it", func() bool { return stores(t, c, "k", "") >= 2 })
				got := make(chan error, 1)
				go func() {
					l, err := b.Lock(t.Context(), "k")
					if err == nil {
						err = l.Unlock(t.Context())
					}
					got <- err
				}()
				waittest.Until(t, "somebody listens", func() bool {
					listens := int64(0)
					for i := range 3 {
						look(t, c, i, func(r *redis.Client) {
							n, err := r.PubSubNumSub(t.Context(), "k:released").Result()
							must(t, err)
							listens += n["k:released"]
						})
					}
					return listens > 0 || refuses
				})
				must(t, lease.Unlock(t.Context()))
				// It listens on one master. If that hears of the release first, the others may refuse once more:
				// then it hears of the next release.
				var answer error
				heard := false
				waittest.Until(t, "it hears of a release", func() bool {
					select {
					case answer = <-got:
						heard = true
					case <-time.After(time.Second):
						if again, err := a.Lock(t.Context(), "k"); err == nil {
							must(t, again.Unlock(t.Context()))
						}
					}
					return heard
				})
				must(t, answer)
				waittest.Until(t, "no key is left", func() bool { return stores(t, c, "k", "") == 0 })
			}
		})
	}
}
