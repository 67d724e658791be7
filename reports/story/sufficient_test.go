package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// replayed is a tiny model of masters and clients that knows nothing but the events of a
// narrative. Where an event contradicts those before it, and the narrative does not say that the
// step is unexplained, the narrative is not sufficient.
type replayed struct {
	quorum      int
	ttl         time.Duration
	v           *narrative.Violation
	stored      map[string]kept // by master
	votes       map[string]map[string]bool
	leases      []*held
	inside      map[string]time.Duration // by client: since when
	unexplained map[string]bool          // masters of which the narrative says so
	vague       bool                     // the narrative says so of something else
	wrong       []string
}

type kept struct {
	token string
	until time.Duration
}

// held is a lease as the narrative tells of it.
type held struct {
	client, token string
	fence         int64
	from, to      time.Duration
}

func replayEvents(v *narrative.Violation, header *history.Header) *replayed {
	r := &replayed{quorum: header.Quorum, ttl: header.TTL, v: v, stored: map[string]kept{}, votes: map[string]map[string]bool{}, inside: map[string]time.Duration{}, unexplained: map[string]bool{}}
	for i := range v.Events {
		if e := &v.Events[i]; e.Kind == narrative.EventUnexplained {
			for _, m := range e.Masters {
				r.unexplained[m] = true
			}
			r.vague = r.vague || len(e.Masters) == 0
		}
	}
	var last time.Duration
	for i := range v.Events {
		e := &v.Events[i]
		if e.Kind != narrative.EventViolated && e.At < last {
			r.complain(e, "lies before the event above")
		}
		last = max(last, e.At)
		r.apply(e)
	}
	return r
}

func (r *replayed) complain(e *narrative.Event, format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf("%v %s %q: ", e.At, e.Kind, e.Text)+fmt.Sprintf(format, args...))
}

func (r *replayed) apply(e *narrative.Event) {
	switch e.Kind {
	case narrative.EventAnswered:
		r.answered(e)
	case narrative.EventLost:
		for _, m := range e.Masters {
			if r.stored[m].token == e.Token {
				delete(r.stored, m)
			}
		}
	case narrative.EventUp:
		if e.Cause == "" {
			return
		}
		for _, m := range e.Masters {
			delete(r.stored, m)
			if e.Token != "" {
				r.stored[m] = kept{e.Token, e.At} // it may have been there for long, and end at any time
			}
		}
	case narrative.EventGranted:
		for _, m := range e.Yes {
			if !r.votes[e.Token][m] && !r.votesLater(e, m) {
				r.complain(e, "no event tells of the vote of %s", m)
			}
		}
		if e.Token != "" {
			r.leases = append(r.leases, &held{client: e.Client, token: e.Token, fence: e.Fence, from: e.At, to: e.Until})
		}
	case narrative.EventExtended, narrative.EventSkewed:
		if l := r.lease(e); l != nil {
			if e.Kind == narrative.EventExtended && e.At > l.to {
				r.leases = append(r.leases, &held{client: e.Client, token: e.Token, fence: l.fence, from: e.At, to: e.Until})
				return
			}
			l.to = e.Until
		}
	case narrative.EventReleased, narrative.EventCrashed, narrative.EventEnded:
		for _, l := range r.leases {
			if l.client == e.Client && (e.Token == "" || l.token == e.Token) {
				l.to = min(l.to, e.At)
			}
		}
	case narrative.EventEntered:
		r.inside[e.Client] = e.At
	}
}

// votesLater says whether the narrative tells of a vote after the grant: it was recorded late.
func (r *replayed) votesLater(grant *narrative.Event, master string) bool {
	for i := range r.v.Events {
		if e := &r.v.Events[i]; e.Kind == narrative.EventAnswered && e.Token == grant.Token && slices.Contains(e.Yes, master) {
			return true
		}
	}
	return false
}

func (r *replayed) lease(e *narrative.Event) *held {
	for _, l := range slices.Backward(r.leases) {
		if l.client == e.Client && l.token == e.Token {
			return l
		}
	}
	return nil
}

func (r *replayed) answered(e *narrative.Event) {
	for _, m := range e.Yes {
		switch e.Command {
		case history.CommandRelease:
			delete(r.stored, m)
		case history.CommandSet, history.CommandExtend:
			if x := r.stored[m]; x.token != "" && x.token != e.Token && e.At < x.until && !r.unexplained[m] {
				r.complain(e, "%s still stored %s until %v", m, x.token, x.until)
			}
			if r.votes[e.Token] == nil {
				r.votes[e.Token] = map[string]bool{}
			}
			r.votes[e.Token][m] = true
			ttl := e.TTL
			if ttl == 0 {
				ttl = r.ttl
			}
			r.stored[m] = kept{e.Token, e.At + ttl}
		}
	}
}

