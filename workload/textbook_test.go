package workload

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLocksAreWhole: every lock has a name of its own and says what it is; one that is wrong
// names a twin that is right, and all 33 bugs are planted.
func TestLocksAreWhole(t *testing.T) {
	bugs := map[string]bool{}
	for i, k := range Locks {
		if k.Name == "" || k.Summary == "" || k.New == nil {
			t.Errorf("lock %d (%q) is not whole", i, k.Name)
		}
		if j := slices.IndexFunc(Locks, func(o Implementation) bool { return o.Name == k.Name }); j != i {
			t.Errorf("two locks are called %s", k.Name)
		}
		twin, ok := LockNamed(k.Twin)
		switch {
		case k.Twin == "" && k.Bug != "":
			t.Errorf("%s has a planted bug and no twin without it", k.Name)
		case k.Twin != "" && (!ok || twin.Twin != "" || twin.Masters != k.Masters):
			t.Errorf("%s: its twin %q is not a correct lock on as many masters", k.Name, k.Twin)
		case k.Twin != "" && k.Bug == "" && len(k.Claims) == 0:
			t.Errorf("%s is wrong, and shows neither a bug nor a claim", k.Name)
		}
		bugs[k.Bug] = true
	}
	for n := 1; n <= 33; n++ {
		if bug := fmt.Sprintf("b%d", n); !bugs[bug] {
			t.Errorf("%s is planted in no lock", bug)
		}
	}
	if last := slices.IndexFunc(Locks, func(k Implementation) bool { return k.Twin != "" }); slices.ContainsFunc(Locks[last:], func(k Implementation) bool { return k.Twin == "" }) {
		t.Error("a correct lock comes after a wrong one")
	}
}

// TestLocksAreInTheDocs: docs/locks.md has a row for each lock.
func TestLocksAreInTheDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/locks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Locks {
		row := "| `" + k.Name + "` | "
		if k.Twin != "" {
			row += k.Shows() + " |"
		}
		if !strings.Contains(string(b), row) {
			t.Errorf("docs/locks.md has no row that begins with %q", row)
		}
	}
}
