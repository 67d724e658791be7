package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/realdrivers"
	"lockpick/internal/sampletest"
	"lockpick/search"
	"lockpick/workload"
)

func TestMain(m *testing.M) {
	for _, k := range kinds() {
		if err := workload.RegisterLock(k); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

var (
	driver   = flag.String("driver", scenario.Virtual, "driver of the masters: virtual or process")
	whole    = flag.Bool("whole", false, "try the whole battery, and not only some situations")
	compared = flag.String("compared", "", "compare the drivers in these situations, separated by commas; empty: in a random one")
)

// situations are those of make test, where masters, links and clients fail and memory is full, and those for real masters,
// where a schedule takes as long as it says.
var situations = []string{"quiet", "overrun", "extended", "cut-off-holder", "restart-remembers", "script-cache", "partitions",
	"lost-replies", "no-memory", "stopped-inside", "stopped-between", "dead-holder"}
var onRealMasters = []string{"restart-remembers", "partitions"}

// trueOf are violations that a control really has, and no false alarms: a reaper that misses a sign of life frees the lock,
// and an extension that answers late is believed.
var trueOf = map[string][]string{
	"reaper":          {"L2", "L3", "L4"},
	"extends-any":     {"L3", "L4"},
	"read-then-write": {"L3", "L4"},
}

// blocks are the situations in which an extension of any of these locks blocks until after the end of the lease, while its
// holder is in its critical section: L3 and L4 are really violated.
var blocks = []string{"cut-off-holder", "partitions"}

// TestControlsAreNotConvicted: of nothing that is not true of them. What cannot be known of their keys is not tested.
func TestControlsAreNotConvicted(t *testing.T) {
	only, seed := situations, rand.Uint64()
	if *driver != scenario.Virtual {
		only = onRealMasters
	}
	t.Logf("seed %d", seed)
	tried := sampletest.Of(t, 4, 4)
	for i, l := range locks {
		if !tried(i) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			for _, b := range broken(t, l.name+"-fixed", seed, only...) {
				if !slices.Contains(trueOf[l.name], b.level) && !(slices.Contains(blocks, b.situation) && (b.level == "L3" || b.level == "L4")) {
					t.Errorf("%s", b)
				}
			}
		})
	}
}

// TestBugsAreConvicted: in one situation, of what the bug is to blame for, by a story that says what was done to the
// keys. Two are not convicted: the clocks of wall-clock cannot be set one by one, and how often error-spin asks is a figure that
// no property judges.
func TestBugsAreConvicted(t *testing.T) {
	tried, number := sampletest.Of(t, 4, 4), 0
	for name, want := range map[string]struct{ situation, level, story string }{
		"reader-shortens":       {"quiet", "L2", "set the time to live of k0 to"},
		"reader-unlocks-writer": {"quiet", "L2", "deleted k0 on m1"},
		"permits-anew":          {"quiet", "L2", "changed sem:k0 on m1"},
		"waiter-dropped":        {"restart-remembers", "DF", "was refused"},
		"inner-shortens":        {"overrun", "L2", "set the time to live of k0 to 0.200s"},
		"error-is-yes":          {"cut-off-holder", "L1", "no one had said yes"},
		"patience-is-yes":       {"quiet", "L1", "no one had said yes"},
		"prefix-forgotten":      {"crowd", "AV", "was refused"},
		"stale-renewal":         {"cut-off-holder", "L2", "expired on m1"},
		"renews-none":           {"quiet", "L2", "m1 let k0 expire"},
		"watch-shared":          {"quiet", "L2", "k0"},
		"count-stays":           {"failover", "AV", "was refused"},
		"presence":              {"script-cache", "L2", "was granted"},
		"reaper":                {"quiet", "L2", "deleted k0 on m1"},
		"extends-any":           {"stopped-inside", "L2", "SET EX XX"},
		"read-then-write":       {"stopped-between", "L2", "SET EX XX"},
		"script-forgotten":      {"restart-remembers", "DF", "was refused"},
	} {
		if number++; !tried(number) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if *driver != scenario.Virtual {
				if why := map[string]string{"waiter-dropped": "on real masters no schedule of five met it", "read-then-write": "on real masters no client is stopped between two commands"}[name]; why != "" {
					t.Skip(why)
				}
			}
			var all []breakage
			for seed := uint64(1); seed <= 5; seed++ { // no schedule meets every bug: which client comes first is the scheduler's choice
				found := broken(t, name, seed, want.situation)
				if slices.ContainsFunc(found, func(b breakage) bool { return b.level == want.level && strings.Contains(b.String(), want.story) }) {
					return
				}
				all = append(all, found...)
			}
			t.Errorf("want %s, by a story with %q, of\n%s", want.level, want.story, all)
		})
	}
}

