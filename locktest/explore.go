package locktest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/otherfile"
	"lockpick/search"
	"lockpick/search/reduce"
)

// Explore tries many schedules of faults on the lock that make returns; it calls make once for each client.
// It fails the test if a schedule violates a property. It first replays the scenarios that have failed in
// earlier runs of the test, and does not explore if one of them fails again.
func Explore(t *testing.T, make func(Env) (Lock, error), options ...Option) {
	t.Helper()
	c := prepare(t, "Explore", nil, make, options)
	r := &runner{t: t, real: c.real}
	if r.replayKept(c) {
		return
	}
	e := r.exploration(c)
	found, err := search.Explore(t.Context(), e)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.reportLeaks()
	switch {
	case len(found.Found) == 0:
	case c.real:
		r.keep(c, found, "real masters differ each time, so it was not shrunk")
		return
	default:
		r.shrinkFound(c, e, found)
		return
	}
	if found.Verdict() != checker.Holds {
		t.Fatalf("locktest: inconclusive: %s", why(found))
	}
	kind := "virtual"
	if c.real {
		kind = "real"
	}
	t.Logf("%s: no violation in %d schedules, %v of "+kind+" time, %d leases; %s", strings.Join(c.base.Properties, ", "),
		found.Schedules, found.Simulated.Round(time.Second), found.Counts.Granted, why(found))
}

// exploration returns the schedules that the options ask for.
func (r *runner) exploration(c *config) search.ExploreOptions {
	e := search.ExploreOptions{Base: c.base, Schedules: c.schedules, TimeLimit: c.time, Properties: c.base.Properties, Run: r.run, Wording: exploreWording}
	if c.real {
		e.Workers = min(runtime.GOMAXPROCS(0), 2) // more runs at a time would disturb each other
	}
	return e
}

// Run runs one scenario, from a file such as those of testdata/lockpick, and fails the test if the run
// violates a property. It takes no options but RealRedis, Fencing, Retry and Fair.
func Run(t *testing.T, make func(Env) (Lock, error), file string, options ...Option) {
	t.Helper()
	c := prepare(t, "Run", usedByRun, make, options)
	s := load(t, c, file)
	r := &runner{t: t, real: c.real}
	h, err := r.run(t.Context(), s.WithRequirements())
	if err != nil {
		t.Fatalf("locktest: %s: %v", file, err)
	}
	r.reportLeaks()
	result, err := judge.History(h)
	if err != nil {
		t.Fatalf("locktest: %s: %v", file, err)
	}
	if v, _ := result.FirstViolation(s.Properties); v != nil {
		t.Errorf("%s", story(v, s)+keepRun(h)+"\nscenario: "+file)
	}
}

// Replay runs a scenario that has failed until it fails again, and then fails the test. The number of runs
// depends on the scenario's rate of failure (10 to 400 in memory, 10 on real masters). Explore replays all
// scenarios of its test in testdata/lockpick by itself. Replay takes no options but
// RealRedis, Fencing, Retry and Fair.
func Replay(t *testing.T, make func(Env) (Lock, error), file string, options ...Option) {
	t.Helper()
	c := prepare(t, "Replay", usedByRun, make, options)
	r := &runner{t: t, real: c.real}
	if !r.replay(load(t, c, file), file) {
		t.Logf("%s does not fail any more", file)
	}
	r.reportLeaks()
}

// prepare applies the options and flags, and registers the lock for scenarios.
func prepare(t testing.TB, function string, used []string, make func(Env) (Lock, error), options []Option) *config {
	t.Helper()
	c := &config{base: scenario.Defaults(), schedules: 500, time: time.Minute}
	if testing.Short() {
		c.schedules = 50
	}
	c.base.Driver, c.base.Lock, c.base.Name = scenario.Virtual, "test:"+t.Name(), strings.ReplaceAll(t.Name(), "/", "-")
	c.base.Persistence, c.base.Clients, c.base.Faults = "always", 3, []string{"kill", "partition", "pause"}
	c.base.Nemesis, c.base.Properties = scenario.Random, []string{"L2"}
	for _, o := range options {
		o(c)
	}
	if err := c.ignored(function, used); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	c.base.Fencing = c.fencing
	if *flagSchedules > 0 {
		c.schedules, c.time = *flagSchedules, 0
	}
	if *flagTime > 0 {
		c.schedules, c.time = 0, *flagTime
	}
	if *flagSeed > 0 {
		c.base.Seed = *flagSeed
	}
	if c.real {
		realRedis(t)
	}
	if err := register(c, make); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if err := c.base.Check(); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	return c
}

