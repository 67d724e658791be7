//go:build real

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// sentinels is a primary with two replicas and three Sentinels that watch it: processes as a
// user would run them, without anything of Lockpick in between.
type sentinels struct {
	t        *testing.T
	dir      string
	servers  []*redis.Client // the primary first
	procs    []*exec.Cmd
	watchers []*redis.SentinelClient
	ports    []int
}

const downAfter = 500 * time.Millisecond

func startSentinels(t *testing.T) *sentinels {
	t.Helper()
	needs(t, "process")
	sentinel, err := exec.LookPath("redis-sentinel")
	if err != nil {
		t.Skip("there is no redis-sentinel (Debian's package redis-sentinel)")
	}
	var reserved Ports
	t.Cleanup(reserved.Release)
	ports, err := reserved.Take(6)
	if err != nil {
		t.Fatal(err)
	}
	x := &sentinels{t: t, dir: t.TempDir(), ports: ports}
	t.Cleanup(x.stop)
	for i := range 3 {
		port := strconv.Itoa(ports[i])
		args := []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", x.folder(port), "--repl-diskless-sync-delay", "0"}
		if i > 0 {
			args = append(args, "--replicaof", "127.0.0.1 "+strconv.Itoa(ports[0]))
		}
		x.run("redis-server", args...)
		x.servers = append(x.servers, redis.NewClient(&redis.Options{Addr: address(ports[i]), MaxRetries: -1}))
	}
	waittest.Until(t, "both replicas have the primary's data", func() bool {
		n, err := x.servers[0].Wait(t.Context(), 2, 100*time.Millisecond).Result()
		return err == nil && n == 2
	})
	for _, port := range ports[3:] {
		dir := x.folder(strconv.Itoa(port))
		file := filepath.Join(dir, "sentinel.conf")
		conf := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor lock 127.0.0.1 %d 2\nsentinel down-after-milliseconds lock %d\nsentinel failover-timeout lock 10000\n",
			port, dir, ports[0], downAfter.Milliseconds())
		if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		x.run(sentinel, file)
		x.watchers = append(x.watchers, redis.NewSentinelClient(&redis.Options{Addr: address(port), MaxRetries: -1}))
	}
	waittest.Until(t, "the Sentinels know each other and the replicas", func() bool {
		for _, w := range x.watchers {
			info, err := w.Master(t.Context(), "lock").Result()
			if err != nil || info["num-slaves"] != "2" || info["num-other-sentinels"] != "2" {
				return false
			}
		}
		return true
	})
	return x
}

func (x *sentinels) folder(name string) string {
	dir := filepath.Join(x.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		x.t.Fatal(err)
	}
	return dir
}

func (x *sentinels) run(program string, args ...string) {
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.procs = append(x.procs, cmd)
}

func (x *sentinels) stop() {
	for _, c := range x.servers {
		_ = c.Close()
	}
	for _, w := range x.watchers {
		_ = w.Close()
	}
	for _, p := range x.procs {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// lags measures how long after a write's acknowledgement a replica's acknowledgement of it
// takes, which is a round trip more than the lag.
func (x *sentinels) lags(n int) []time.Duration {
	var all []time.Duration
	for i := range n {
		if err := x.servers[0].Set(x.t.Context(), "lag", i, 0).Err(); err != nil {
			x.t.Fatal(err)
		}
		began := time.Now()
		if _, err := x.servers[0].Wait(x.t.Context(), 2, time.Second).Result(); err != nil {
			x.t.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all
}

// TestSentinelFailover measures what the model of a failover is made of, on a real Sentinel:
// how long replication lags, how long nobody serves after the primary was killed, and whether
// the last write was lost. It fails only if the model is far off.
func TestSentinelFailover(t *testing.T) {
	x := startSentinels(t)
	ctx := t.Context()
	lags := x.lags(200)
	t.Logf("replicas acknowledged after %v (median), %v (99 of 100); the model's lag is %v and %v",
		lags[len(lags)/2], lags[len(lags)*99/100], cluster.Lag(0.5).Round(time.Microsecond), cluster.Lag(0.99).Round(time.Microsecond))

	last := 0
	for ; last < 100; last++ {
		if err := x.servers[0].Set(ctx, "last", last, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	killed := time.Now()
	if err := x.procs[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var next *redis.Client
	waittest.Until(t, "a replica accepts writes in the primary's place", func() bool {
		for _, c := range x.servers[1:] {
			try, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			err := c.Set(try, "new", 1, 0).Err()
			cancel()
			if err == nil {
				next = c
				return true
			}
		}
		return false
	})
	outage := time.Since(killed)
	election := outage - downAfter
	kept, err := next.Get(ctx, "last").Int()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("nobody served for %v: %v of down-after, then %v; the model's election takes %v to %v", outage, downAfter, election, cluster.ElectionTime(0), cluster.ElectionTime(1))
	t.Logf("of 100 writes the new primary has all up to number %d: %d were lost", kept, last-1-kept)
}