// finds says what the model lacks to find the violation by itself, or "".
func (r *replayed) finds() string {
	v := r.v
	kinds := func(kind narrative.EventKind) (found []*narrative.Event) {
		for i := range v.Events {
			if v.Events[i].Kind == kind {
				found = append(found, &v.Events[i])
			}
		}
		return found
	}
	at := func(kind narrative.EventKind, at time.Duration) *narrative.Event {
		for _, e := range kinds(kind) {
			if e.At == at {
				return e
			}
		}
		return nil
	}
	switch v.Property {
	case checker.MutualExclusion.Name:
		n := 0
		for _, l := range r.leases {
			if l.from <= v.At && l.to >= v.Until {
				n++
			}
		}
		if n < 2 {
			return fmt.Sprintf("%d leases cover the violation", n)
		}
	case checker.BeliefExclusion.Name:
		n := 0
		for _, in := range kinds(narrative.EventEntered) {
			left := r.v.Until
			for _, out := range kinds(narrative.EventLeft) {
				if out.Client == in.Client && out.Token == in.Token && out.At > in.At {
					left = min(left, out.At)
				}
			}
			if in.At <= v.At && left >= v.Until {
				n++
			}
		}
		if n < 2 {
			return fmt.Sprintf("%d clients are in their sections", n)
		}
	case checker.NoStaleWrite.Name, checker.FencedWrites.Name:
		applied := kinds(narrative.EventApplied)
		if len(applied) < 2 || len(r.leases) < 2 {
			return "no two writes of two leases"
		}
		rank := func(e *narrative.Event) int {
			return slices.IndexFunc(r.leases, func(l *held) bool { return l.token == e.Token })
		}
		if a, b := rank(applied[len(applied)-2]), rank(applied[len(applied)-1]); a < 0 || b < 0 || a <= b {
			return fmt.Sprintf("the last write is one of lease %d after one of lease %d", b, a)
		}
	case checker.NoLostUpdate.Name:
		if applied := kinds(narrative.EventApplied); len(applied) < 2 || len(kinds(narrative.EventRead)) == 0 && len(applied) < 3 {
			return "it does not tell what was computed from what"
		}
	case checker.FencingMonotone.Name:
		if n := len(r.leases); n < 2 || r.leases[n-1].fence > r.leases[0].fence {
			return "the fencing tokens grow"
		}
	case checker.Extension.Name:
		e := at(narrative.EventExtended, v.At)
		if e == nil {
			return "no extension"
		}
		over := slices.ContainsFunc(kinds(narrative.EventEnded), func(x *narrative.Event) bool { return x.Client == e.Client && x.At < e.At })
		if !over && len(e.Yes) >= r.quorum {
			return "the extension was in time and had a quorum"
		}
	case checker.Continuity.Name:
		e := at(narrative.EventExtended, v.At)
		if e == nil {
			return "no extension"
		}
		whole := slices.Clone(e.Yes)
		for _, x := range kinds(narrative.EventLost) {
			whole = slices.DeleteFunc(whole, func(m string) bool { return slices.Contains(x.Masters, m) })
		}
		if len(whole) >= r.quorum {
			return fmt.Sprintf("%v had the key all the time", whole)
		}
	case checker.MinValidity.Name:
		ends := map[string]time.Duration{}
		for _, e := range kinds(narrative.EventAnswered) {
			if e.Token == v.Tokens[0] && e.Command != history.CommandRelease {
				for _, m := range e.Yes {
					ends[m] = e.At + e.TTL
				}
			}
		}
		for _, e := range append(kinds(narrative.EventLost), kinds(narrative.EventSnapshot)...) {
			for _, m := range e.Masters {
				if e.Kind == narrative.EventSnapshot || e.Token == v.Tokens[0] {
					ends[m] = min(ends[m], e.At)
				}
			}
		}
		for _, e := range kinds(narrative.EventUp) {
			for _, m := range e.Masters {
				if e.Cause != "" && e.Token != v.Tokens[0] {
					ends[m] = min(ends[m], e.At)
				}
			}
		}
		n := 0
		for _, end := range ends {
			if end > v.At+time.Millisecond {
				n++
			}
		}
		if n >= r.quorum {
			return fmt.Sprintf("%d masters store the token: %v", n, ends)
		}
	case checker.Notified.Name:
		act := at(narrative.EventEntered, v.At)
		if act == nil {
			act = at(narrative.EventSent, v.At)
		}
		if act == nil {
			return "it does not tell what the client began"
		}
		for _, l := range r.leases {
			lost := slices.ContainsFunc(kinds(narrative.EventRefused), func(e *narrative.Event) bool { return e.Token == l.token && e.At < v.At })
			if l.client == act.Client && l.token == act.Token && l.from <= v.At && l.to > v.At && !lost {
				return "the lease was valid"
			}
		}
	case checker.OwnKeys.Name:
		if len(kinds(narrative.EventAnswered))+len(kinds(narrative.EventLost)) < 2 {
			return "it does not tell whose key it was"
		}
	case checker.OrphanKeys.Name, checker.GhostKeys.Name:
		over, seen := kinds(narrative.EventOver), kinds(narrative.EventSnapshot)
		if len(over) != 1 || len(seen) == 0 || seen[len(seen)-1].At <= over[0].At || seen[len(seen)-1].Token != over[0].Token {
			return "no snapshot lists the token after its owner needed it no more"
		}
	case checker.KeyLifetime.Name:
		if seen := kinds(narrative.EventSnapshot); len(seen) != 2 || seen[0].Token != seen[1].Token || seen[1].At-seen[0].At <= r.ttl {
			return "no two snapshots are further apart than the TTL"
		}
	case checker.DeadlockFree.Name, checker.Availability.Name, checker.HolderLoss.Name, checker.MinorityFailure.Name, checker.Progress.Name:
		if len(kinds(narrative.EventCalled))+len(kinds(narrative.EventAsked)) == 0 {
			return "nobody asks"
		}
		for _, l := range r.leases {
			if v.Property != checker.Availability.Name && l.from > v.At && l.from < v.Until && slices.Contains(v.Clients, l.client) {
				return "somebody was granted it"
			}
		}
	case checker.QuorumGranted.Name:
		if len(r.votes[v.Tokens[0]]) < r.quorum || slices.ContainsFunc(r.leases, func(l *held) bool { return l.token == v.Tokens[0] }) {
			return "there was no quorum, or it was granted"
		}
	case checker.DeadOnArrival.Name:
		if e := at(narrative.EventGranted, v.At); e == nil || e.Until > e.At {
			return "the lease was valid when it was granted"
		}
	}
	return ""
}