// why joins the explanations of the verdicts.
func why(found *search.ExploreResult) string {
	var all []string
	for _, p := range found.Properties {
		if p.Why != "" && !slices.Contains(all, p.Why) {
			all = append(all, p.Why)
		}
	}
	return strings.Join(all, "; ")
}

// storedPaths returns the beginning of the paths of the test's stored scenarios.
func (r *runner) storedPaths() string {
	return filepath.Join("testdata", "lockpick", strings.ReplaceAll(r.t.Name(), "/", "-"))
}

func load(t testing.TB, c *config, file string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(file)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	s.Lock, s.Driver = c.base.Lock, scenario.Virtual
	return s
}

// replayKept replays the test's stored scenarios, and reports whether one failed.
func (r *runner) replayKept(c *config) (failed bool) {
	r.t.Helper()
	files, err := filepath.Glob(r.storedPaths() + "-*.yaml")
	if err != nil {
		r.t.Fatalf("locktest: %v", err)
	}
	for _, f := range files {
		if r.replay(load(r.t, c, f), f) {
			failed = true
		} else {
			r.t.Logf("%s does not fail any more", f)
		}
	}
	return failed
}

// attempts is the most replays of a run on real masters, and of an input of the fuzzer. In memory a scenario
// is replayed more often, up to mostAttempts, the more rarely it has failed: two runs of one seed differ.
const (
	attempts     = 10
	mostAttempts = 400
)

// attemptsFor returns how many attempts let a scenario fail again with a probability of 95 %, if it failed in
// hits of runs. It assumes the lower end of the confidence interval of that rate.
func attemptsFor(hits, runs int) int {
	rate := search.Wilson(hits, runs, 1).Low
	if rate <= 0 {
		return mostAttempts
	}
	return min(max(int(math.Ceil(math.Log(0.05)/math.Log1p(-rate))), attempts), mostAttempts)
}

// rateLine is the first line of a scenario's file: how often the scenario failed.
const rateLine = "# It failed in %d of %d runs."

// attemptsOf returns the most replays of the scenario in a file.
func (r *runner) attemptsOf(file string) int {
	if r.real {
		return attempts
	}
	var hits, runs int
	if text, err := otherfile.Read(file, otherfile.MaxResult); err == nil {
		if _, err := fmt.Sscanf(string(text), rateLine, &hits, &runs); err == nil && hits > 0 && hits <= runs {
			return attemptsFor(hits, runs)
		}
	}
	return mostAttempts
}

// replay runs a scenario with seed after seed until it fails, at most attemptsOf times.
func (r *runner) replay(s scenario.Scenario, file string) (failed bool) {
	r.t.Helper()
	width := runtime.GOMAXPROCS(0)
	if r.real {
		width = 1
	}
	type attempt struct {
		h   *history.History
		v   *narrative.Violation
		err error
	}
	most := r.attemptsOf(file)
	for from := 0; from < most; from += width {
		tried := make([]attempt, min(width, most-from))
		var all sync.WaitGroup
		for i := range tried {
			all.Go(func() {
				c, a := s, &tried[i]
				c.Seed += uint64(from + i)
				var result *judge.Result
				if a.h, a.err = r.run(r.t.Context(), c.WithRequirements()); a.err == nil {
					result, a.err = judge.History(a.h, checker.PropertiesOf(s.Properties)...)
				}
				if a.err == nil {
					a.v, _ = result.FirstViolation(s.Properties)
				}
			})
		}
		all.Wait()
		for i, a := range tried {
			if a.err != nil {
				r.t.Fatalf("locktest: %s: %v", file, a.err)
			}
			if a.v != nil {
				r.t.Errorf("%s\nscenario: %s, which has failed before, failed again at attempt %d of at most %d", story(a.v, s)+keepRun(a.h), file, from+i+1, most)
				return true
			}
		}
	}
	return false
}

