package locktest

import (
	"context"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/search"
)

// dumps is the simple lock, which also sends a command that masters in memory do not know.
func dumps(env Env) (Lock, error) {
	inner, err := simple(env)
	first := env.Clients()[0]
	return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
		first.Dump(ctx, key)
		return inner.Acquire(ctx, key)
	}), err
}

const dumpIsNotModelled = "not modelled: DUMP"

// TestExploreCallsALockInconclusiveWhoseCommandIsNotModelled: no schedule counts as one in which the lock holds.
func TestExploreCallsALockInconclusiveWhoseCommandIsNotModelled(t *testing.T) {
	c := prepare(t, "Explore", nil, dumps, []Option{Masters(1), Schedules(3)})
	x, err := search.Explore(t.Context(), search.ExploreOptions{Base: c.base, Schedules: c.schedules, Properties: c.base.Properties, Run: (&runner{t: t}).run})
	if err != nil {
		t.Fatal(err)
	}
	if x.Verdict() != checker.Invalid || !strings.Contains(why(x), dumpIsNotModelled) {
		t.Errorf("%s: %s", x.Verdict(), why(x))
	}
	for _, p := range x.Properties {
		if p.Conclusive != 0 || p.Lacking[dumpIsNotModelled] != x.Schedules {
			t.Errorf("%s: %d of %d schedules count, and others lack %v", p.Name, p.Conclusive, x.Schedules, p.Lacking)
		}
	}
}

// TestAuditCallsALockInconclusiveWhoseCommandIsNotModelled: it is safe in no respect, and broken in none.
func TestAuditCallsALockInconclusiveWhoseCommandIsNotModelled(t *testing.T) {
	racetest.Exclude(t, "it runs some hundred schedules")
	card, properties := auditIn(t, t.TempDir(), dumps, []Option{Masters(1), Schedules(1), Properties("L2")})
	h := &heard{TB: t}
	reportCard(h, card, properties)
	if all := strings.Join(h.errors, "\n"); !strings.Contains(all, "nothing was shown") || len(h.errors) != 1 {
		t.Errorf("the audit says %q", all)
	}
	if !strings.Contains(h.logged, dumpIsNotModelled) {
		t.Errorf("the reason is not among what it logs:\n%s", h.logged)
	}
	for _, row := range card.Rows {
		for _, cell := range row.Cells {
			for _, f := range cell.Findings {
				if cell.Level == "L2" && (f.Outcome != audit.Inconclusive || !strings.HasSuffix(f.Why, dumpIsNotModelled)) {
					t.Errorf("%s: %s is %s: %s", row.Name, f.Property, f.Outcome, f.Why)
				}
			}
		}
	}
}
