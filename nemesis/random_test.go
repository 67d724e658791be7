package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history/fault"

	"pgregory.net/rapid"
)

var points = []string{"after-quorum", "before-enter", "before-write"}

// busy has clients take leases, ask masters and pass points until the time is up.
func (s *stage) busy(until time.Duration) {
	for i := 0; ; i++ {
		at := time.Duration(i) * 170 * time.Millisecond
		if at >= until {
			return
		}
		client, token := fmt.Sprintf("c%d", i%len(s.env.Clients)+1), fmt.Sprintf("t%d", i)
		s.at(at, func() {
			var voters []string
			for j, m := range s.cluster.masters {
				s.ask(client, m.Name())
				if (i+j)%5 < 4 {
					voters = append(voters, m.Name())
				}
			}
			s.grant(client, "k0", token, voters...)
			s.pauses.pass(client, points[i%len(points)])
		})
		if i%3 > 0 { // some are never released
			s.at(at+150*time.Millisecond, func() { s.release(client, "k0", token) })
		}
	}
}

// TestRandomCoversAllKinds: one pack of cards installs every kind of fault, and what
// was asked for in a row of intervals is done in about that time.
func TestRandomCoversAllKinds(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			s := on(t, 5, 3, seed)
			const rounds = 3
			n := rounds * len(kinds)
			length := time.Duration(n) * 4 * ttl
			s.busy(length)
			s.env.RestartDelay = ttl / 2
			s.Random(s.ending(length), Plan{Faults: kinds, Interval: 3 * ttl, Points: points})
			faults := s.faults(t)
			count, bit := map[string]int{}, map[string]int{}
			for _, f := range faults {
				if f.Installed {
					count[f.Name]++
				}
				if f.TookEffect {
					bit[f.Name]++
				}
			}
			for _, name := range kinds {
				if count[name] < rounds-1 || bit[name] == 0 {
					t.Errorf("seed %d: %s was installed %d times and bit %d times in %d steps", seed, name, count[name], bit[name], len(faults))
				}
			}
			if len(faults) < n || len(faults) > 2*n {
				t.Errorf("seed %d: %d faults in %v", seed, len(faults), length)
			}
			s.settled(t)
		})
	}
}

// TestRandomKeepsToItsPlan: only the faults, targets and points that it may use.
func TestRandomKeepsToItsPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 5, 3, 1)
		s.at(20*time.Second, func() { s.grant("c1", "k0", "t1", "m2", "m3", "m4") })
		s.Random(s.ending(30*time.Second), Plan{Faults: []string{"pause", "slow"}, Targets: []string{Holders}, Interval: ttl})
		skipped, hit := 0, 0
		for _, f := range s.faults(t) {
			switch {
			case f.Name != "pause" && f.Name != "slow":
				t.Errorf("%s", f.Name)
			case f.Skipped != "":
				skipped++
			case !slices.Equal(f.Masters, []string{"m2", "m3", "m4"}) || f.Params["target"] != Holders:
				t.Errorf("%s hit %v", f.Name, f.Masters)
			default:
				hit++
			}
		}
		if skipped == 0 || hit == 0 {
			t.Errorf("%d skipped, %d hit", skipped, hit)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 5, 3, 1)
		s.Random(s.ending(30*time.Second), Plan{Faults: []string{"client-pause"}, Points: []string{"before-enter"}})
		faults := s.faults(t)
		if len(faults) < 20 || len(faults) > 60 {
			t.Errorf("%d faults in 30 TTLs without an interval", len(faults))
		}
		for _, f := range faults {
			if f.Params["point"] != "before-enter" {
				t.Errorf("%v", f.Params)
			}
		}
	})
}

// TestRandomSeed: the seed decides what is drawn.
func TestRandomSeed(t *testing.T) {
	drawn := func(seed uint64) (all []string) {
		synctest.Test(t, func(t *testing.T) {
			s := on(t, 5, 3, seed)
			s.Random(s.ending(60*time.Second), Plan{Faults: kinds, Interval: ttl, Points: points})
			for _, f := range s.faults(t) {
				all = append(all, fmt.Sprint(f.Began, f.Name, f.Masters, f.Clients, f.Params))
			}
		})
		return all
	}
	if a, b := drawn(1), drawn(1); !slices.Equal(a, b) {
		t.Errorf("the same seed drew\n%q\nand then\n%q", a, b)
	}
	if slices.Equal(drawn(1), drawn(2)) {
		t.Error("two seeds drew the same")
	}
}