// searches is the most explorations in search of a violation that can be reproduced.
const searches = 4

// shrinkFound shrinks the scenario that an exploration found, and reports it. If the violation is too rare
// for that, it explores with other seeds.
func (r *runner) shrinkFound(c *config, e search.ExploreOptions, found *search.ExploreResult) {
	r.t.Helper()
	rare := found
	for range searches - 1 {
		if r.shrink(e.Base.Seed, found) {
			return
		}
		e.Base.Seed++
		again, err := search.Explore(r.t.Context(), e)
		if err != nil {
			r.t.Fatalf("locktest: %v", err)
		}
		if len(again.Found) == 0 {
			break
		}
		found = again
	}
	r.keep(c, rare, "it fails so rarely that it could not be shrunk")
}

// shrink shrinks the scenario that an exploration with a seed found, and reports it. It returns false if the
// scenario does not fail again.
func (r *runner) shrink(seed uint64, found *search.ExploreResult) (reproduced bool) {
	r.t.Helper()
	first := found.Found[0]
	limit := 30 * time.Second
	if testing.Short() {
		limit = 5 * time.Second
	}
	z, err := reduce.Shrink(r.t.Context(), reduce.ShrinkOptions{Scenario: first.Scenario, History: first.History, Properties: first.Scenario.Properties, TimeLimit: limit, Seeds: 20, Run: r.run})
	if errors.Is(err, reduce.ErrNotReproduced) {
		return false
	}
	if err != nil {
		r.t.Fatalf("locktest: %v", err)
	}
	s := z.Scenario
	file, err := r.write(s, z.Rate, z.Seeds)
	if err != nil {
		r.t.Errorf("locktest: %v", err)
	}
	rate := fmt.Sprintf("%d of %d runs of it fail", z.Rate, z.Seeds)
	r.t.Errorf("%s\nscenario: %s (schedule %d of seed %d, shrunk; %s)\nreplay: go test -run '^%s$'", story(&z.Violation, s)+keepRun(z.History),
		file, first.Number, seed, rate, strings.ReplaceAll(r.t.Name(), "/", "$/^"))
	return true
}

// keep reports a violation as it was found, and stores its scenario.
func (r *runner) keep(c *config, found *search.ExploreResult, why string) {
	r.t.Helper()
	first := found.Found[0]
	file, err := r.write(first.Scenario, 0, 0)
	if err != nil {
		r.t.Errorf("locktest: %v", err)
	}
	r.t.Errorf("%s\nscenario: %s (schedule %d of seed %d; %s)", story(&first.Violation, first.Scenario)+keepRun(first.History), file, first.Number, c.base.Seed, why)
}

// write stores a scenario in testdata, with the number of runs and how many of them failed. If runs is 0,
// that is unknown.
func (r *runner) write(s scenario.Scenario, hits, runs int) (file string, err error) {
	s.Driver = scenario.Virtual
	text, err := s.YAML()
	if err != nil {
		return "", err
	}
	file = fmt.Sprintf("%s-%x.yaml", r.storedPaths(), s.Seed)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	if runs > 0 {
		text = fmt.Appendf(nil, rateLine+"\n%s", hits, runs, text)
	}
	return file, os.WriteFile(file, text, 0o644)
}

func (r *runner) reportLeaks() {
	r.t.Helper()
	if n := r.leaked.Load(); n > 0 {
		r.t.Errorf("the lock left goroutines behind that wait for ever in %d schedules: they must end when it is closed, or with the context", n)
	}
}
