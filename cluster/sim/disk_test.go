package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockpick/cluster"
)

func TestWhatSurvives(t *testing.T) {
	cut := func(b *bench) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.m.CutPower(ctx, cluster.Power{})
			return err
		}
	}
	for _, x := range []struct {
		persistence         cluster.Persistence
		kill, shutdown, cut string // what is left of a key that was just written
	}{
		{cluster.None, "", "", ""},
		{cluster.RDB, "", "t", ""},
		{cluster.Everysec, "t", "t", ""},
		{cluster.Always, "t", "t", "t"},
	} {
		on(t, cluster.Config{Persistence: x.persistence}, Options{}, func(b *bench) {
			b.sleep(2 * time.Second)
			b.do("set", "old", "t")
			b.sleep(2 * time.Second) // everysec has fsynced it
			b.do("set", "warm", "up")
			b.sleep(10 * time.Millisecond)
			b.do("set", "k", "t")
			b.restart(b.m.Kill)
			b.want("k", x.kill, string(x.persistence)+", SIGKILL")
			b.do("set", "k", "t")
			b.restart(b.m.Shutdown)
			b.want("k", x.shutdown, string(x.persistence)+", SIGTERM")
			b.sleep(2 * time.Second)
			b.do("set", "warm", "up")
			b.sleep(10 * time.Millisecond)
			b.do("set", "k2", "t")
			b.restart(cut(b))
			b.want("k2", x.cut, string(x.persistence)+", power cut")
			if x.persistence == cluster.Everysec {
				b.want("old", "t", "everysec, power cut")
			}
		})
	}
}

func TestBadDisks(t *testing.T) {
	ctx := context.Background()
	on(t, cluster.Config{Persistence: cluster.Always}, Options{}, func(b *bench) {
		b.ok(b.m.SetDisk(ctx, cluster.Disk{FsyncLies: true}))
		b.do("set", "k", "t")
		cut, err := b.m.CutPower(ctx, cluster.Power{})
		b.ok(errors.Join(err, b.m.Start(ctx)))
		b.want("k", "", "always, but fsync lies")
		if look := b.m.snapshot(nil); cut.Bytes == 0 || look.Disk.Lied == 0 {
			t.Errorf("%+v, %+v", cut, look.Disk)
		}
		b.ok(b.m.SetDisk(ctx, cluster.Disk{FsyncDelay: 30 * time.Millisecond}))
		if v := b.do("set", "k", "t"); !v.Yes || v.Took < 30*time.Millisecond {
			t.Errorf("with a slow fsync: %+v", v)
		}
		b.ok(b.m.SetDisk(ctx, cluster.Disk{Full: true}))
		if v := b.do("set", "k", "t"); v.Err == nil || b.m.State() != cluster.Down {
			t.Errorf("with a full disk: %+v, %s", v, b.m.State())
		}
	})
	on(t, cluster.Config{Persistence: cluster.Everysec}, Options{}, func(b *bench) {
		b.ok(b.m.SetDisk(ctx, cluster.Disk{FsyncDelay: 900 * time.Millisecond}))
		b.sleep(2 * time.Second)
		b.do("set", "first", "t") // the fsync begins
		b.do("set", "k", "t")     // and puts this one off
		b.restart(b.m.Kill)
		b.want("first", "t", "everysec, slow fsync, SIGKILL")
		b.want("k", "", "everysec, slow fsync, SIGKILL")
		b.ok(b.m.SetDisk(ctx, cluster.Disk{Full: true}))
		b.do("set", "k", "t")
		if v := b.do("set", "k", "t"); v.Err == nil || v.Err.Error() != "m1: "+misconfAOF {
			t.Errorf("with a full disk: %+v", v)
		}
		b.ok(b.m.SetDisk(ctx, cluster.Disk{}))
		if v := b.do("set", "k", "t"); !v.Yes {
			t.Errorf("with room again: %+v", v)
		}
	})
}

func TestSnapshotsComeAtTheirPoints(t *testing.T) {
	on(t, cluster.Config{Persistence: cluster.RDB}, Options{}, func(b *bench) {
		b.sleep(10 * time.Second)
		b.do("set", "k", "t")
		b.sleep(58 * time.Minute)
		b.restart(b.m.Kill)
		b.want("k", "", "before the hour")
		b.do("set", "k", "t")
		b.sleep(61 * time.Minute)
		b.restart(b.m.Kill)
		b.want("k", "t", "after the hour")
	})
}
