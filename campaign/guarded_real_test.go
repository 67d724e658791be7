//go:build real

package campaign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/clients"
)

// guarded is the users of masters: clients may do all that a lock needs.
const guarded = "user app on >sec/ret ~* &* +@all"

// TestUsersAndTLS: where clients must log in and speak TLS, everything is judged as without, and a correct lock is not convicted.
func TestUsersAndTLS(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		r := votesAreJudged(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.ACL, s.TLS, s.Faults, s.TimeLimit = guarded, true, []string{"pause", "partition"}, scenario.Duration(20*time.Second)
		}))
		if v := verdictAt(r, "L2"); v == nil || v.Verdict != checker.Holds {
			t.Errorf("mutual exclusion: %+v", v)
		}
	})
}

// votesAreJudged runs a scenario and checks that what rests on votes is judged, and that nothing is violated. A run in which Lockpick
// was stopped around each lease, as on a machine that has too much to do, is made again, twice as long.
func votesAreJudged(t *testing.T, s scenario.Scenario) *judge.Result {
	t.Helper()
	_, r := mustRun(t, s)
	for range 2 {
		if l2 := verdictAt(r, "L2"); r.Untested["quorum"] == "" && l2 != nil && l2.Verdict != checker.Invalid {
			break
		}
		s.TimeLimit *= 2
		_, r = mustRun(t, s)
	}
	if why := r.Untested["quorum"]; why != "" || r.Verdict() == checker.Violated || r.Counts.Granted == 0 {
		t.Errorf("%s with %d leases; quorum is not tested: %q; notes %q", r.Verdict(), r.Counts.Granted, why, r.Notes)
		for _, v := range r.Verdicts {
			if v.Verdict == checker.Violated {
				t.Errorf("%s: %s\n%+v", v.Name, v.Why, v.Violations)
			}
		}
	}
	return r
}

// TestAClientIsToldHowToConnect: redis-py needs nothing but the address that it is told, and its votes are read although it
// speaks TLS.
func TestAClientIsToldHowToConnect(t *testing.T) {
	t.Parallel()
	command, err := clients.Resolve([]string{"redis-py"})
	if err != nil {
		t.Skip(err)
	}
	votesAreJudged(t, shortScenario(scenario.Process, func(s *scenario.Scenario) {
		s.Masters, s.Client, s.ACL, s.TLS, s.Faults = 1, command, guarded, true, []string{"pause"}
	}))
}

// TestACommandThatAUserMayNotSendIsTold: the run's notes name it, and the reply.
func TestACommandThatAUserMayNotSendIsTold(t *testing.T) {
	t.Parallel()
	_, r := mustShow(t, shortScenario(scenario.Process, func(s *scenario.Scenario) {
		s.ACL, s.Faults = guarded+" -eval -evalsha", nil
	}), "AV violated") // it cannot release its keys
	if !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.Contains(n, "EVAL") && strings.Contains(n, "--acl") && strings.Contains(n, "NOPERM")
	}) {
		t.Errorf("notes %q", r.Notes)
	}
}
