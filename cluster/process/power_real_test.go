//go:build real

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
)

// trial writes keys, each acknowledged before the next is sent, strikes while that
// goes on, and says how many were acknowledged and how many of those are lost. A
// master that does not come back has lost all.
func trial(t *testing.T, m *master, name string, writing time.Duration, strike func(context.Context) error) (acked, lost int) {
	t.Helper()
	c := newInspectionClient(m.now().addr, m.now().Password, "", cluster.Dial)
	defer c.Close()
	began, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; c.Set(context.Background(), fmt.Sprint(name, n), "1", 0).Err() == nil; n++ {
			if n == 0 {
				close(began)
			}
		}
		ended <- n
	}()
	select {
	case <-began: // an idle machine needs less than a millisecond
	case <-time.After(10 * time.Second):
	}
	time.Sleep(writing)
	must(t, strike)
	acked = <-ended
	if s := m.State(); s != cluster.Down {
		t.Fatalf("it is %s", s)
	}
	if err := m.Start(within(t, time.Minute)); err != nil {
		if !strings.Contains(err.Error(), "start m1") || m.State() != cluster.Down {
			t.Fatalf("it is %s: %v", m.State(), err)
		}
		t.Logf("it did not come back: %.300s", err)
		return acked, acked
	}
	after := m.now().asked()
	for n := range acked {
		if after.Exists(t.Context(), fmt.Sprint(name, n)).Val() == 0 {
			lost++
		}
	}
	return acked, lost
}

func cutting(m *master, p cluster.Power) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := m.CutPower(ctx, p)
		return err
	}
}

// What a master of each persistence loses to SIGKILL, and to a power cut, in 20 trials of
// each. What is to lose nothing is told from what loses nothing because nothing works by the
// cases beside it: the same cut takes most of what everysec acknowledged from it, and the
// same SIGKILL some of it where the disk is slow (TestASlowDiskMakesEverysecLoseToSIGKILL).
func TestWhatIsLostToAPowerCut(t *testing.T) {
	type lose string
	const nothing, some, all lose = "nothing", "some", "all"
	cases := []struct {
		name        string
		persistence cluster.Persistence
		disk        cluster.Disk
		cut         *cluster.Power // nil: SIGKILL alone
		loses       lose
		docker      bool
	}{
		// A fast disk is made, so that this says the same on every machine: SIGKILL takes
		// nothing from the kernel, so what counts is only that Redis hands each write to it
		// before it replies. It does, but for as long as an fsync of everysec is under way, up
		// to 2 s. An fsync that does nothing takes no time, and nothing else here depends on
		// what it should have done, as nothing is cut.
		{"everysec on a fast disk, killed", cluster.Everysec, cluster.Disk{FsyncLies: true}, nil, nothing, false},
		{"everysec, cut", cluster.Everysec, cluster.Disk{}, &cluster.Power{}, some, true},
		{"always, cut", cluster.Always, cluster.Disk{}, &cluster.Power{}, nothing, true},
		{"none, cut", cluster.None, cluster.Disk{}, &cluster.Power{}, all, false},
		{"always on a lying disk, cut", cluster.Always, cluster.Disk{FsyncLies: true}, &cluster.Power{}, some, false},
		{"always, cut, strict", cluster.Always, cluster.Disk{}, &cluster.Power{Strict: true}, all, false},
	}
	eachDriver(t, func(t *testing.T, driver string) {
		trials := 20
		if driver == "docker" {
			trials = 2
		}
		for _, c := range cases {
			if driver == "docker" && !c.docker {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				_, m := shimmed(t, driver, cluster.Config{Persistence: c.persistence})
				asked, err := m.now().asked().ConfigGet(t.Context(), "append*").Result()
				if want := map[cluster.Persistence]string{cluster.None: "no", cluster.Everysec: "yes everysec", cluster.Always: "yes always"}[c.persistence]; err != nil ||
					!strings.HasPrefix(asked["appendonly"]+" "+asked["appendfsync"], want) {
					t.Fatalf("it is configured with %v, %v", asked, err)
				}
				setDisk(t, m, c.disk)
				strike := m.Kill
				if c.cut != nil {
					strike = cutting(m, *c.cut)
				}
				acked, lost, hit := 0, 0, 0
				for i := range trials {
					a, l := trial(t, m, fmt.Sprint("t", i, "-"), 20*time.Millisecond, strike)
					if a == 0 {
						t.Fatalf("trial %d: no write was acknowledged", i)
					}
					acked, lost = acked+a, lost+l
					if l > 0 {
						hit++
					}
				}
				t.Logf("%d of %d acknowledged writes are lost, in %d of %d trials", lost, acked, hit, trials)
				switch {
				case c.loses == nothing && lost > 0, c.loses == all && lost < acked, c.loses == some && hit < trials/2:
					t.Errorf("want %s lost", c.loses)
				}
			})
		}
	})
}

