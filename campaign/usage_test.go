package campaign

import (
	"strings"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// TestVotesBelongToTheClientThatAsks: also where several clients use one lock object, or one connection.
func TestVotesBelongToTheClientThatAsks(t *testing.T) {
	for _, lock := range []string{"redlock", "textbook", "single"} {
		for _, u := range []workload.Usage{workload.ShareLock, workload.ShareProcess} {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Faults, s.Usage = scenario.Sim, lock, nil, []string{string(u)}
			s = s.WithRequirements()
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			owner := map[string]string{}
			for _, l := range history.Leases(h.Ops) {
				owner[l.Token] = l.Process
			}
			voters := map[string]bool{}
			for _, op := range h.Ops {
				if op.F != history.FVote {
					continue
				}
				voters[op.Value.Client] = true
				if is := owner[op.Value.Token]; is != "" && is != op.Value.Client {
					t.Fatalf("%s, %s: a vote on a lease of %s is recorded as one for %s", lock, u, is, op.Value.Client)
				}
			}
			if len(voters) != s.Clients || len(owner) < 10 {
				t.Errorf("%s, %s: %d leases, votes for %v", lock, u, len(owner), voters)
			}
		}
	}
}

// TestSharedUsageIsRefused where single clients are hit, or cannot be part of a process.
func TestSharedUsageIsRefused(t *testing.T) {
	for says, change := range map[string]func(*scenario.Scenario){
		"partition hits single clients": func(s *scenario.Scenario) { s.Faults = []string{"kill", "partition"} },
		"have the same TTL":             func(s *scenario.Scenario) { s.ClientTTL = map[string]scenario.Duration{"c1": s.TTL} },
		"needs clients that are goroutines": func(s *scenario.Scenario) {
			s.Driver, s.ClientsAs = scenario.Process, scenario.Processes
		},
	} {
		s := scenario.Defaults()
		s.Driver, s.Faults, s.Usage = scenario.Sim, []string{"kill"}, []string{string(workload.ShareLock)}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
