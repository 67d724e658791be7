// Command findings replays what was said about Go libraries: its first argument names the finding, the others are the
// addresses of masters. It prints one line.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var findings = map[string]func(masters []string) string{
	"redsync-lock-waits":     redsyncLockWaits,
	"redsync-grants-nobody":  redsyncGrantsNobody,
	"redsync-lost-votes":     redsyncLostVotes,
	"redsync-extend-waits":   redsyncExtendWaits,
	"redislock-extend-waits": redislockExtendWaits,
}

func main() {
	if len(os.Args) < 3 || findings[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: findings NAME MASTER...")
		os.Exit(64)
	}
	fmt.Println(findings[os.Args[1]](os.Args[2:]))
}

var background = context.Background()

// clients are go-redis clients as it makes them by default.
func clients(masters []string) (all []*redis.Client) {
	for _, addr := range masters {
		all = append(all, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return all
}

func newRedsync(all []*redis.Client) *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, c := range all {
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...)
}

// hang makes a master that has accepted connections not reply to anything for two minutes.
func hang(master string) {
	c := redis.NewClient(&redis.Options{Addr: master})
	defer c.Close()
	must(c.Do(background, "CLIENT", "PAUSE", 120_000, "ALL").Err())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func redsyncLockWaits(masters []string) string {
	all := clients(masters)
	hang(masters[0])
	begun := time.Now()
	err := newRedsync(all).NewMutex("k", redsync.WithExpiry(time.Minute)).Lock()
	return fmt.Sprintf("one of %d masters hangs: err %v, Lock took 5 s or more: %v", len(masters), err, time.Since(begun) >= 5*time.Second)
}

func redsyncGrantsNobody(masters []string) string {
	all := clients(masters)
	hang(masters[0])
	const asked = 24800 * time.Millisecond // as long as in the report that the finding is about
	ctx, cancel := context.WithTimeout(background, asked)
	defer cancel()
	granted := make(chan error, 1)
	begun := time.Now()
	go func() { granted <- newRedsync(all).NewMutex("k", redsync.WithExpiry(2*time.Second)).LockContext(ctx) }()
	select {
	case err := <-granted:
		return fmt.Sprintf("one of %d masters hangs: Lock returned %v after %v", len(masters), err, time.Since(begun))
	case <-ctx.Done():
		return fmt.Sprintf("one of %d masters hangs: nobody was granted the lock in %v", len(masters), asked)
	}
}

func redsyncLostVotes(masters []string) string {
	said := ""
	for _, option := range []redsync.Option{redsync.WithFailFast(false), redsync.WithSetNXOnExtend()} {
		all := clients(masters)
		m := newRedsync(all).NewMutex("k", redsync.WithExpiry(time.Minute), option)
		must(m.Lock())
		for _, c := range all[:2] { // a minority forgets
			must(c.FlushAll(background).Err())
		}
		for range 3 {
			_, err := m.Extend()
			must(err)
		}
		stored := int64(0)
		for _, c := range all {
			n, err := c.Exists(background, "k").Result()
			must(err)
			stored += n
			must(c.FlushAll(background).Err())
		}
		said += fmt.Sprintf(", %d", stored)
	}
	return "masters that store the key after three extensions, by default and WithSetNXOnExtend: " + said[2:]
}

func redsyncExtendWaits(masters []string) string {
	m := newRedsync(clients(masters)).NewMutex("k", redsync.WithExpiry(2*time.Second))
	must(m.Lock())
	for _, master := range masters[:len(masters)/2+1] {
		hang(master)
	}
	ctx, cancel := context.WithDeadline(background, m.Until())
	defer cancel()
	ok, _ := m.ExtendContext(ctx)
	return fmt.Sprintf("a majority hangs: ExtendContext with the lease's deadline returned %v, a second or more after it: %v", ok, time.Since(m.Until()) >= time.Second)
}

func redislockExtendWaits(masters []string) string {
	const ttl = time.Second
	begun := time.Now()
	lock, err := redislock.Obtain(background, clients(masters)[0], "k", ttl, nil)
	must(err)
	hang(masters[0])
	ctx, cancel := context.WithDeadline(background, begun.Add(ttl))
	defer cancel()
	err = lock.Refresh(ctx, ttl, nil)
	return fmt.Sprintf("the master hangs: Refresh with the lease's deadline failed: %v, a second or more after it: %v", err != nil, time.Since(begun) >= ttl+time.Second)
}
