package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// campaign is a little one: what the package campaign does, in a world.
type campaign struct {
	lock        string
	persistence cluster.Persistence
	clients     int
	faults      []string
	replicas    int
	timeout     time.Duration // of one command; 0: the lock's own
	guided      bool
	ttl         time.Duration
	limit       time.Duration
	seed        uint64
	fencing     bool
	options     Options
	strategy    world.Strategy
	steps       []nemesis.Step
}

func defaults() campaign {
	return campaign{
		lock: "redlock", persistence: cluster.None, clients: 5, faults: []string{"kill", "partition"}, guided: true,
		ttl: 2 * time.Second, limit: 30 * time.Second, seed: 1,
	}
}

// run writes the campaign's history to out and returns its world.
func (c campaign) run(out io.Writer, w *world.World) error {
	w.Limit = c.limit*2 + time.Hour
	w.Strategy = c.strategy
	masters := New(w, cluster.Config{Persistence: c.persistence, Replicas: c.replicas}, c.options)
	rt := w.Runtime()
	start := rt.Now()
	rec, err := history.NewRecorder(out, history.Header{
		Name: "sim", Started: world.Epoch, Seed: c.seed, Driver: Driver, Lock: c.lock, Masters: 5, Quorum: 3, Persistence: string(c.persistence),
		Clients: c.clients, Keys: 1, TTL: c.ttl, Faults: c.faults, Fencing: c.fencing,
	}, func() time.Duration { return rt.Now().Sub(start) })
	if err != nil {
		return err
	}
	var inside error
	err = w.Run(func() { inside = c.inside(rec, masters, rt, start) })
	return errors.Join(err, inside, rec.Err())
}

func (c campaign) inside(rec *history.Recorder, masters *Cluster, rt *world.Client, start time.Time) error {
	kind, _ := workload.LockNamed(c.lock)
	load, err := workload.New(workload.Config{
		Lock: kind, Clients: c.clients, Keys: 1, TTL: c.ttl, HoldMax: time.Second, LongHolds: 0.1, Extend: 0.5,
		Think: 50 * time.Millisecond, AcquireTimeout: 3*c.ttl + time.Second, Seed: c.seed, Fencing: c.fencing, Timeout: c.timeout,
	}, rt, rec, start, func(client string) (workload.Env, error) {
		return workload.Env{Masters: masters.ClientMasters(client)}, nil
	})
	if err != nil {
		return err
	}
	if err := load.Open(); err != nil {
		return err
	}
	n := nemesis.New(nemesis.Env{
		Cluster: masters, Clients: workload.Clients(c.clients), Keys: func() []string { return workload.Keys(1) }, Pauses: load.Pauses, Runtime: rt, History: rec,
		Start: start, TTL: c.ttl, Seed: c.seed, Running: context.Background(),
	})
	working, stop := rt.WithCancelCause(context.Background())
	rt.AfterFunc(c.limit, func() { stop(errors.New("the time limit")) })
	struck, done := rt.WithCancelCause(context.Background())
	rt.Go(func() {
		defer done(nil)
		plan := nemesis.Plan{Faults: c.faults, Interval: c.ttl, Length: c.limit, Points: workload.Points}
		switch {
		case len(c.steps) > 0:
			n.Schedule(working, c.steps)
		case len(c.faults) == 0:
		case c.guided:
			n.Guided(working, plan)
		default:
			n.Random(working, plan)
		}
	})
	load.Run(working)
	for rt.Sleep(struck, time.Hour) == nil {
	}
	bound := 2*c.ttl + 5*time.Second + time.Duration(c.clients)*220*time.Millisecond
	rec.Record(history.Op{Process: history.Nemesis, Type: history.Info, F: history.FHealed, Value: &history.Value{Bound: bound}})
	load.FinalCheck(context.Background(), bound)
	rec.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	return errors.Join(load.Close(), masters.Close())
}

