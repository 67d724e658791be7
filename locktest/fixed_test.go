package locktest

import (
	"context"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/internal/racetest"
)

// TestLockWithoutExtend: an audit judges no extensions of a lock that has none, and calls nothing inconclusive. The same
// lock with an extend is judged.
func TestLockWithoutExtend(t *testing.T) {
	racetest.Exclude(t, "it runs many schedules")
	for _, extends := range []bool{false, true} {
		make := func(env Env) (Lock, error) {
			l, err := by(right())(env)
			if err != nil || extends {
				return l, err
			}
			return LockFunc(func(ctx context.Context, name string) (*Lease, error) {
				lease, err := l.Acquire(ctx, name)
				if lease != nil {
					lease.Extend = nil
				}
				return lease, err
			}), nil
		}
		card, _ := auditIn(t, t.TempDir(), make, []Option{Masters(1), Schedules(2), func(o *config) { o.only = []string{"crowd", "extended", "long-ttl", "extended-after-release"} }})
		for i := range card.Rows {
			for _, c := range card.Rows[i].Cells {
				if c.Level != "EXT" {
					continue
				}
				if judged := c.Outcome != audit.NotApplicable; judged && !extends || !judged && extends && strings.HasPrefix(card.Rows[i].ID, "extended") {
					t.Errorf("with an extend %v: %s: %s %v", extends, card.Rows[i].ID, c.Outcome, c.Findings)
				}
			}
		}
	}
}
