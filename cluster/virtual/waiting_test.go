package virtual

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// later runs a command of a connection of its own, and returns its result when it has one.
func (b *bench) later(client string, args ...any) (result chan any, cancel context.CancelFunc) {
	c := b.connect(client, 0)
	ctx, cancel := context.WithCancel(ctx)
	result = make(chan any, 1)
	go func() {
		defer c.Close()
		v, err := c.WithTimeout(time.Hour).Do(ctx, args...).Result()
		if err != nil {
			v = err
		}
		result <- v
	}()
	time.Sleep(10 * time.Millisecond) // of virtual time: the command is at the master
	return result, cancel
}

func TestABlockedCommandEndsAtItsTimeout(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		began := time.Now()
		got, cancel := b.later("c2", "BLPOP", "k", "5")
		defer cancel()
		if v := <-got; !errors.Is(v.(error), redis.Nil) {
			t.Fatalf("%v", v)
		}
		if took := time.Since(began); took < 5*time.Second || took > 5*time.Second+10*time.Millisecond {
			t.Fatalf("it took %v", took)
		}
		b.ok(b.client.RPush(ctx, "k", "x").Err())
		if n := b.client.LLen(ctx, "k").Val(); n != 1 {
			t.Fatalf("the element was given to a command whose time was over: %d are left", n)
		}
	})
}

func TestTheMastersClockEndsBlockedCommands(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		got, cancel := b.later("c2", "BRPOP", "k", "3600")
		defer cancel()
		b.ok(b.m.SetClock(ctx, cluster.Clock{Offset: time.Hour}))
		if v := <-got; !errors.Is(v.(error), redis.Nil) {
			t.Fatalf("%v", v)
		}
	})
}

// TestAPausedMasterEndsBlockedCommandsFirst: before it reads what has arrived, as redis-server does after SIGCONT.
func TestAPausedMasterEndsBlockedCommandsFirst(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		b.want("k", "")
		over, cancel := b.later("c2", "BLPOP", "k", "1")
		defer cancel()
		waits, cancelWait := b.later("c3", "BLPOP", "k", "5")
		defer cancelWait()
		b.ok(b.m.Pause(ctx))
		time.Sleep(2 * time.Second)
		if err := b.client.RPush(ctx, "k", "x").Err(); err == nil {
			t.Fatal("a paused master answered")
		}
		b.ok(b.m.Resume(ctx))
		if v, ok := (<-over).(error); !ok || !errors.Is(v, redis.Nil) {
			t.Fatalf("a command whose time was over got %v", v)
		}
		if v, ok := (<-waits).([]any); !ok || v[1] != "x" {
			t.Fatalf("a command that could still wait got %v", v)
		}
	})
}

func TestABlockedCommandOfAClientThatLeftLosesTheElementOnlyOnTheWay(t *testing.T) {
	for held, left := range map[bool]int64{false: 1, true: 0} {
		in(t, cluster.Config{}, func(b *bench) {
			l, err := b.cluster.Link("c2", 0)
			b.ok(err)
			conn, err := b.cluster.DialContext(ctx, "tcp", l.Addr())
			b.ok(err)
			_, err = conn.Write([]byte("BLPOP k 0\r\n"))
			b.ok(err)
			time.Sleep(10 * time.Millisecond)
			if held { // the master does not learn that the connection has ended
				l.Set(cluster.LinkFault{Requests: cluster.Hold})
			}
			b.ok(conn.Close())
			time.Sleep(10 * time.Millisecond)
			b.ok(b.client.RPush(ctx, "k", "x").Err())
			if n := b.client.LLen(ctx, "k").Val(); n != left {
				t.Errorf("held %v: %d elements are left, want %d", held, n, left)
			}
		})
	}
}

func TestAKilledMasterForgetsBlockedCommands(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		got, cancel := b.later("c2", "BLMOVE", "k", "to", "LEFT", "LEFT", "0")
		defer cancel()
		b.ok(b.m.Kill(ctx))
		if v, ok := (<-got).(error); !ok || errors.Is(v, redis.Nil) {
			t.Fatalf("%v", v)
		}
		b.ok(b.m.Start(ctx))
		b.ok(b.client.RPush(ctx, "k", "x").Err())
		if n := b.client.LLen(ctx, "k").Val(); n != 1 {
			t.Fatalf("%d elements are left", n)
		}
	})
}

// TestWhatABlockedCommandTakesIsAccounted: as an effect of the command that had waited.
func TestWhatABlockedCommandTakesIsAccounted(t *testing.T) {
	in(t, cluster.Config{}, func(b *bench) {
		var all []cluster.Executed
		b.ok(b.cluster.Account(func(_ int, x cluster.Executed) { all = append(all, x) }))
		got, cancel := b.later("c2", "BLPOP", "k", "0")
		defer cancel()
		b.ok(b.client.RPush(ctx, "k", "x").Err())
		<-got
		if len(all) != 2 || all[0].Client != "c1" || all[1].Client != "c2" || all[1].Args[0] != "blpop" && all[1].Args[0] != "BLPOP" || all[1].Changes[0].Kind != cluster.Deleted {
			t.Fatalf("%+v", all)
		}
	})
}
