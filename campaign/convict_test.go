package campaign

import (
	"fmt"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/workload"
)

// planted is a lock with one bug, and the property that is about it.
type planted struct {
	lock, twin  string
	property    checker.Property
	persistence string
	faults      []string
	schedule    []scenario.Step
}

func plantedBugs() []planted {
	stop := func(client string) []scenario.Step {
		return []scenario.Step{{Fault: "client-pause", After: client + " enters k0", Clients: []string{client}, Point: workload.BeforeWrite, For: 20 * time.Second}}
	}
	return []planted{
		{"setnx", "textbook-single", checker.KeyLifetime, "always", []string{"client-kill"}, nil},
		{"set-del", "textbook-single", checker.OwnKeys, "always", []string{"client-pause"}, nil},
		{"redlock-plain-del", "textbook", checker.OwnKeys, "always", nil, nil},
		{"redlock-weak-token", "textbook", checker.OwnKeys, "always", nil, nil},
		{"redlock-one-token", "textbook", checker.OwnKeys, "always", []string{"pause"}, nil},
		{"redlock-late-start", "textbook", checker.MinValidity, "always", []string{"client-pause"}, nil},
		{"redlock-always-valid", "textbook", checker.Notified, "always", nil, nil},
		{"redlock-renews-untold", "textbook-renewing", checker.Notified, "always", []string{"pause"}, nil},
		{"redlock-extend-recreates", "textbook", checker.Continuity, "none", []string{"kill"}, nil},
		{"redlock-extend-lies", "textbook", checker.Extension, "always", []string{"partition"}, nil},
		{"setnx", "textbook-single", checker.HolderLoss, "always", []string{"client-kill"}, nil},
		{"redlock-renews-forever", "textbook-renewing", checker.HolderLoss, "always", nil, stop("c1")},
		{"redlock-waits-for-all", "textbook", checker.MinorityFailure, "always", nil, []scenario.Step{{Fault: "pause", At: time.Second, Masters: []string{"m5"}, For: 20 * time.Second}}},
		{"redlock-no-rollback", "textbook", checker.Progress, "always", []string{"partition"}, nil},
		{"redlock-one-start", "textbook", checker.QuorumGranted, "always", nil, nil},
		{"redlock-minority-error", "textbook", checker.QuorumGranted, "always", []string{"pause"}, nil},
		{"redlock-release-believed", "textbook", checker.OrphanKeys, "always", []string{"partition"}, nil},
		{"redlock-no-rollback", "textbook", checker.OrphanKeys, "always", nil, nil},
		{"redlock-cancelled-release", "textbook", checker.OrphanKeys, "always", []string{"pause"}, nil},
		{"redlock-release-overtakes", "textbook", checker.OrphanKeys, "always", []string{"pause"}, nil},
	}
}

// scenario is one with a seed.
func (c *planted) scenario(lock string, seed uint64) scenario.Scenario {
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Persistence, s.Faults, s.Schedule = scenario.Sim, lock, c.persistence, c.faults, c.schedule
	s.Nemesis, s.Seed, s.TimeLimit = []string{scenario.Guided, scenario.Random}[seed%2], seed, 20*time.Second
	return s
}

// A lock with one bug violates the property that is about it, and the same lock without
// the bug does not.
func TestPropertiesConvictPlantedBugs(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried := sampletest.Of(t, 6, 2)
	for i, c := range plantedBugs() {
		if !tried(i) {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", c.lock, c.property.Name), func(t *testing.T) {
			convicts := func(lock string, seeds uint64) bool {
				for seed := range seeds {
					if _, rep := judgedRun(t, c.scenario(lock, seed)); rep.Result(c.property) != nil && rep.Result(c.property).Verdict == checker.Violated {
						return true
					}
				}
				return false
			}
			if !convicts(c.lock, 40) {
				t.Errorf("no run of %s violated %s", c.lock, c.property.Name)
			}
			if convicts(c.twin, 10) {
				t.Errorf("a run of %s violated %s", c.twin, c.property.Name)
			}
		})
	}
}
