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

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// A run of writes until a master was struck: how many it acknowledged, and how many of
// those are lost. A master that does not come back has lost all.
type trialResult struct {
	acked, lost int
	// Of those, the ones that Redis executed while no fsync was pending. Only these does
	// everysec hand to the kernel before it replies; the others it may keep for itself for up
	// to 2 s (flushAppendOnlyFile). A pending fsync may be one that only waits for a
	// processor, so that how many these are is up to the machine.
	flushed, flushedLost int
}

func (a trialResult) and(b trialResult) trialResult {
	return trialResult{a.acked + b.acked, a.lost + b.lost, a.flushed + b.flushed, a.flushedLost + b.flushedLost}
}

// trial writes keys, each acknowledged before the next is sent, and strikes while that
// goes on.
func trial(t *testing.T, m *master, name string, writing time.Duration, strike func(context.Context) error) (r trialResult) {
	t.Helper()
	c := newInspectionClient(m.now().addr, m.now().Password, "", cluster.Dial)
	defer c.Close()
	began, ended := make(chan struct{}), make(chan []bool)
	go func() {
		var flushed []bool // of each acknowledged write
		for n := 0; ; n++ {
			var said *redis.StringCmd
			_, err := c.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
				p.Set(context.Background(), fmt.Sprint(name, n), "1", 0)
				said = p.Info(context.Background(), "persistence")
				return nil
			})
			if err != nil {
				break
			}
			flushed = append(flushed, strings.Contains(said.Val(), "\naof_pending_bio_fsync:0\r"))
			if n == 0 {
				close(began)
			}
		}
		ended <- flushed
	}()
	select {
	case <-began: // an idle machine needs less than a millisecond
	case <-time.After(10 * time.Second):
	}
	time.Sleep(writing)
	must(t, strike)
	flushed := <-ended
	if s := m.State(); s != cluster.Down {
		t.Fatalf("it is %s", s)
	}
	exists := func(int) bool { return false }
	if err := m.Start(within(t, time.Minute)); err == nil {
		after := m.now().inspection()
		exists = func(n int) bool { return after.Exists(t.Context(), fmt.Sprint(name, n)).Val() == 1 }
	} else if strings.Contains(err.Error(), "start m1") && m.State() == cluster.Down {
		t.Logf("it did not come back: %.300s", err)
	} else {
		t.Fatalf("it is %s: %v", m.State(), err)
	}
	for n, flushed := range flushed {
		one := trialResult{acked: 1}
		if !exists(n) {
			one.lost = 1
		}
		if flushed {
			one.flushed, one.flushedLost = one.acked, one.lost
		}
		r = r.and(one)
	}
	return r
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
	const nothing, nothingFlushed, some, all lose = "nothing", "nothing that was flushed to the kernel", "some", "all"
	cases := []struct {
		name        string
		persistence cluster.Persistence
		disk        cluster.Disk
		cut         *cluster.Power // nil: SIGKILL alone
		loses       lose
		docker      bool
	}{
		// SIGKILL takes nothing from the kernel, so what counts is only that Redis hands each
		// write to it before it replies, and it does unless an fsync is pending. An fsync that
		// does nothing is pending for a moment only, so that most writes count.
		{"everysec on a fast disk, killed", cluster.Everysec, cluster.Disk{FsyncLies: true}, nil, nothingFlushed, false},
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
				asked, err := m.now().inspection().ConfigGet(t.Context(), "append*").Result()
				if want := map[cluster.Persistence]string{cluster.None: "no", cluster.Everysec: "yes everysec", cluster.Always: "yes always"}[c.persistence]; err != nil ||
					!strings.HasPrefix(asked["appendonly"]+" "+asked["appendfsync"], want) {
					t.Fatalf("it is configured with %v, %v", asked, err)
				}
				setDisk(t, m, c.disk)
				strike := m.Kill
				if c.cut != nil {
					strike = cutting(m, *c.cut)
				}
				var sum trialResult
				hit := 0
				for i := range trials {
					r := trial(t, m, fmt.Sprint("t", i, "-"), 20*time.Millisecond, strike)
					if r.acked == 0 {
						t.Fatalf("trial %d: no write was acknowledged", i)
					}
					if sum = sum.and(r); r.lost > 0 {
						hit++
					}
				}
				t.Logf("%d of %d acknowledged writes are lost, in %d of %d trials; of %d that were written while no fsync was pending, %d",
					sum.lost, sum.acked, hit, trials, sum.flushed, sum.flushedLost)
				switch {
				case c.loses == nothing && sum.lost > 0,
					c.loses == nothingFlushed && (sum.flushedLost > 0 || sum.flushed == 0),
					c.loses == all && sum.lost < sum.acked,
					c.loses == some && hit < trials/2:
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
	var sum trialResult
	names := 0
	for i := range 20 {
		c := direct(t, m.now())
		if err := c.BgRewriteAOF(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		sum = sum.and(trial(t, m, fmt.Sprint("t", i, "-"), time.Duration(i)*time.Millisecond, func(ctx context.Context) error {
			cut, err := m.CutPower(ctx, cluster.Power{})
			names += cut.Names
			return err
		}))
	}
	t.Logf("%d of %d acknowledged writes are lost; %d changes of names were undone", sum.lost, sum.acked, names)
	if sum.lost > 0 || sum.acked == 0 {
		t.Error("want nothing lost")
	}
}

// A torn file may keep a server from coming back, which Start says.
func TestATornPowerCut(t *testing.T) {
	needs(t, "process")
	_, m := shimmed(t, "process", cluster.Config{Persistence: cluster.Everysec})
	var sum trialResult
	failed := 0
	for i := range 20 {
		if m.State() == cluster.Down { // it did not come back: its disk is replaced
			failed++
			if err := os.RemoveAll(filepath.Join(m.now().data(), "appendonlydir")); err != nil {
				t.Fatal(err)
			}
			must(t, m.Start)
		}
		sum = sum.and(trial(t, m, fmt.Sprint("t", i, "-"), 15*time.Millisecond, cutting(m, cluster.Power{Torn: true, Seed: uint64(i)})))
	}
	t.Logf("%d of %d acknowledged writes are lost; %d times it did not come back", sum.lost, sum.acked, failed)
	if sum.lost == 0 || sum.lost == sum.acked {
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
	r := trial(t, m, "a", 1500*time.Millisecond, m.Kill)
	t.Logf("%d of %d acknowledged writes are lost", r.lost, r.acked)
	if r.lost == 0 {
		t.Error("want some lost")
	}
}
