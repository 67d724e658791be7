package locktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/search"
)

// Explore tries many schedules of faults on the lock that make makes, once for each client,
// and fails the test if one violates a property. Scenarios that have failed before are
// replayed first.
func Explore(t *testing.T, make func(Env) (Lock, error), options ...Option) {
	t.Helper()
	c := prepare(t, make, options)
	r := &runner{t: t}
	if r.replayKept(c) {
		return
	}
	found, err := search.Explore(t.Context(), search.ExploreOptions{
		Base: c.base, Schedules: c.schedules, TimeLimit: c.time, Properties: c.base.Properties, Run: r.run,
	})
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.reportLeaks()
	if len(found.Found) > 0 {
		r.shrink(c, found)
		return
	}
	if found.Verdict() != checker.Holds {
		t.Fatalf("locktest: inconclusive: %s", why(found))
	}
	t.Logf("%s: no violation in %d schedules, %v of virtual time, %d leases; %s", strings.Join(c.base.Properties, ", "),
		found.Schedules, found.Simulated.Round(time.Second), found.Counts.Granted, why(found))
}

// Run runs one scenario, from a file such as those of testdata/lockpick, and fails the test if it
// violates a property.
func Run(t *testing.T, make func(Env) (Lock, error), file string) {
	t.Helper()
	c := prepare(t, make, nil)
	s := load(t, c, file)
	r := &runner{t: t}
	h, err := r.run(t.Context(), s.WithRequirements())
	if err != nil {
		t.Fatalf("locktest: %s: %v", file, err)
	}
	r.reportLeaks()
	result, err := campaign.Judge(h)
	if err != nil {
		t.Fatalf("locktest: %s: %v", file, err)
	}
	if v, _ := result.FirstViolation(s.Properties); v != nil {
		t.Errorf("%s", story(v, s)+r.keepRun(h)+"\nscenario: "+file)
	}
}

// Replay runs a scenario that has failed until it fails again, up to 10 times, and fails the
// test then. Explore does so with all of testdata/lockpick by itself.
func Replay(t *testing.T, make func(Env) (Lock, error), file string) {
	t.Helper()
	c := prepare(t, make, nil)
	r := &runner{t: t}
	if !r.replay(load(t, c, file), file) {
		t.Logf("%s does not fail any more", file)
	}
	r.reportLeaks()
}

// prepare makes what the options say complete, and has scenarios know the lock.
func prepare(t *testing.T, make func(Env) (Lock, error), options []Option) *config {
	t.Helper()
	c := &config{base: campaign.Defaults(), schedules: 500, time: time.Minute}
	if testing.Short() {
		c.schedules = 50
	}
	c.base.Driver, c.base.Lock, c.base.Name = campaign.Virtual, "test:"+t.Name(), strings.ReplaceAll(t.Name(), "/", "-")
	c.base.Persistence, c.base.Clients, c.base.Faults = "always", 3, []string{"kill", "partition", "pause"}
	c.base.Nemesis, c.base.Properties = campaign.Random, []string{"L2"}
	for _, o := range options {
		o(c)
	}
	if *flagSchedules > 0 {
		c.schedules, c.time = *flagSchedules, 0
	}
	if *flagTime > 0 {
		c.schedules, c.time = 0, *flagTime
	}
	if *flagSeed > 0 {
		c.base.Seed = *flagSeed
	}
	if err := register(c.base.Lock, make); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if err := c.base.Check(); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	return c
}

// why is what the exploration says of the properties.
func why(found *search.ExploreResult) string {
	var all []string
	for _, p := range found.Properties {
		if p.Why != "" && !slices.Contains(all, p.Why) {
			all = append(all, p.Why)
		}
	}
	return strings.Join(all, "; ")
}

// kept are the scenarios of a test that have failed.
func (r *runner) kept() string {
	return filepath.Join("testdata", "lockpick", strings.ReplaceAll(r.t.Name(), "/", "-"))
}

func load(t *testing.T, c *config, file string) campaign.Scenario {
	t.Helper()
	s, err := campaign.LoadScenario(file)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	s.Lock, s.Driver = c.base.Lock, campaign.Virtual
	return s
}

// replayKept replays the test's scenarios, and says whether one failed.
func (r *runner) replayKept(c *config) (failed bool) {
	r.t.Helper()
	files, err := filepath.Glob(r.kept() + "-*.yaml")
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

// attempts is how often a scenario is replayed at most: runs of one seed differ.
const attempts = 10

func (r *runner) replay(s campaign.Scenario, file string) (failed bool) {
	r.t.Helper()
	for i := range attempts {
		h, err := r.run(r.t.Context(), s.WithRequirements())
		if err != nil {
			r.t.Fatalf("locktest: %s: %v", file, err)
		}
		result, err := campaign.Judge(h)
		if err != nil {
			r.t.Fatalf("locktest: %s: %v", file, err)
		}
		if v, _ := result.FirstViolation(s.Properties); v != nil {
			r.t.Errorf("%s\nscenario: %s, which has failed before, failed again at attempt %d", story(v, s)+r.keepRun(h), file, i+1)
			return true
		}
		s.Seed++
	}
	return false
}

// shrink makes the scenario smaller that an exploration found, and tells of it.
func (r *runner) shrink(c *config, found *search.ExploreResult) {
	r.t.Helper()
	first := found.Found[0]
	limit := 30 * time.Second
	if testing.Short() {
		limit = 5 * time.Second
	}
	z, err := search.Shrink(r.t.Context(), search.ShrinkOptions{Scenario: first.Scenario, History: first.History, Properties: first.Scenario.Properties, TimeLimit: limit, Seeds: 20, Run: r.run})
	if errors.Is(err, search.ErrNotReproduced) {
		file, err := r.write(first.Scenario)
		if err != nil {
			r.t.Errorf("locktest: %v", err)
		}
		r.t.Errorf("%s\nscenario: %s (schedule %d of seed %d; it fails so rarely that it could not be shrunk)", story(&first.Violation, first.Scenario)+r.keepRun(first.History), file, first.Number, c.base.Seed)
		return
	}
	if err != nil {
		r.t.Fatalf("locktest: %v", err)
	}
	s := z.Scenario
	file, err := r.write(s)
	if err != nil {
		r.t.Errorf("locktest: %v", err)
	}
	rate := fmt.Sprintf("%d of %d runs of it fail", z.Rate, z.Seeds)
	r.t.Errorf("%s\nscenario: %s (schedule %d of seed %d, shrunk; %s)\nreplay: go test -run '^%s$'", story(&z.Violation, s)+r.keepRun(z.History),
		file, first.Number, c.base.Seed, rate, strings.ReplaceAll(r.t.Name(), "/", "$/^"))
}

// write keeps a scenario beside the test.
func (r *runner) write(s campaign.Scenario) (file string, err error) {
	s.Driver = campaign.Virtual
	text, err := s.YAML()
	if err != nil {
		return "", err
	}
	file = fmt.Sprintf("%s-%x.yaml", r.kept(), s.Seed)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, text, 0o644)
}

func (r *runner) reportLeaks() {
	r.t.Helper()
	if n := r.leaked.Load(); n > 0 {
		r.t.Errorf("the lock left goroutines behind that wait for ever in %d schedules: they must end when it is closed, or with the context", n)
	}
}
