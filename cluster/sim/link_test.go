package sim

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"lockpick/cluster"
)

// TestAHostKeepsSoManyConnections: however long clients try to reach a master that does not read, its host
// keeps so many of their connections for it and no more; and it serves again when it goes on.
func TestAHostKeepsSoManyConnections(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.ok(b.m.Pause(context.Background()))
		for range unaccepted + 100 {
			b.do("set", "k", "t")
		}
		if n := len(b.m.backlog); n != unaccepted {
			t.Errorf("%d messages wait, want %d", n, unaccepted)
		}
		b.sleep(time.Second)
		b.ok(b.m.Resume(context.Background()))
		if v := b.do("set", "n", "t"); !v.Yes || len(b.m.backlog) > 0 {
			t.Errorf("after the resume: %+v", v)
		}
	})
	on(t, oneMaster, Options{}, func(b *bench) {
		b.link.Set(cluster.LinkFault{Requests: cluster.Hold})
		for range unsent + 100 {
			b.do("set", "k", "t")
		}
		if n := len(b.link.waiting); n != unsent {
			t.Errorf("%d messages wait in the link, want %d", n, unsent)
		}
	})
}

func TestLinksHoldLoseDelayAndRefuse(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.link.Set(cluster.LinkFault{Requests: cluster.Hold})
		if v := b.do("set", "held", "t"); v.Err == nil {
			t.Error("a held request was answered")
		}
		b.want("held", "", "while it is held")
		b.link.Set(cluster.LinkFault{})
		b.sleep(5 * time.Millisecond)
		b.want("held", "t", "after the fault")

		b.do("get", "warm")
		b.link.Set(cluster.LinkFault{Replies: cluster.Drop})
		if v := b.do("set", "mute", "t"); v.Err == nil {
			t.Error("a lost reply arrived")
		}
		b.want("mute", "t", "with its reply lost")
		b.link.Set(cluster.LinkFault{Requests: cluster.Drop})
		b.w.Runtime().AfterFunc(20*time.Millisecond, func() { b.link.Set(cluster.LinkFault{}) })
		if v := b.do("set", "lost", "t"); !errors.Is(v.Err, syscall.ECONNRESET) || v.Took > 22*time.Millisecond {
			t.Errorf("on a connection that is reset when the fault ends: %v after %v", v.Err, v.Took)
		}
		b.sleep(time.Second)
		b.want("lost", "", "after it was lost")

		b.do("get", "warm")
		b.link.Set(cluster.LinkFault{Delay: 20 * time.Millisecond})
		if v := b.do("get", "mute"); v.Err == nil && v.Took < 40*time.Millisecond {
			t.Errorf("with a delay of 20 ms each way: %+v", v)
		}
		b.link.Set(cluster.LinkFault{Refuse: true})
		if v := b.do("get", "warm"); v.Err != nil {
			t.Errorf("an open connection is not refused: %v", v.Err)
		}
		b.link.Reset()
		if v := b.do("get", "warm"); !errors.Is(v.Err, syscall.ECONNRESET) {
			t.Errorf("a new connection: %v", v.Err)
		}
		if n := b.link.Counts(); n.Held == 0 || n.Dropped == 0 || n.Delayed == 0 || n.Refused != 1 || n.Passed == 0 {
			t.Errorf("%+v", n)
		}
	})
}

// Whoever lets held replies through is itself running, and goes on afterwards.
func TestHeldRepliesArriveWhileAnotherCoroutineRuns(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.link.Set(cluster.LinkFault{Replies: cluster.Hold})
		healed := false
		b.w.Runtime().Go(func() {
			b.sleep(20 * time.Millisecond)
			b.link.Set(cluster.LinkFault{})
			b.sleep(time.Millisecond)
			healed = true
		})
		if v := b.do("set", "k", "t"); !v.Yes || v.Took != 20*time.Millisecond {
			t.Errorf("%+v", v)
		}
		b.sleep(2 * time.Millisecond)
		if !healed {
			t.Error("who healed the link did not go on")
		}
	})
}
