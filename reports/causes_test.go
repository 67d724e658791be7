package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/reports/story"
	"lockpick/reports/term"
)

// firstOf is the first violation of mutual exclusion that a few seeds of a scenario have.
func firstOf(t *testing.T, lock string, change func(*scenario.Scenario)) *narrative.Violation {
	t.Helper()
	for seed := range uint64(40) {
		s := scenario.Defaults()
		s.Driver, s.Lock, s.Seed, s.Faults, s.Clients, s.TimeLimit = scenario.Sim, lock, seed+1, nil, 3, 10*time.Second
		change(&s)
		h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checker.Check(h, checker.MutualExclusion).Results {
			if len(r.Violations) > 0 {
				return &r.Violations[0]
			}
		}
	}
	t.Fatal("no seed violates mutual exclusion")
	return nil
}

// TestStoriesNameTheCause: what broke the lock stands in the reason, in the story and among the
// faults that are blamed.
func TestStoriesNameTheCause(t *testing.T) {
	for _, c := range []struct {
		name, lock string
		change     func(*scenario.Scenario)
		says       string // regular expression
		fault      bool
	}{
		{"a late release of an earlier attempt with the same token", "fair-one-token", func(s *scenario.Scenario) {
			s.Faults, s.Persistence, s.Clients = []string{"pause"}, "always", 5
		}, `a release of c\d's own token(, which had been sent at \d+\.\d+s| late)`, false},
		{"a client's clock that ran slow from the beginning", "redlock", func(s *scenario.Scenario) {
			s.Faults, s.ClientRate, s.Hold, s.LongHolds, s.Extend = []string{"client-clock"}, 0.3, "4s..5s", 0, 0
		}, `The clock of c\d(, c\d)*( and c\d)? ran at 0\.3 times the true rate \(client-clock #\d+\)`, true},
		{"a killed master", "redlock", func(s *scenario.Scenario) { s.Faults, s.Nemesis = []string{"kill", "partition"}, scenario.Guided },
			`killed, without persistence \(kill #\d+\)`, true},
		{"a release without the token", "redlock-plain-del", func(*scenario.Scenario) {}, `executed a release of another token by c\d`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := firstOf(t, c.lock, c.change)
			t.Logf("%s", story.Prose(v, 120))
			told := strings.Join(strings.Fields(story.Prose(v, 1000)), " ")
			if !regexp.MustCompile(c.says).MatchString(told) {
				t.Errorf("the story does not say %s:\n%s", c.says, story.Prose(v, 120))
			}
			if reason := strings.Join(v.Steps(), "\n"); !regexp.MustCompile("(?i)" + c.says).MatchString(reason) {
				t.Errorf("the reason does not say %s:\n%s", c.says, reason)
			}
			if c.fault && len(v.Faults) == 0 {
				t.Error("no fault is blamed")
			}
			if slices.ContainsFunc(v.Events, func(e narrative.Event) bool { return e.Text == "" }) {
				t.Error("an event has no text")
			}
		})
	}
}

// TestViolationsAreGroupedByCause: a lock with a planted bug under kills and pauses. Each violation has one cause, the
// bug comes before what is inherent, and terminal, page and JSON list the same causes.
func TestViolationsAreGroupedByCause(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Seed, s.Faults, s.TimeLimit = scenario.Sim, "redlock-plain-del", 1, []string{"kill", "client-pause"}, 20*time.Second
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	n, inherent := 0, false
	for i, c := range r.Causes {
		n += c.Count
		of := 0
		for _, p := range c.Properties {
			of += p.Count
		}
		if of != c.Count {
			t.Errorf("%s: %d violations, %d of its properties", c.Says, c.Count, of)
		}
		if inherent = inherent || c.Without != ""; inherent && c.Without == "" && c.How != judge.Uncaused {
			t.Errorf("cause %d, %s, is the lock's own and comes after what is inherent", i, c.Says)
		}
	}
	if n != found(r) || len(r.Causes) < 3 || len(r.Causes) > 12 || !inherent {
		t.Fatalf("%d causes of %d violations, which have %d", len(r.Causes), found(r), n)
	}
	if first := r.Causes[0]; first.How != "deleted" || len(first.Faults) > 0 || first.Example == nil {
		t.Errorf("the planted bug is not the first cause: %+v", first)
	}
	var terminal, page, object bytes.Buffer
	if err := errors.Join(Terminal(&terminal, h, r, term.Options{}), HTML(&page, h, r, nil), JSON(&object, r)); err != nil {
		t.Fatal(err)
	}
	var read struct{ Causes []judge.Cause }
	if err := json.Unmarshal(object.Bytes(), &read); err != nil || len(read.Causes) != len(r.Causes) {
		t.Fatalf("%d causes in JSON: %v", len(read.Causes), err)
	}
	told := strings.Join(strings.Fields(terminal.String()), " ")
	for _, c := range r.Causes {
		if title := causeTitle(c) + ": " + causeLevels(c); !strings.Contains(told, "×"+term.Count(c.Count)+" "+title) {
			t.Errorf("the terminal does not list %s:\n%s", title, terminal.String())
		}
		if !strings.Contains(page.String(), "<b>"+template.HTMLEscapeString(causeTitle(c))+"</b>") {
			t.Errorf("the page does not list %s", causeTitle(c))
		}
	}
}
