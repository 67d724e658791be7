package audit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/search"
)

// brokenLock is the audit of a lock that is wrong on purpose, on simulated masters.
func brokenLock(t *testing.T, store campaign.Store) *Result {
	t.Helper()
	r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 1, Store: store}, Lock: "redlock-plain-del", Only: []string{"overrun"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Count()[Broken] == 0 {
		t.Fatal("nothing is broken")
	}
	return r
}

// names lists what is in a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestConfirm: what is broken is replayed, and only what came back each time is called broken.
func TestConfirm(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	r := brokenLock(t, store)
	before := r.Count()
	if n := r.Confirmed().Count(); n[Broken] != 0 || n[Inconclusive] != before[Inconclusive]+before[Broken] {
		t.Errorf("before a replay: %v, of %v", n, before)
	}
	files := names(t, r.Folder)
	how := ConfirmOptions{Times: 2, Attempts: 1}
	if err := r.Confirm(t.Context(), how); err != nil {
		t.Fatal(err)
	}
	if n := r.Confirmed().Count(); n[Broken] != before[Broken] {
		t.Errorf("simulated violations came back in %d of %d cells", n[Broken], before[Broken])
	}
	kept, err := ReadResult(filepath.Join(r.Folder, ResultFile))
	if err != nil || kept.Confirmed().Count()[Broken] != before[Broken] {
		t.Errorf("the replays are not kept: %v", err)
	}
	if after := names(t, r.Folder); !slices.Equal(after, files) {
		t.Errorf("the replays left something behind: %v, before %v", after, files)
	}

	// A finding that does not come back: its run shows something else.
	other := brokenLock(t, store)
	for i := range other.Rows {
		for j := range other.Rows[i].Cells {
			c := &other.Rows[i].Cells[j]
			if c.Outcome == Broken {
				c.Findings = c.Findings[:1]
				c.Findings[0].Property = "no-lost-update"
			}
		}
	}
	if err := other.Confirm(t.Context(), how); err != nil {
		t.Fatal(err)
	}
	if n := other.Confirmed().Count(); n[Broken] != 0 {
		t.Errorf("%d cells are broken by what did not come back", n[Broken])
	}
}

// TestConfirmInterrupted: a replay that was interrupted is not a replay, and the next one goes on.
func TestConfirmInterrupted(t *testing.T) {
	r := brokenLock(t, campaign.Store{Dir: t.TempDir()})
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := r.Confirm(ctx, ConfirmOptions{Times: 1, Attempts: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			for _, f := range c.Findings {
				if f.Replayed != nil && !f.Replayed.Succeeded() {
					t.Errorf("%s counts as not replayed: %+v", f.Property, f.Replayed)
				}
			}
		}
	}
	if err := r.Confirm(t.Context(), ConfirmOptions{Times: 1, Attempts: 1}); err != nil || r.Confirmed().Count()[Broken] == 0 {
		t.Errorf("it did not go on: %v", err)
	}
}

// TestScoreboard: locks are audited one by one, a finished audit is not repeated if that is
// wanted, and a lock that cannot be tried is named.
func TestScoreboard(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	var begun, cards []string
	how := ScoreboardOptions{
		Entrants: []Entrant{{Name: "redlock"}, {Name: "absent", Missing: "needs a library"}, {Name: "redlock-plain-del"}},
		Audit:    Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 1, Store: store}, Only: []string{"overrun"}},
		Confirm:  ConfirmOptions{Times: 1, Attempts: 1}, Reuse: true,
		Begin: func(e Entrant, _ int) { begun = append(begun, e.Name) },
		Card:  func(r *Result) error { cards = append(cards, r.Folder); return nil },
	}
	b, err := Compare(t.Context(), how)
	if err != nil {
		t.Fatal(err)
	}
	if len(begun) != 3 || len(b.Entries) != 3 || b.Entries[1].Card != nil || b.Interrupted {
		t.Fatalf("begun %v, %d entries", begun, len(b.Entries))
	}
	if worst, n := b.Entries[2].Card.Worst("L2"); worst != Broken || n != 1 {
		t.Errorf("L2 of the wrong lock is %s in %d situations", worst, n)
	}
	if worst, _ := b.Entries[0].Card.Worst("L2"); worst == Broken {
		t.Error("the right lock is broken")
	}
	again, err := Compare(t.Context(), how)
	if err != nil || len(again.Entries) != 3 || again.Entries[2].Card.Folder != b.Entries[2].Card.Folder {
		t.Errorf("an audit was repeated: %v", err)
	}
	if len(cards) != 4 || cards[0] != cards[2] {
		t.Errorf("cards %v", cards)
	}
	how.Reuse = false
	if fresh, err := Compare(t.Context(), how); err != nil || fresh.Entries[0].Card.Folder == b.Entries[0].Card.Folder {
		t.Errorf("an old audit was taken: %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if cut, err := Compare(ctx, how); err != nil || !cut.Interrupted || len(cut.Entries) != 0 {
		t.Errorf("interrupted: %+v, %v", cut, err)
	}
	if entries, err := os.ReadDir(store.Dir); err != nil || len(entries) < 3 {
		t.Errorf("%d folders, %v", len(entries), err)
	}
}
