package virtual

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockpick/cluster"
	"lockpick/redlock/protocol"
)

// bench is masters with one client, in a bubble.
type bench struct {
	*testing.T
	cluster *Cluster
	client  *redis.Client // of m1
	m       cluster.Master
}

// in runs a test on masters in a bubble.
func in(t *testing.T, cfg cluster.Config, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := New(cfg, Options{Seed: 1})
		defer c.Close()
		b := &bench{T: t, cluster: c, m: c.Masters()[0]}
		b.client = b.connect("c1", 0)
		defer b.client.Close()
		f(b)
	})
}

func (b *bench) connect(client string, master int) *redis.Client {
	addrs, err := b.cluster.Addrs(client)
	if err != nil {
		b.Fatal(err)
	}
	return redis.NewClient(&redis.Options{
		Addr: addrs[master], Dialer: b.cluster.DialContext, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		ReadTimeout: 200 * time.Millisecond, DialTimeout: 200 * time.Millisecond,
	})
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) want(key, text string) {
	b.Helper()
	got, err := b.client.Get(context.Background(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) || got != text {
		b.Fatalf("%s is %q (%v), want %q", key, got, err, text)
	}
}

func (b *bench) set(key, text string) {
	b.Helper()
	b.ok(b.client.Set(context.Background(), key, text, 0).Err())
}

var ctx = context.Background()

func init() { logging.Disable() } // go-redis would tell of every dial that is refused

func TestClientsTalkToMastersInVirtualTime(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		b.ok(b.client.SetNX(ctx, "k", "t1", 10*time.Second).Err())
		time.Sleep(9 * time.Second)
		b.want("k", "t1")
		time.Sleep(time.Second)
		b.want("k", "")
	})
}

func TestWhatSurvivesAKill(t *testing.T) {
	for persistence, want := range map[cluster.Persistence]string{cluster.None: "", cluster.RDB: "", cluster.Everysec: "t", cluster.Always: "t"} {
		t.Run(string(persistence), func(t *testing.T) {
			in(t, cluster.Config{Persistence: persistence}, func(b *bench) {
				b.set("k", "t")
				b.ok(b.m.Kill(ctx))
				if err := b.client.Get(ctx, "k").Err(); err == nil || errors.Is(err, redis.Nil) {
					t.Fatalf("a killed master answers: %v", err)
				}
				b.ok(b.m.Start(ctx))
				b.want("k", want)
			})
		})
	}
}

func TestWhatSurvivesAPowerCut(t *testing.T) {
	for persistence, want := range map[cluster.Persistence]string{cluster.Everysec: "", cluster.Always: "t"} {
		t.Run(string(persistence), func(t *testing.T) {
			in(t, cluster.Config{Persistence: persistence}, func(b *bench) {
				b.set("k", "t")
				_, err := b.m.CutPower(ctx, cluster.Power{})
				b.ok(err)
				b.ok(b.m.Start(ctx))
				b.want("k", want)
			})
		})
	}
}

func TestAPausedMasterExecutesLaterWhatTheClientGaveUp(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		b.want("k", "")
		b.ok(b.m.Pause(ctx))
		began := time.Now()
		if err := b.client.Set(ctx, "k", "late", 0).Err(); err == nil {
			t.Fatal("a paused master answered")
		}
		if took := time.Since(began); took < 200*time.Millisecond || took > 210*time.Millisecond {
			t.Fatalf("the client gave up after %v", took)
		}
		b.ok(b.m.Resume(ctx))
		time.Sleep(10 * time.Millisecond)
		b.want("k", "late")
	})
}

func TestLinksHoldDropDelayAndRefuse(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		l, err := b.cluster.Link("c1", 0)
		b.ok(err)
		b.want("k", "")
		other := b.connect("c2", 0)
		defer other.Close()

		l.Set(cluster.LinkFault{Requests: cluster.Hold})
		if err := b.client.Set(ctx, "k", "held", 0).Err(); err == nil {
			t.Fatal("a held request was answered")
		}
		if n := other.Exists(ctx, "k").Val(); n != 0 {
			t.Fatal("a held request reached the master")
		}
		l.Set(cluster.LinkFault{})
		time.Sleep(10 * time.Millisecond)
		b.want("k", "held")

		l.Set(cluster.LinkFault{Replies: cluster.Drop})
		if err := b.client.Set(ctx, "k", "unheard", 0).Err(); err == nil {
			t.Fatal("a lost reply arrived")
		}
		l.Set(cluster.LinkFault{})
		b.want("k", "unheard")

		l.Set(cluster.LinkFault{Delay: 20 * time.Millisecond})
		began := time.Now()
		b.want("k", "unheard")
		if took := time.Since(began); took < 40*time.Millisecond {
			t.Fatalf("a slow link took %v", took)
		}

		l.Set(cluster.LinkFault{Refuse: true})
		l.Reset()
		if err := b.client.Get(ctx, "k").Err(); err == nil {
			t.Fatal("a link that refuses was passed")
		}
		l.Set(cluster.LinkFault{})
		b.want("k", "unheard")
		n := l.Counts()
		if n.Held == 0 || n.Dropped == 0 || n.Delayed == 0 || n.Refused == 0 || n.Passed == 0 {
			t.Fatalf("counts: %+v", n)
		}
	})
}

