package serve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/checker"
)

// TestPrune: what all rules match is selected, and nothing else; what has a label, may be going on or is
// a link stays.
func TestPrune(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	broken, held := ran(t, store, "none"), ran(t, store, "always")
	labelled := ran(t, store, "always")
	if err := os.WriteFile(filepath.Join(store.Dir, labelled, LabelFile), []byte("keep me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	going := "20261122T000000-going"
	if err := os.MkdirAll(filepath.Join(store.Dir, going), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Dir, going, judge.HistoryFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(store.Dir, "20200101T000000-elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		rule Prune
		want []string
	}{
		{"all", Prune{}, []string{broken, held, going}},
		{"with a label", Prune{Labelled: true}, []string{broken, held, labelled, going}},
		{"violated", Prune{Verdicts: []checker.Verdict{checker.Violated}}, []string{broken}},
		{"not violated, of any size", Prune{Verdicts: []checker.Verdict{checker.Holds, checker.Invalid}, LargerThan: 1}, []string{held}},
		{"enormous", Prune{LargerThan: 1 << 40}, nil},
		{"ancient", Prune{OlderThan: 20 * 365 * 24 * time.Hour}, nil},
		{"the newest stay", Prune{Keep: 4}, nil},
	} {
		entries, err := Pruned(store, c.rule)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name)
			if e.Bytes == 0 && e.Name != going {
				t.Errorf("%s has no size", e.Name)
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
		for _, e := range entries {
			if e.Name == going && Delete(store, e) == nil {
				t.Error("a run that goes on was deleted")
			}
		}
	}
	entries, err := Pruned(store, Prune{Verdicts: []checker.Verdict{checker.Violated}})
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := Delete(store, entries[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(store.Dir, broken)); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", broken, err)
	}
	if Delete(store, entries[0]) == nil {
		t.Error("what is gone was deleted once more")
	}
}