// badRun is a simulated run that violates something.
type badRun struct {
	lock   string
	change func(*scenario.Scenario)
}

var badRuns = []badRun{
	{"redlock", func(s *scenario.Scenario) { s.Faults, s.Nemesis = []string{"kill", "partition"}, scenario.Guided }},
	{"redlock", func(s *scenario.Scenario) { s.Faults, s.Nemesis = []string{"kill"}, scenario.Random }},
	{"redlock", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"powercut", "partition"}, "everysec" }},
	{"redlock", func(s *scenario.Scenario) {
		s.Faults, s.Nemesis, s.Persistence = []string{"clock", "partition"}, scenario.Guided, "always"
	}},
	{"redlock", func(s *scenario.Scenario) {
		s.Faults, s.Nemesis, s.Fencing = []string{"shutdown", "slow", "reset"}, scenario.Guided, true
	}},
	{"redlock", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"client-pause"}, "always" }},
	{"redlock", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"pause", "client-kill"}, "none" }},
	{"redlock", func(s *scenario.Scenario) {
		s.ClientRate, s.Hold, s.LongHolds, s.Extend = 0.3, "4s..5s", 0, 0
		s.Schedule = []scenario.Step{{Fault: "client-clock", After: "any enters any", Clients: []string{"all"}, Rate: 0.3, For: time.Minute}}
	}},
	{"redlock-plain-del", func(*scenario.Scenario) {}},
	{"redlock-weak-token", func(*scenario.Scenario) {}},
	{"redlock-time-token", func(*scenario.Scenario) {}},
	{"redlock-no-rollback", func(*scenario.Scenario) {}},
	{"redlock-quorum-half", func(s *scenario.Scenario) { s.Masters, s.Clients = 4, 4 }},
	{"redlock-extend-lies", func(s *scenario.Scenario) {
		s.Extend, s.LongHolds = 1, 1
		s.Schedule = []scenario.Step{{Fault: "partition", After: "c1 acquires k0", For: 4 * time.Second, Repeat: true, Clients: []string{"c1"}, Masters: []string{"m1", "m2", "m3"}, Mode: "drop"}}
	}},
	{"redlock-extend-recreates", func(s *scenario.Scenario) {
		s.Clients, s.Extend, s.LongHolds, s.Hold, s.TimeLimit = 2, 1, 0, "0s..100ms", 20*time.Second
		s.Schedule = []scenario.Step{{Fault: "client-pause", After: "c1 enters k0", For: 3 * time.Second, Repeat: true, Clients: []string{"c1"}, Point: "before-write"}}
	}},
	{"redlock-always-valid", func(s *scenario.Scenario) { s.Extend, s.LongHolds = 0, 1 }},
	{"redlock-renews-untold", func(s *scenario.Scenario) {
		s.LongHolds = 1
		s.Schedule = []scenario.Step{{Fault: "partition", After: "c1 enters k0", For: 4 * time.Second, Repeat: true, Clients: []string{"c1"}, Masters: []string{"all"}, Mode: "drop"}}
	}},
	{"redlock-extend-acquires", func(s *scenario.Scenario) { s.Extend, s.LongHolds = 1, 0.5 }},
	{"redlock-one-token", func(s *scenario.Scenario) {
		s.Persistence = "always"
		s.Schedule = []scenario.Step{{Fault: "kill", After: "any enters any", Repeat: true, For: 50 * time.Millisecond, Masters: []string{"all"}}}
	}},
	{"setnx", func(s *scenario.Scenario) {
		s.TimeLimit = 30 * time.Second
		s.Schedule = []scenario.Step{{Fault: "client-kill", At: time.Second, For: 5 * time.Second, Clients: []string{"c1"}, Point: "before-write"}}
	}},
	{"redlock-fence-incr", func(s *scenario.Scenario) {
		s.Fencing = true
		s.Schedule = []scenario.Step{
			{Fault: "partition", For: 2 * time.Second, Masters: []string{"m4", "m5"}, Clients: []string{"all"}, Mode: "drop"},
			{Fault: "partition", At: 3 * time.Second, For: 5 * time.Second, Masters: []string{"m1", "m2"}, Clients: []string{"all"}, Mode: "drop"},
		}
	}},
}