func TestAMastersClockDecidesWhenKeysExpire(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		b.ok(b.client.Set(ctx, "k", "t", time.Minute).Err())
		b.ok(b.m.SetClock(ctx, cluster.Clock{Offset: time.Hour}))
		b.want("k", "")
		b.ok(b.m.SetClock(ctx, cluster.Clock{Rate: 2}))
		b.ok(b.client.Set(ctx, "k", "t", time.Minute).Err())
		time.Sleep(31 * time.Second)
		b.want("k", "")
	})
}

func TestTransactionsAreAbortedWhereAWatchedKeyChanged(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		b.set("k", "mine")
		release := func(meanwhile func()) error {
			return b.client.Watch(ctx, func(tx *redis.Tx) error {
				token, err := tx.Get(ctx, "k").Result()
				if err != nil || token != "mine" {
					return fmt.Errorf("not mine: %q, %v", token, err)
				}
				meanwhile()
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, "k").Err() })
				return err
			}, "k")
		}
		if err := release(func() { b.set("k", "other") }); !errors.Is(err, redis.TxFailedErr) {
			t.Fatalf("a transaction over a changed key: %v", err)
		}
		b.want("k", "other")
		b.set("k", "mine")
		b.ok(release(func() {}))
		b.want("k", "")
		b.ok(b.client.Set(ctx, "k", "mine", time.Second).Err())
		if err := release(func() { time.Sleep(2 * time.Second) }); !errors.Is(err, redis.TxFailedErr) {
			t.Fatalf("a transaction over a key that has expired: %v", err)
		}
	})
}

func TestSubscribersHear(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		sub := b.client.Subscribe(ctx, "c")
		defer sub.Close()
		_, err := sub.Receive(ctx)
		b.ok(err)
		if n := b.client.Publish(ctx, "c", "hello").Val(); n != 1 {
			t.Fatalf("%d heard it", n)
		}
		m, err := sub.ReceiveMessage(ctx)
		b.ok(err)
		if m.Payload != "hello" {
			t.Fatalf("heard %q", m.Payload)
		}
	})
}

func TestReleaseWakesSubscribers(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		waiter := b.connect("c2", 0)
		defer waiter.Close()
		sub := waiter.Subscribe(ctx, "k:released")
		defer sub.Close()
		_, err := sub.Receive(ctx)
		b.ok(err)
		b.set("k", "mine")
		release := redis.NewScript(protocol.CompareDeleteAndPublish.Text)
		for want, token := range []string{"another's", "mine"} {
			if n, err := release.Run(ctx, b.client, []string{"k"}, token, "k:released").Int(); err != nil || n != want {
				t.Fatalf("a release with the token %s: %d, %v", token, n, err)
			}
		}
		m, err := sub.ReceiveMessage(ctx)
		b.ok(err)
		if m.Payload != "1 mine" {
			t.Fatalf("the waiter got %q, want the number of waiters and the token", m.Payload)
		}
	})
}

func TestScriptsRunWithoutATwin(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		take := redis.NewScript(`if redis.call("EXISTS", KEYS[1]) == 0 then
			redis.call("HSET", KEYS[1], ARGV[1], 1)
			redis.call("PEXPIRE", KEYS[1], ARGV[2])
			return redis.call("PTTL", KEYS[1])
		end
		return nil`)
		if v, err := take.Run(ctx, b.client, []string{"h"}, "me", 1000).Result(); err != nil || v.(int64) < 990 {
			t.Fatalf("%v, %v", v, err)
		}
		if _, err := take.Run(ctx, b.client, []string{"h"}, "you", 1000).Result(); !errors.Is(err, redis.Nil) {
			t.Fatalf("%v", err)
		}
		b.ok(b.m.Kill(ctx))
		b.ok(b.m.Start(ctx))
		if v, err := take.Run(ctx, b.client, []string{"h"}, "you", 1000).Result(); err != nil || v.(int64) < 990 {
			t.Fatalf("after a restart: %v, %v", v, err)
		}
	})
}

func TestAFailoverLosesWhatWasHeld(t *testing.T) {
	in(t, cluster.Config{Replicas: 1}, func(b *bench) {
		b.set("k", "old")
		time.Sleep(time.Second)
		b.ok(b.m.HoldReplication(ctx, true))
		b.set("k", "new")
		b.ok(b.m.Failover(ctx, cluster.Takeover{}))
		time.Sleep(10 * time.Millisecond) // the client learns that its connection has ended
		b.want("k", "old")
	})
}

func TestSplitBrain(t *testing.T) {
	in(t, cluster.Config{Replicas: 1}, func(b *bench) {
		b.set("k", "old")
		time.Sleep(time.Second)
		other := b.connect("c2", 0)
		defer other.Close()
		b.ok(b.m.Failover(ctx, cluster.Takeover{Apart: []string{"c1"}}))
		time.Sleep(10 * time.Millisecond)
		b.set("k", "apart")
		if v := other.Get(ctx, "k").Val(); v != "old" {
			t.Fatalf("the successor stores %q", v)
		}
		b.ok(b.m.Start(ctx))
		time.Sleep(10 * time.Millisecond)
		b.want("k", "old")
	})
}
