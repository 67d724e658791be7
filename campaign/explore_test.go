package campaign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"lockpick/checker"
	"lockpick/history"
	"lockpick/nemesis"
)

// hunt is a bug that explore has to find, and what it may shrink to.
type hunt struct {
	name   string
	within int // schedules
	change func(*Scenario)
}

// hunts are bugs of a system (the first three) and of locks.
var hunts = []hunt{
	{"restart without persistence", 20, func(s *Scenario) {}},
	{"a clock that jumps", 20, func(s *Scenario) {
		s.Persistence, s.Faults, s.Clock = "always", []string{"clock"}, "+60s"
	}},
	{"a restart delay below the TTL", 20, func(s *Scenario) {
		s.Faults, s.RestartDelay = []string{"kill", "partition"}, time.Second
	}},
	{"no drift allowance with fast masters", 300, func(s *Scenario) {
		s.Lock, s.Persistence, s.Faults, s.Clock = "redlock-no-drift", "always", []string{"clock", "client-pause"}, "x1.01"
	}},
	{"a quorum of N/2 with N = 4", 20, func(s *Scenario) {
		s.Lock, s.Masters, s.Persistence, s.Faults = "redlock-quorum-half", 4, "always", nil
	}},
	{"one token for all retries", 50, func(s *Scenario) {
		s.Lock, s.Persistence, s.Faults = "redlock-one-token", "always", []string{"slow", "partition", "pause"}
	}},
}

func base(change func(*Scenario)) Scenario {
	s := Defaults()
	s.Driver = Sim
	change(&s)
	return s
}

func mustExplore(t *testing.T, e Exploration) *Explored {
	t.Helper()
	x, err := Explore(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// mustFind explores, and shrinks what it finds.
func mustFind(t *testing.T, h hunt, seed uint64) *Shrunk {
	t.Helper()
	s := base(h.change)
	s.Seed = seed
	x := mustExplore(t, Exploration{Base: s, Schedules: h.within})
	if len(x.Found) != 1 {
		t.Fatalf("seed %d: found %d violations in %d schedules, want 1", seed, len(x.Found), x.Schedules)
	}
	z, err := Shrink(t.Context(), Shrinking{Scenario: x.Found[0].Scenario, TimeLimit: 5 * time.Minute})
	if err != nil {
		t.Fatalf("seed %d, schedule %d: %v", seed, x.Found[0].Number, err)
	}
	t.Logf("schedule %d of seed %d: %+v shrunk to %+v, violated with %d of %d seeds, in %d runs", x.Found[0].Number, seed, z.Before, z.Size, z.Rate, z.Seeds, z.Runs)
	for i, step := range z.Scenario.Schedule {
		t.Logf("step %d: %v", i+1, step)
	}
	return z
}

// Explore finds each bug, and shrinks it to a story of at most three faults and two
// clients, of which no fault can be left out.
func TestExploreFindsAndShrinks(t *testing.T) {
	for _, h := range hunts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			z := mustFind(t, h, 1)
			if z.Size.Faults > 3 || z.Size.Clients > 2 || !z.Minimal {
				t.Errorf("shrunk to %+v, minimal: %v", z.Size, z.Minimal)
			}
			if a, b := z.Before, z.Size; b.Faults > a.Faults || b.Clients > a.Clients || b.Masters > a.Masters || b.Keys > a.Keys || b.Hit > a.Hit {
				t.Errorf("%+v is worse than %+v", b, a)
			}
			if z.Violation.Level != "L2" || len(z.Violation.Reason) == 0 {
				t.Errorf("the violation is %+v", z.Violation)
			}
			// The scenario is whole: read from its file it is violated again, and its faults are necessary.
			yaml, err := z.Scenario.YAML()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseScenario(yaml)
			if err != nil {
				t.Fatalf("%v\n%s", err, yaml)
			}
			if _, r, err := judged(t.Context(), again); err != nil || verdictAt(r, "L2").Verdict != checker.Violated {
				t.Errorf("read from its file it is not violated (%v):\n%s", err, yaml)
			}
			for i := range again.Schedule {
				for seed := range uint64(20) {
					s := again.without(i)
					if seed > 0 {
						s.Seed = scheduleSeed(z.Scenario.Seed, int(seed)) // others than Shrink tried
					}
					if _, r, err := judged(t.Context(), s); err != nil || seed == 0 && verdictAt(r, "L2").Verdict == checker.Violated {
						t.Errorf("without step %d it is still violated (%v)", i+1, err)
					}
				}
			}
		})
	}
}