// TestEverythingHeals: whoever writes the steps, whatever they are, and whenever the
// run ends, nothing is installed when it returns, and it returns soon.
func TestEverythingHeals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		masters, clients := rapid.IntRange(1, 6).Draw(t, "masters"), rapid.IntRange(1, 4).Draw(t, "clients")
		seed := rapid.Uint64().Draw(t, "seed")
		length := time.Duration(rapid.IntRange(1, 12_000).Draw(t, "ms")) * time.Millisecond
		author := rapid.SampledFrom([]string{"random", "guided", "schedule"}).Draw(t, "author")
		plan := Plan{
			Faults:   rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, -1, rapid.ID).Draw(t, "faults"),
			Targets:  rapid.SliceOfN(rapid.SampledFrom(Targets), 0, 2).Draw(t, "targets"),
			Interval: time.Duration(rapid.IntRange(0, 1000).Draw(t, "interval")) * time.Millisecond,
			Points:   points,
		}
		restart := time.Duration(rapid.IntRange(0, 2000).Draw(t, "restart")) * time.Millisecond
		steps := rapid.SliceOfN(steps(masters, clients), 1, 8).Draw(t, "steps")
		rapid.SyncTest(t, func(t *rapid.T) {
			s := on(t, masters, clients, seed)
			s.env.RestartDelay = restart
			s.busy(length)
			ctx := s.ending(length)
			switch author {
			case "random":
				s.Random(ctx, plan)
			case "guided":
				s.Guided(ctx, plan)
			case "schedule":
				for i, step := range steps {
					if err := step.Check(masters, s.env.Clients, points); err != nil {
						t.Fatalf("step %d: %v", i+1, err)
					}
				}
				s.Schedule(ctx, steps)
			}
			if took := s.now(); took < length || took > length+max(ttl, restart)+100*time.Millisecond { // a TTL for those who hold a lease when a clock is set forward again
				t.Errorf("told to end after %v, it ended after %v", length, took)
			}
			s.settled(t)
			faults := s.faults(t)
			for _, f := range faults {
				if f.Installed && !f.Healed {
					t.Errorf("%s %d was never healed: %s", f.Name, f.ID, f.Problem)
				}
				if kind := fault.Of(f.Name); f.Installed && kind.EndsMaster() && author != "schedule" && f.To-f.From < restart {
					t.Errorf("%s %d: the masters came back after %v, told to stay down for %v", f.Name, f.ID, f.To-f.From, restart)
				}
			}
			if author == "schedule" && len(faults) != len(steps) {
				t.Errorf("%d steps made %d faults", len(steps), len(faults))
			}
			time.Sleep(time.Minute) // what was left behind would show
			s.settled(t)
		})
	})
}

