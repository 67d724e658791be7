package audit

import (
	"slices"
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