// TestDriversAgree: of a control, masters in memory and real ones give each property the same verdict in each situation, or
// the same reason why it is not tested. Schedules differ, so one may prove too little where the other does not, or nothing.
func TestDriversAgree(t *testing.T) {
	if *driver == scenario.Virtual {
		t.Skip("it compares masters in memory with others: -driver process")
	}
	seed := rand.Uint64()
	drawn := []string{situations[seed%uint64(len(situations))]}
	if *compared != "" {
		drawn = strings.Split(*compared, ",")
	}
	t.Logf("seed %d, situations %v", seed, drawn)
	tried := sampletest.Of(t, 2, 6)
	for i, l := range locks {
		if !tried(i) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			name := l.name + "-fixed"
			inMemory, real := verdicts(audited(t, scenario.Virtual, name, seed, drawn...)), verdicts(audited(t, *driver, name, seed, drawn...))
			for at, v := range inMemory {
				if r, ok := real[at]; ok && !v.agrees(r) && !slices.Contains(trueOf[l.name], v.level) && !slices.Contains(blocks, at.situation) {
					t.Errorf("%s: %s on masters in memory, %s on %s", at, v, r, *driver)
				}
			}
		})
	}
}

// where is the place of a verdict on a card.
type where struct{ situation, property string }

func (w where) String() string { return w.situation + ", " + w.property }

// verdict is what a card says there.
type verdict struct {
	level   string
	outcome audit.Outcome
	why     string
}

func (v verdict) String() string { return fmt.Sprintf("%s %q", v.outcome, v.why) }

// agrees reports whether two drivers may give these verdicts for one lock. What no lock can promise shows itself in some
// schedules, and others do not show it.
func (v verdict) agrees(w verdict) bool {
	either := func(o audit.Outcome) bool { return v.outcome == o || w.outcome == o }
	if either(audit.Inconclusive) || either(audit.Inherent) && !either(audit.Broken) {
		return true
	}
	return v.outcome == w.outcome && (v.outcome != audit.NotApplicable || v.why == w.why)
}

// verdicts returns all verdicts of a card.
func verdicts(card *audit.Result) map[where]verdict {
	all := map[where]verdict{}
	for _, row := range card.Rows {
		for _, cell := range row.Cells {
			for _, f := range cell.Findings {
				all[where{row.ID, f.Property}] = verdict{cell.Level, f.Outcome, f.Why}
			}
		}
	}
	return all
}

// breakage is a broken cell of a card.
type breakage struct {
	situation, level string
	finding          audit.PropertyResult
}

func (b breakage) String() string {
	return fmt.Sprintf("%s: %s %s: %s\n    %s", b.situation, b.level, b.finding.Property, b.finding.Why, strings.Join(b.finding.Reason, "\n    "))
}

// broken audits a lock and returns what is broken.
func broken(t *testing.T, lock string, seed uint64, only ...string) []breakage {
	t.Helper()
	var all []breakage
	for _, row := range audited(t, *driver, lock, seed, only...).Rows {
		for _, cell := range row.Cells {
			for _, f := range cell.Findings {
				if f.Outcome == audit.Broken {
					all = append(all, breakage{row.ID, cell.Level, f})
				}
			}
		}
	}
	return all
}

// audited returns the card of a lock on masters of a driver.
func audited(t *testing.T, driver, lock string, seed uint64, only ...string) *audit.Result {
	t.Helper()
	o := audit.Options{Lock: lock, Only: only, JobOptions: search.JobOptions{
		Driver: driver, Drivers: realdrivers.All(), Budget: search.Quick, Seed: seed, Most: 1, Workers: 2, Store: campaign.Store{Dir: t.TempDir()},
	}}
	if driver == scenario.Virtual {
		o.Run = func(_ context.Context, s scenario.Scenario) (*history.History, error) {
			h, err := campaign.Record(context.Background(), s, bubble.In(t), campaign.Options{})
			if errors.Is(err, bubble.ErrLeaked) { // some have goroutines that outlive them
				err = nil
			}
			return h, err
		}
	}
	if *whole {
		o.Only, o.Most = nil, 0
	}
	card, err := audit.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return card
}
