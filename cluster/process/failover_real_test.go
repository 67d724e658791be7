//go:build real

package process

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// acks says how many replicas have a client's last write within a while.
func acks(t *testing.T, c *redis.Client, want int, wait time.Duration) int64 {
	t.Helper()
	n, err := c.Wait(t.Context(), want, wait).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAFailoverLosesWhatWasNotReplicatedAndKeepsTheAddress(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		for replicas := 1; replicas <= 2; replicas++ {
			if driver == "docker" && replicas > 1 {
				continue
			}
			t.Run(fmt.Sprint(replicas), func(t *testing.T) {
				g := start(t, driver, cluster.Config{Masters: 1, Replicas: replicas, Persistence: cluster.Always})
				m, ctx := g.masters[0], within(t, time.Minute)
				l, err := g.Link("c1", 0)
				if err != nil {
					t.Fatal(err)
				}
				addr := l.Addr()
				c := client(t, addr)
				set(t, c, "replicated", "1")
				if n := acks(t, c, replicas, 5*time.Second); n != int64(replicas) {
					t.Fatalf("%d replicas have the first write", n)
				}

				if err := m.HoldReplication(ctx, true); err != nil {
					t.Fatal(err)
				}
				set(t, c, "late", "1")
				// The one that a failover would promote has not heard of it, the other has.
				if n := acks(t, c, replicas, 50*time.Millisecond); n != int64(replicas-1) {
					t.Fatalf("%d replicas have a write that is held", n)
				}
				if err := m.HoldReplication(ctx, false); err != nil {
					t.Fatal(err)
				}
				if n := acks(t, c, replicas, 5*time.Second); n != int64(replicas) {
					t.Fatalf("%d replicas have what was held", n)
				}

				if err := m.HoldReplication(ctx, true); err != nil {
					t.Fatal(err)
				}
				set(t, c, "lost", "1")
				before, err := m.Inspect(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Failover(ctx, cluster.Takeover{}); err != nil {
					t.Fatal(err)
				}
				keys := []string{"replicated", "late", "lost"}
				after, err := m.Inspect(ctx, keys)
				if err != nil || m.State() != cluster.Up || after.RunID == before.RunID {
					t.Fatalf("%+v, %v, %s", after, err, m.State())
				}
				if _, ok := after.Keys["lost"]; ok || len(after.Keys) != 2 {
					t.Errorf("after the failover it has %v", after.Keys)
				}
				again := client(t, addr)
				if v, err := again.Get(ctx, "late").Result(); err != nil || v != "1" {
					t.Errorf("through the same link: %q, %v", v, err)
				}
				set(t, again, "new", "1")

				if err := m.HoldReplication(ctx, false); err != nil {
					t.Fatal(err)
				}
				must(t, m.Start) // of the one that was killed
				waittest.Until(t, "all replicas have the new master's data", func() bool {
					return acks(t, again, replicas, 50*time.Millisecond) == int64(replicas)
				})
				if err := m.Failover(ctx, cluster.Takeover{}); err != nil { // and back
					t.Fatal(err)
				}
				if _, ok := stored(t, m, "new"); !ok {
					t.Error("the second failover lost what was replicated")
				}
				must(t, m.Kill, m.Start)
				if _, ok := stored(t, m, "new"); !ok {
					t.Error("a replica does not keep its data")
				}
			})
		}
	})
}

func TestAMasterWithoutReplicasDoesNotFailOver(t *testing.T) {
	needs(t, "process")
	_, m, _ := one(t, "process", cluster.None)
	if err := m.Failover(t.Context(), cluster.Takeover{}); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("failover: %v", err)
	}
	if err := m.HoldReplication(t.Context(), true); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("hold: %v", err)
	}
	if err := m.HoldReplication(t.Context(), false); err != nil || m.State() != cluster.Up {
		t.Errorf("let go: %v, %s", err, m.State())
	}
}

// TestSplitBrain: the old primary lives on for some clients, on the connections that they
// have, while all others get no answer and then the replica. Afterwards it is a replica, and
// what it was told alone is gone.
func TestSplitBrain(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1, Replicas: 1})
	m, ctx := g.masters[0], within(t, time.Minute)
	var clients []*redis.Client
	for _, name := range []string{"c1", "c2"} {
		l, err := g.Link(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client(t, l.Addr()))
	}
	cut, rest := clients[0], clients[1]
	set(t, cut, "both", "1")
	if n := acks(t, cut, 1, 5*time.Second); n != 1 {
		t.Fatalf("%d replicas have the first write", n)
	}
	ended := false
	takeover := cluster.Takeover{Outage: 100 * time.Millisecond, Apart: []string{"c1"}, Ended: func() {
		ended = true
		if state := m.State(); state != cluster.Down {
			t.Errorf("during the outage the master is %s", state)
		}
		if err := rest.Get(ctx, "both").Err(); err == nil || errors.Is(err, redis.Nil) {
			t.Errorf("during the outage a client that was not cut off got an answer: %v", err)
		}
		set(t, cut, "old", "1")
	}}
	if err := m.Failover(ctx, takeover); err != nil || !ended {
		t.Fatalf("%v, ended: %v", err, ended)
	}
	waittest.Until(t, "the successor answers", func() bool { return rest.Set(ctx, "new", "1", 0).Err() == nil })
	set(t, cut, "old", "2")
	for _, x := range []struct {
		who  *redis.Client
		key  string
		want int64
	}{{cut, "both", 1}, {cut, "old", 1}, {cut, "new", 0}, {rest, "both", 1}, {rest, "old", 0}, {rest, "new", 1}} {
		if n, err := x.who.Exists(ctx, x.key).Result(); err != nil || n != x.want {
			t.Errorf("%s exists %d times, want %d (%v)", x.key, n, x.want, err)
		}
	}
	must(t, m.Start)
	waittest.Until(t, "all clients reach the successor, and a replica has its data", func() bool {
		n, err := cut.Exists(ctx, "old", "new").Result()
		acked, werr := rest.Wait(ctx, 1, 50*time.Millisecond).Result()
		return err == nil && werr == nil && n == 1 && acked == 1
	})
}