// TestNarrativesSuffice: a model that sees nothing but the events of a violation finds the
// violation in them, of each property, or the narrative says which step is unexplained.
func TestNarrativesSuffice(t *testing.T) {
	type tally struct{ told, unexplained int }
	found := map[string]*tally{}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for _, b := range badRuns {
		for seed := range seeds {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Seed, s.Faults, s.Clients, s.TimeLimit = scenario.Sim, b.lock, seed+1, nil, 3, 10*time.Second
			b.change(&s)
			h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
			if err != nil {
				t.Fatalf("%s: %v", b.lock, err)
			}
			for _, r := range checker.Check(h).Results {
				for i := range r.Violations[:min(len(r.Violations), 5)] {
					v := &r.Violations[i]
					if found[v.Property] == nil {
						found[v.Property] = &tally{}
					}
					x := replayEvents(v, &h.Header)
					found[v.Property].told++
					if len(x.unexplained) > 0 || x.vague {
						found[v.Property].unexplained++
					}
					missing := x.finds()
					if len(x.wrong) == 0 && missing == "" {
						continue
					}
					t.Errorf("%s, faults %v, seed %d: the events of %s do not suffice: %s\n%s\n%s", b.lock, s.Faults, s.Seed, v.Property, missing,
						strings.Join(x.wrong, "\n"), Prose(v, 140))
				}
			}
		}
	}
	for _, p := range checker.Properties {
		if n := found[p.Name]; n != nil {
			if n.unexplained > n.told/50+1 {
				t.Errorf("%s: %d of %d narratives have an unexplained step", p.Name, n.unexplained, n.told)
			}
			t.Logf("%-4s %-20s %4d told, %d of them with an unexplained step", p.Level, p.Name, n.told, n.unexplained)
		}
	}
	if len(found) < 12 {
		t.Errorf("only %d properties were violated", len(found))
	}
}

// TestAMissingEventIsMissed: without the event that took a key away, the model that replays the
// narrative complains.
func TestAMissingEventIsMissed(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Seed, s.Faults, s.Nemesis, s.Clients, s.TimeLimit = scenario.Sim, 2, []string{"kill", "partition"}, scenario.Guided, 3, 10*time.Second
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := checker.Check(h, checker.MutualExclusion).Results[0].Violations[0]
	if x := replayEvents(&v, &h.Header); len(x.wrong) > 0 || x.finds() != "" {
		t.Fatalf("%v %s", x.wrong, x.finds())
	}
	whole := v.Events
	v.Events = slices.DeleteFunc(slices.Clone(whole), func(e narrative.Event) bool { return e.Kind == narrative.EventUp || e.Kind == narrative.EventLost })
	if x := replayEvents(&v, &h.Header); len(x.wrong) == 0 {
		t.Error("nothing took the key away, and the model does not complain")
	}
	v.Events = slices.DeleteFunc(slices.Clone(whole), func(e narrative.Event) bool { return e.Kind == narrative.EventGranted && e.At < v.At })
	if x := replayEvents(&v, &h.Header); x.finds() == "" {
		t.Error("one lease is not told, and the model finds the violation all the same")
	}
}
