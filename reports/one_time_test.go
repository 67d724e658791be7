package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker/narrative"
	"lockpick/reports/story"
	"lockpick/reports/term"
	"lockpick/search"
)

// killed is a simulated run in which a killed master breaks mutual exclusion.
func killed(t *testing.T) (*judge.Result, renderings) {
	t.Helper()
	s := scenario.Defaults()
	s.Driver, s.Seed, s.Faults, s.Nemesis, s.Clients, s.TimeLimit = scenario.Sim, 2, []string{"kill", "partition"}, scenario.Guided, 3, 10*time.Second
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return r, func(t *testing.T) map[string]string {
		v := firstViolation(r)
		var terminal, page, told bytes.Buffer
		found := &search.Found{Violation: *v}
		if err := errors.Join(Terminal(&terminal, h, r, term.Options{}),
			HTML(&page, h, r, nil), CounterexampleJSON(&told, Counterexample{Found: found})); err != nil {
			t.Fatal(err)
		}
		result, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Verdicts []struct {
				Property   string
				Violations []struct{ Reason []string }
			}
		}
		if err := json.Unmarshal(result, &read); err != nil {
			t.Fatal(err)
		}
		var reason string
		for _, x := range read.Verdicts {
			if x.Property == v.Property {
				reason = strings.Join(x.Violations[0].Reason, "\n")
			}
		}
		return map[string]string{"story": story.Prose(v, 100), "diagram": story.Diagram(v, 100), "terminal": terminal.String(), "page": page.String(), "counterexample": told.String(), "reason in JSON": reason}
	}
}

type renderings func(t *testing.T) map[string]string

// TestOneTimeEverywhere: a wrong time that is planted into an event of the narrative is found in
// every rendering, and in none without it.
func TestOneTimeEverywhere(t *testing.T) {
	r, render := killed(t)
	v := firstViolation(r)
	planted := 0
	for i := range v.Events {
		e := &v.Events[i]
		if e.Detail || e.Kind != narrative.EventFault && e.Kind != narrative.EventGranted && e.Kind != narrative.EventUp {
			continue
		}
		for name, text := range render(t) {
			if strings.Contains(text, "777.123") {
				t.Fatalf("the %s has the time before it is planted", name)
			}
		}
		planted++
		right := e.At
		e.At = 777123 * time.Millisecond
		for name, text := range render(t) {
			if !strings.Contains(text, "777.123") {
				t.Errorf("%s: the wrong time of %q is not in the %s", e.Kind, e.Text, name)
			}
		}
		e.At = right
	}
	if planted < 3 {
		t.Errorf("only %d events could be given a wrong time", planted)
	}
}

// TestAKillHasOneTime: the reason and the story of every property give the same time to the same
// blow of a fault.
func TestAKillHasOneTime(t *testing.T) {
	r, _ := killed(t)
	times := map[int]map[string][]time.Duration{} // by fault and masters
	for _, res := range r.Verdicts {
		for _, v := range res.Violations {
			for _, e := range v.Events {
				if e.Kind != narrative.EventFault {
					continue
				}
				if times[e.Fault] == nil {
					times[e.Fault] = map[string][]time.Duration{}
				}
				for _, m := range e.Masters {
					if !slices.Contains(times[e.Fault][m], e.At) {
						times[e.Fault][m] = append(times[e.Fault][m], e.At)
					}
				}
			}
		}
	}
	if len(times) < 2 {
		t.Fatalf("only %d faults are told", len(times))
	}
	for id, byMaster := range times {
		for m, all := range byMaster {
			if len(all) > 1 {
				t.Errorf("fault %d struck %s at %v", id, m, all)
			}
		}
	}
}