// The append-only file of Redis 7 is several: a base, increments, a manifest. Being
// rewritten is when names change.
func TestAPowerCutWhileTheAppendOnlyFileIsRewritten(t *testing.T) {
	needs(t, "process")
	_, m := shimmed(t, "process", cluster.Config{Persistence: cluster.Always})
	names, acked, lost := 0, 0, 0
	for i := range 20 {
		c := direct(t, m.now())
		if err := c.BgRewriteAOF(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		a, l := trial(t, m, fmt.Sprint("t", i, "-"), time.Duration(i)*time.Millisecond, func(ctx context.Context) error {
			cut, err := m.CutPower(ctx, cluster.Power{})
			names += cut.Names
			return err
		})
		acked, lost = acked+a, lost+l
	}
	t.Logf("%d of %d acknowledged writes are lost; %d changes of names were undone", lost, acked, names)
	if lost > 0 || acked == 0 {
		t.Error("want nothing lost")
	}
}

// A torn file may keep a server from coming back, which Start says.
func TestATornPowerCut(t *testing.T) {
	needs(t, "process")
	_, m := shimmed(t, "process", cluster.Config{Persistence: cluster.Everysec})
	acked, lost, failed := 0, 0, 0
	for i := range 20 {
		if m.State() == cluster.Down { // it did not come back: its disk is replaced
			failed++
			if err := os.RemoveAll(filepath.Join(m.now().data(), "appendonlydir")); err != nil {
				t.Fatal(err)
			}
			must(t, m.Start)
		}
		a, l := trial(t, m, fmt.Sprint("t", i, "-"), 15*time.Millisecond, cutting(m, cluster.Power{Torn: true, Seed: uint64(i)}))
		acked, lost = acked+a, lost+l
	}
	t.Logf("%d of %d acknowledged writes are lost; %d times it did not come back", lost, acked, failed)
	if lost == 0 || lost == acked {
		t.Error("want some lost")
	}
}

func TestAPowerCutOfAMasterThatIsPausedOrDown(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m := shimmed(t, driver, cluster.Config{Persistence: cluster.Always})
		lock(t, m, "a", 0)
		setDisk(t, m, cluster.Disk{FsyncLies: true})
		lock(t, m, "b", 0)
		must(t, m.Pause)
		cut, err := m.CutPower(within(t, time.Minute), cluster.Power{})
		if err != nil || m.State() != cluster.Down || cut.Files != 1 || cut.Bytes == 0 {
			t.Fatalf("%+v, %v; it is %s", cut, err, m.State())
		}
		if again, err := m.CutPower(within(t, time.Minute), cluster.Power{}); err != nil || again != (cluster.Cut{}) {
			t.Errorf("a second cut took %+v, %v", again, err)
		}
		setDisk(t, m, cluster.Disk{})
		must(t, m.Start)
		if found, err := m.Inspect(t.Context(), []string{"a", "b"}); err != nil || len(found.Keys) != 1 || found.Keys["a"] == "" {
			t.Errorf("%+v, %v; want a alone", found, err)
		}
		// What the file had before is durable; opening it again takes nothing back.
		must(t, m.Kill, m.Start)
		if cut, err := m.CutPower(within(t, time.Minute), cluster.Power{}); err != nil || cut != (cluster.Cut{}) {
			t.Errorf("a cut after a restart took %+v, %v", cut, err)
		}
	})
}

// SIGKILL loses what Redis itself still holds back while a slow fsync goes on.
func TestASlowDiskMakesEverysecLoseToSIGKILL(t *testing.T) {
	needs(t, "process")
	_, m := shimmed(t, "process", cluster.Config{Persistence: cluster.Everysec})
	setDisk(t, m, cluster.Disk{FsyncDelay: time.Minute})
	acked, lost := trial(t, m, "a", 1500*time.Millisecond, m.Kill)
	t.Logf("%d of %d acknowledged writes are lost", lost, acked)
	if lost == 0 {
		t.Error("want some lost")
	}
}