func (c campaign) history(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.run(&out, world.New(c.seed)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (c campaign) check(t testing.TB) (*history.History, checker.Report) {
	t.Helper()
	h, err := history.Read(bytes.NewReader(c.history(t)))
	if err != nil {
		t.Fatal(err)
	}
	r := checker.Check(h)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return h, r
}

func TestTheSameSeedMakesTheSameHistory(t *testing.T) {
	everything := []string{"pause", "kill", "shutdown", "partition", "slow", "reset", "client-pause"}
	for _, c := range []campaign{
		{lock: "redlock", persistence: cluster.None, clients: 5, faults: []string{"kill", "partition"}, guided: true, ttl: 2 * time.Second, limit: 10 * time.Second},
		{lock: "redlock", persistence: cluster.Everysec, clients: 4, faults: everything, ttl: time.Second, limit: 10 * time.Second, fencing: true,
			options: Options{Loss: 0.002, Duplicate: 0.01, Late: 0.01}},
		{lock: "redlock-sequential", persistence: cluster.Always, clients: 3, faults: everything, guided: true, ttl: time.Second, limit: 8 * time.Second},
		{lock: "single", persistence: cluster.RDB, clients: 3, faults: everything, ttl: time.Second, limit: 8 * time.Second},
		{lock: "redlock", persistence: cluster.Always, clients: 3, faults: fault.NamesOn("sim"), replicas: 2, guided: true, ttl: time.Second, limit: 8 * time.Second},
	} {
		before := runtime.GOMAXPROCS(0)
		seen := map[string]int{}
		for _, procs := range []int{1, 2, 4, 1} {
			runtime.GOMAXPROCS(procs)
			seen[fmt.Sprintf("%x", sha256.Sum256(c.history(t)))]++
		}
		runtime.GOMAXPROCS(before)
		if len(seen) != 1 {
			t.Errorf("%s, %s: four runs made %d different histories", c.lock, c.persistence, len(seen))
		}
		c.seed++
		if other := fmt.Sprintf("%x", sha256.Sum256(c.history(t))); seen[other] > 0 {
			t.Errorf("%s, %s: another seed made the same history", c.lock, c.persistence)
		}
	}
}

func TestRestartsWithoutPersistenceBreakTheLockAndWithFsyncAlwaysDoNot(t *testing.T) {
	for _, x := range []struct {
		persistence cluster.Persistence
		want        checker.Verdict
	}{{cluster.None, checker.Violated}, {cluster.Always, checker.Holds}} {
		began := time.Now()
		c := defaults()
		c.persistence, c.limit = x.persistence, 45*time.Second
		h, r := c.check(t)
		l2 := r.Result(checker.MutualExclusion)
		if l2.Verdict != x.want {
			t.Errorf("%s: %s: %s", x.persistence, l2.Verdict, l2.Why)
		}
		for _, p := range []checker.Property{checker.DeadlockFree, checker.Availability, checker.Extension} {
			if v := r.Result(p); v == nil || v.Verdict != checker.Holds {
				t.Errorf("%s: %s: %+v", x.persistence, p.Name, v)
			}
		}
		t.Logf("%s: %s: %s; %d operations of %v in %v", x.persistence, l2.Verdict, l2.Why, len(h.Ops), h.Ops[len(h.Ops)-1].Time, time.Since(began))
	}
}

func TestATapePlaysTheSameRun(t *testing.T) {
	c := defaults()
	c.limit = 5 * time.Second
	play := func(choices world.Choices) string {
		var out strings.Builder
		if err := c.run(&out, world.NewOf(1, choices)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	r := world.Record(world.NewRandom(1))
	first := play(r)
	p := world.Play(r.Tape, world.NewRandom(2))
	if play(p) != first || p.Diverged() != "" {
		t.Errorf("the tape plays something else: %s", p.Diverged())
	}
	cut := world.Play(r.Tape[:len(r.Tape)/2], world.NewRandom(2))
	if play(cut) == first || cut.Diverged() == "" {
		t.Error("half a tape plays the whole run")
	}
}
