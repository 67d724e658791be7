package workload_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
	"lockpick/workload"
)

// queueUp has c1 hold the lock for a second, and c2 to c9 ask for it one after the other
// meanwhile. It returns who had it when, from c1's release on.
func queueUp(s *scene) (order []string, at []time.Duration) {
	held, err := s.acquire(s.lock("c1"), time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 2; i <= 9; i++ {
		client := fmt.Sprintf("c%d", i)
		l := s.lock(client)
		s.runtime.AfterFunc(time.Duration(i)*50*ms, func() {
			lease, err := s.acquire(l, time.Minute)
			if err != nil {
				return
			}
			order, at = append(order, client), append(at, s.runtime.Now().Sub(world.Epoch)-time.Second)
			s.sleep(10 * ms)
			_ = lease.Release(context.Background())
		})
	}
	s.sleep(time.Second - s.runtime.Now().Sub(world.Epoch))
	_ = held.Release(context.Background())
	s.sleep(time.Minute)
	return order, at
}

// TestFairLockServesInOrder: first come, first served; the lock without a queue does not.
func TestFairLockServesInOrder(t *testing.T) {
	inOrder := func(s *scene) error {
		order, _ := queueUp(s)
		if len(order) != 8 || !slices.IsSorted(order) {
			return fmt.Errorf("served %s", strings.Join(order, " "))
		}
		return nil
	}
	if err := play(t, "fair", sim.Options{}, inOrder); err != nil {
		t.Error(err)
	}
	if play(t, "textbook-single", sim.Options{}, inOrder) == nil {
		t.Error("a lock without a queue served in order, too: the test shows nothing")
	}
}

// TestDeadWaitersHoldUpTheQueue: each waiter that has died costs those behind it up to 5 s;
// one that has given up costs nothing.
func TestDeadWaitersHoldUpTheQueue(t *testing.T) {
	for _, c := range []struct {
		dead     []string
		from, to time.Duration // until c4 is served
	}{
		{nil, 0, time.Second},
		{[]string{"c2"}, 4 * time.Second, 6500 * ms},
		{[]string{"c2", "c3"}, 9 * time.Second, 11500 * ms},
	} {
		err := play(t, "fair", sim.Options{}, func(s *scene) error {
			s.pass = func(client, point string) bool {
				return point != workload.BetweenCommands || !slices.Contains(c.dead, client)
			}
			order, at := queueUp(s)
			i := slices.Index(order, "c4")
			if i < 0 || at[i] < c.from || at[i] > c.to {
				return fmt.Errorf("with %v dead: served %v at %v, c4 is due between %v and %v", c.dead, order, at, c.from, c.to)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestWhoGivesUpLeavesTheQueue: it holds up nobody.
func TestWhoGivesUpLeavesTheQueue(t *testing.T) {
	err := play(t, "fair", sim.Options{}, func(s *scene) error {
		held, err := s.acquire(s.lock("c1"), time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.acquire(s.lock("c2"), 300*ms); err == nil {
			s.t.Fatal("it was granted")
		}
		_ = held.Release(context.Background())
		_, err = s.acquire(s.lock("c3"), 300*ms)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
