package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLatestOfSomebodyElse: a file called latest is not replaced, and no run is made beside it.
func TestLatestOfSomebodyElse(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	latest := filepath.Join(store.Dir, "latest")
	if err := os.WriteFile(latest, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.create("redlock", time.Now()); err == nil || !strings.Contains(err.Error(), "not a link to a run") {
		t.Errorf("a run beside it: %v", err)
	}
	if b, err := os.ReadFile(latest); err != nil || string(b) != "mine" {
		t.Errorf("it holds %q now (%v)", b, err)
	}
	if all, err := os.ReadDir(store.Dir); err != nil || len(all) != 1 {
		t.Errorf("the store has %v (%v)", all, err)
	}
	if err := os.Remove(latest); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a link is replaced
		if _, err := store.create("redlock", time.Now()); err != nil {
			t.Error(err)
		}
	}
}
