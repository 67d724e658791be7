package audit

import (
	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/search"
	"slices"
	"strings"
	"testing"
)

// TestNotVaried: what the card says was not varied names situations of the battery, and goes away once one was tried.
func TestNotVaried(t *testing.T) {
	all := Battery()
	for _, d := range dimensions {
		for _, id := range d.situations {
			if !slices.ContainsFunc(all, func(s Situation) bool { return s.ID == id }) {
				t.Errorf("%s: the battery has no situation %q", d.name, id)
			}
		}
	}
	r := &Result{Rows: []Row{{ID: "odd-names", Schedules: 1}, {ID: "deadlines", Skipped: "not applicable"}}}
	if got := r.NotVaried(); slices.Contains(got, "names of keys") || !slices.Contains(got, "how long callers wait") || !slices.Contains(got, "TTLs") {
		t.Errorf("not varied: %v", got)
	}
}

// TestNotKnown: what the audit could not see of a lock is kept with each row, so that a card of several shards, or of an audit
// that went on, says it, too.
func TestNotKnown(t *testing.T) {
	opt := Options{Lock: "mine", One: true, Only: []string{"quiet", "restart-forgets"}}
	p, err := NewPart(opt, search.Shard{Index: 1, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []Row{
		{ID: "quiet", Schedules: 2, Complete: true, TooFew: "one was asked"},
		{ID: "restart-forgets", Schedules: 1, Complete: true, Errors: []string{"a panic"}, Untested: map[string]string{checker.Quorum.Name: "its keys are counters"}},
	} {
		if err := p.Add(row.ID, Sharded{Row: row}); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := Merged(p, campaign.Store{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Join(r.NotKnown(), "\n")
	if !strings.Contains(says, "needs is not known: one was asked") || !strings.Contains(says, "L1, and all that rests on votes: its keys are counters") {
		t.Errorf("it says %q", says)
	}
	if r.Schedules != 3 || r.Errors != 1 || !r.One {
		t.Errorf("%d schedules, %d errors, one master: %v", r.Schedules, r.Errors, r.One)
	}
}