// A lease that is over before its acquire returned violates a property of its own.
func TestExploreFindsLeasesThatAreDeadOnArrival(t *testing.T) {
	property := checker.DeadOnArrival.Name
	s := base(func(s *Scenario) {
		s.Lock, s.Persistence, s.Faults = "redlock-no-validity", "always", []string{"client-pause", "slow"}
	})
	x := mustExplore(t, Exploration{Base: s, Schedules: 100, Properties: []string{property}})
	if len(x.Found) != 1 {
		t.Fatalf("found %d violations in %d schedules: %s", len(x.Found), x.Schedules, x.Properties[0].Why)
	}
	z, err := Shrink(t.Context(), Shrinking{Scenario: x.Found[0].Scenario, Properties: []string{property}, TimeLimit: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v shrunk to %+v: %v", z.Before, z.Size, z.Scenario.Schedule)
	if z.Size.Faults > 3 || z.Size.Clients > 2 || !z.Minimal {
		t.Errorf("shrunk to %+v, minimal: %v", z.Size, z.Minimal)
	}
	s.Lock = "textbook"
	if x := mustExplore(t, Exploration{Base: s, Schedules: 100, Properties: []string{property}}); len(x.Found) > 0 {
		t.Errorf("the twin that is right is blamed: %s", x.Found[0].Violation.Summary)
	}
}

// What was found in the simulator happens on real masters too.
func TestCounterexamplesReproduceOnProcesses(t *testing.T) {
	process := RealDrivers[1]
	if ok, why := process.Available(t.Context(), ""); !ok {
		t.Skipf("no driver %s: %s", process.Name, why)
	}
	for _, h := range hunts[:3] {
		t.Run(h.name, func(t *testing.T) {
			z := mustFind(t, h, 7)
			tried := 0
			out, err := Replay(t.Context(), Replaying{Scenario: z.Scenario, Driver: Process, Attempts: 10, Each: func(_ string, h *history.History, r *Result, _ bool) error {
				tried++
				if r.Driver != Process {
					t.Errorf("attempt %d ran on %s", tried, r.Driver)
				}
				return nil
			}}, Options{Store: Store{t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			if out.Reproduced != 1 || out.First == nil || tried != out.Attempts || len(out.Runs) != tried {
				t.Errorf("%+v after %d attempts, want one that reproduces it", out, tried)
			}
		})
	}
}

// The correct lock, within its assumptions, is never blamed.
func TestCorrectLockHoldsInEverySchedule(t *testing.T) {
	for name, c := range map[string]struct {
		schedules int
		change    func(*Scenario)
	}{
		"always": {1500, func(s *Scenario) {
			s.Persistence, s.Faults = "always", []string{"kill", "pause", "partition", "client-pause", "client-kill", "slow", "reset"}
		}},
		"restarts delayed beyond the TTL": {400, func(s *Scenario) {
			s.Faults, s.RestartDelay = []string{"kill", "partition", "client-pause"}, 2500*time.Millisecond
		}},
		"clocks within the allowance": {400, func(s *Scenario) {
			s.Persistence, s.Faults, s.Clock = "always", []string{"clock", "client-pause", "kill"}, "x1.005"
		}},
		"clocks that jump back": {400, func(s *Scenario) {
			s.Persistence, s.Faults, s.Clock = "always", []string{"clock", "client-pause"}, "-10s"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := mustExplore(t, Exploration{Base: base(c.change), Schedules: c.schedules})
			if x.Verdict() != checker.Holds || x.Schedules != c.schedules || x.Properties[0].Judged < c.schedules*9/10 {
				t.Errorf("%s after %d schedules, %d judged: %s", x.Verdict(), x.Schedules, x.Properties[0].Judged, x.Properties[0].Why)
			}
			for _, f := range x.Found {
				t.Errorf("schedule %d (seed %d): %s\n%s", f.Number, f.Seed, f.Violation.Summary, strings.Join(f.Violation.Reason, "\n"))
			}
			if !strings.Contains(x.Properties[0].Why, "3/n") {
				t.Errorf("it holds without a bound: %s", x.Properties[0].Why)
			}
			for kind, b := range x.Kinds {
				covered := 0
				for _, n := range x.Coverage[kind] {
					covered += n
				}
				if b.Bit == 0 || covered == 0 {
					t.Errorf("%s: %+v, covered %v", kind, b, x.Coverage[kind])
				}
			}
		})
	}
}

// An exploration is the same for the same seed, whatever the number of workers.
func TestExplorationsAreTheSame(t *testing.T) {
	for name, e := range map[string]Exploration{
		"nothing found":   {Base: base(func(s *Scenario) { s.Persistence = "always" }), Schedules: 40},
		"the first found": {Base: base(func(s *Scenario) { s.Faults, s.RestartDelay = []string{"kill"}, 1500*time.Millisecond }), Schedules: 100},
		"all found":       {Base: base(func(s *Scenario) {}), Schedules: 40, Collect: true},
		"a schedule":      {Base: base(func(s *Scenario) { s.Schedule = []Step{{Fault: "kill", After: "any acquires k0", Repeat: true}} }), Schedules: 20, Collect: true},
	} {
		t.Run(name, func(t *testing.T) {
			var first *Explored
			for _, workers := range []int{1, 2, 5} {
				e.Workers = workers
				x := mustExplore(t, e)
				x.Elapsed = 0
				if first == nil {
					first = x
				} else if diff := cmp.Diff(first, x, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("with %d workers:\n%.2000s", workers, diff)
				}
			}
			if found := len(first.Found); (name == "nothing found") != (found == 0) || name == "the first found" && (found != 1 || first.Schedules != first.Found[0].Number+1) {
				t.Errorf("found %d in %d schedules", found, first.Schedules)
			}
		})
	}
}

// An exploration that proves nothing does not say that anything holds.
func TestExplorationsThatProveNothing(t *testing.T) {
	x := mustExplore(t, Exploration{Base: base(func(s *Scenario) { s.Faults = []string{"full-disk"} }), Schedules: 10})
	if x.Verdict() != checker.Invalid || !strings.Contains(x.Properties[0].Why, "never bit") {
		t.Errorf("%s: %s", x.Verdict(), x.Properties[0].Why)
	}
	x = mustExplore(t, Exploration{Base: base(func(s *Scenario) { s.Faults = nil }), Schedules: 10, Properties: []string{"L5"}})
	if x.Verdict() != checker.Invalid || x.Properties[0].Judged != 0 {
		t.Errorf("%s: %s", x.Verdict(), x.Properties[0].Why)
	}
	// Of a level, those that are judged only if they are named do not count.
	x = mustExplore(t, Exploration{Base: base(func(s *Scenario) { s.Persistence, s.Faults = "always", []string{"kill"} }), Schedules: 30, Properties: []string{"AV"}})
	if x.Verdict() != checker.Holds || len(x.Properties) == 0 {
		t.Errorf("%s: %+v", x.Verdict(), x.Properties)
	}
	if _, err := Explore(t.Context(), Exploration{Base: base(func(s *Scenario) {})}); err == nil {
		t.Error("without an end it ran")
	}
}

// Whoever interrupts an exploration learns what was tried by then.
func TestInterruptedExploration(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	x, err := Explore(ctx, Exploration{
		Base: base(func(s *Scenario) { s.Persistence = "always" }), Schedules: 1 << 30,
		Live: func(s ExplorationStatus) {
			if s.Schedules > 3 {
				interrupt(errors.New("enough"))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Interrupted || x.Schedules < 3 || x.Verdict() != checker.Unknown || x.Counts.Granted == 0 {
		t.Errorf("%s after %d schedules, interrupted: %v", x.Verdict(), x.Schedules, x.Interrupted)
	}
	x = mustExplore(t, Exploration{Base: base(func(s *Scenario) { s.Persistence = "always" }), TimeLimit: 300 * time.Millisecond})
	if x.Interrupted || !x.OutOfTime {
		t.Errorf("out of time: %+v", x)
	}
}

// Whatever is drawn is a scenario, and keeps to what its base assumes.
func TestDrawnScenariosKeepToTheirBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyScenario(t)
		b.Driver, b.TTL = Sim, rapid.SampledFrom([]time.Duration{100 * time.Millisecond, 2 * time.Second, time.Minute}).Draw(t, "ttl")
		b.Clock = rapid.SampledFrom([]string{"", "+60s", "-60s", "x1.005"}).Draw(t, "clock")
		if b.Check() != nil {
			return
		}
		seed := rapid.Uint64().Draw(t, "seed of the schedule")
		s := draw(b, seed)
		if err := s.Check(); err != nil {
			yaml, _ := s.YAML()
			t.Fatalf("%v\n%s", err, yaml)
		}
		if diff := cmp.Diff(s, draw(b, seed)); diff != "" {
			t.Fatalf("drawn again it differs:\n%s", diff)
		}
		if s.Lock != b.Lock || s.Masters != b.Masters || s.Persistence != b.Persistence || s.TTL != b.TTL || s.Keys != b.Keys || s.Clients > b.Clients || s.RestartDelay != b.RestartDelay {
			t.Fatalf("%+v is not of %+v", s, b)
		}
		if len(b.Schedule) > 0 {
			if !cmp.Equal(s.Schedule, b.Schedule) {
				t.Fatal("the schedule was changed")
			}
			return
		}
		for _, step := range s.Schedule {
			kind, _ := nemesis.KindNamed(step.Fault)
			switch {
			case !slices.Contains(b.Faults, step.Fault):
				t.Fatalf("%v was not asked for", step)
			case kind.Restarts() && step.For < b.RestartDelay:
				t.Fatalf("%v is restarted before %v", step, b.RestartDelay)
			case step.Fault == "clock" && b.Clock != "" && step.Clock != b.Clock:
				t.Fatalf("%v, but the base has %s", step, b.Clock)
			case len(b.Targets) > 0 && kind.Hits != "clients" && !slices.Contains(b.Targets, step.Masters[0]):
				t.Fatalf("%v aims at what was not asked for", step)
			}
		}
	})
}

// With the scheduler pct the same seed makes the same run, and another than chance.
func TestPCTIsAnotherSchedule(t *testing.T) {
	s := base(func(s *Scenario) { s.Faults, s.TimeLimit, s.Scheduler = nil, 5*time.Second, PCT })
	one, err := Simulate(t.Context(), s, Simulation{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Simulate(t.Context(), s, Simulation{})
	if err != nil {
		t.Fatal(err)
	}
	s.Scheduler = Uniform
	other, err := Simulate(t.Context(), s, Simulation{})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(one, again) || cmp.Equal(one.Ops, other.Ops) {
		t.Errorf("the same again: %v; the same as by chance: %v", cmp.Equal(one, again), cmp.Equal(one.Ops, other.Ops))
	}
}
