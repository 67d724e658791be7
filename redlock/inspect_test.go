package redlock_test

import (
	"slices"
	"testing"

	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// TestInspectWithAForger: a master that answers GET with nonsense is an error of that master.
func TestInspectWithAForger(t *testing.T) {
	forEachForgery(t, []string{"$9223372036854775807\r\n"}, func(masters []*forger, forged string) {
		locks, end := forgedLocks(t, masters, false)
		defer end()
		lease, err := locks.TryLock(t.Context(), "k")
		must(t, err)
		waittest.Until(t, "all masters store it", func() bool {
			_, keys, err := locks.Inspect(t.Context(), "k")
			return err == nil && !slices.ContainsFunc(keys, func(k redlock.MasterKey) bool { return k.Token != lease.Token() })
		})
		masters[0].forge("get", forged)
		waittest.Until(t, "both honest masters have the key", func() bool {
			holder, keys, err := locks.Inspect(t.Context(), "k")
			return err == nil && holder == lease.Token() && keys[0].Err != nil && keys[0].Name != ""
		})
	})
}