func steps(masters, clients int) *rapid.Generator[Step] {
	return rapid.Custom(func(t *rapid.T) Step {
		name := rapid.SampledFrom(kinds).Draw(t, "fault")
		kind := fault.Of(name)
		s := Step{Fault: name, For: time.Duration(rapid.IntRange(0, 3000).Draw(t, "for")) * time.Millisecond}
		if rapid.Bool().Draw(t, "triggered") {
			s.After = rapid.SampledFrom([]string{"any acquires any", "c1 releases k0", "step 1", "step 1 heals", "step 2 heals"}).Draw(t, "after")
			s.Plus = time.Duration(rapid.IntRange(0, 500).Draw(t, "plus")) * time.Millisecond
		} else {
			s.At = time.Duration(rapid.IntRange(0, 10_000).Draw(t, "at")) * time.Millisecond
		}
		if kind.Hits != fault.Clients {
			words := rapid.Map(rapid.SampledFrom(Targets), func(w string) []string { return []string{w} })
			names := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, masters), func(i int) string { return fmt.Sprintf("m%d", i) }), 1, -1, rapid.ID)
			s.Masters = rapid.OneOf(rapid.Just[[]string](nil), words, names).Draw(t, "masters")
		}
		if kind.Hits == fault.Links || kind.Hits == fault.Clients {
			words := rapid.Map(rapid.SampledFrom([]string{Any, All, Holder}), func(w string) []string { return []string{w} })
			names := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, clients), func(i int) string { return fmt.Sprintf("c%d", i) }), 1, -1, rapid.ID)
			s.Clients = rapid.OneOf(rapid.Just[[]string](nil), words, names).Draw(t, "clients")
		}
		switch {
		case kind.Clock == fault.MasterClock, kind.Clock == fault.ClientClock && rapid.Bool().Draw(t, "by clock"):
			s.Clock = rapid.SampledFrom([]string{"+60s", "-1s", "x1.5", "~300ms"}).Draw(t, "clock")
		case kind.Clock == fault.ClientClock:
			s.Rate = rapid.SampledFrom([]float64{0.5, 2}).Draw(t, "rate")
		case kind.Hits == fault.Clients:
			s.Point = rapid.SampledFrom(points).Draw(t, "point")
		}
		return s
	})
}

// TestLostMaster: a master that never comes back, and one that cannot be paused, end
// nothing but their own faults.
func TestLostMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 5, 3, 3)
		s.cluster.master("m2").noStart = true
		s.cluster.master("m3").noPause = true
		s.busy(60 * time.Second)
		s.env.RestartDelay = ttl / 2
		s.Random(s.ending(60*time.Second), Plan{Faults: []string{"kill", "pause", "partition"}, Interval: ttl})
		problems, healedLater := 0, 0
		for _, f := range s.faults(t) {
			switch {
			case f.Problem != "" && !slices.Contains(f.Masters, "m2"):
				t.Errorf("%s of %v: %s", f.Name, f.Masters, f.Problem)
			case f.Problem != "":
				problems++
			case f.Healed && problems > 0:
				healedLater++
			}
		}
		if problems == 0 || healedLater < 10 {
			t.Errorf("%d problems, %d faults healed after the first", problems, healedLater)
		}
		if hurt := s.cluster.hurt(); !slices.Equal(hurt, []string{"m2 is down"}) {
			t.Errorf("left: %v", hurt)
		}
	})
}

// TestActive: what is installed is told while it is, and not after.
func TestActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 3, 2, 1)
		var during []string
		s.at(1500*time.Millisecond, func() { during = s.Active() })
		s.Schedule(s.ending(3*time.Second), []Step{
			{Fault: "kill", At: time.Second, For: time.Second, Masters: []string{"m1", "m2"}},
			{Fault: "partition", At: 1100 * time.Millisecond, For: time.Second, Masters: []string{"m3"}, Clients: []string{"c2"}},
		})
		synctest.Wait()
		if want := []string{"kill m1 m2", "partition m3 c2"}; !slices.Equal(during, want) {
			t.Errorf("active: %q, want %q", during, want)
		}
		if after := s.Active(); len(after) > 0 {
			t.Errorf("active at the end: %q", after)
		}
		for _, f := range s.faults(t) {
			if f.TookEffect != (f.Name == "kill") {
				t.Errorf("%+v", f)
			}
		}
		if f := s.faults(t)[0]; f.From < time.Second || f.To < 2*time.Second {
			t.Errorf("%+v", f)
		}
	})
}

// TestAFailoverHealsBesideAPause: the old primary can start only when the fault has healed that stops its successor.
func TestAFailoverHealsBesideAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 1, 1, 1)
		s.busy(10 * time.Second)
		s.Schedule(s.ending(10*time.Second), []Step{
			{Fault: "failover", For: 500 * time.Millisecond, Masters: []string{"m1"}},
			{Fault: "pause", After: "step 1", Plus: 10 * time.Millisecond, For: 2 * time.Second, Masters: []string{"m1"}},
		})
		for _, f := range s.faults(t) {
			if !f.Installed || !f.Healed || f.Problem != "" {
				t.Errorf("%s: installed %v, healed %v: %s", f.Name, f.Installed, f.Healed, f.Problem)
			}
		}
		s.settled(t)
	})
}
