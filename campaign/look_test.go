package campaign

import (
	"testing"
	"time"

	"lockpick/history"
)

// TestLooksFollowTheTTL: a key is looked at several times within its TTL, however short.
func TestLooksFollowTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 30 * time.Second} {
		h, _ := mustRun(t, scenario(Sim, func(s *Scenario) { s.TTL, s.TimeLimit, s.Faults, s.Hold = ttl, 4*time.Second, nil, "0s..50ms" }))
		last := map[string]time.Duration{}
		for _, op := range h.Ops {
			if op.F != history.FLook {
				continue
			}
			if before, ok := last[op.Process]; ok && op.Time-before > min(ttl/4, time.Second)+100*time.Millisecond {
				t.Errorf("TTL %v: %v between two looks at %s", ttl, op.Time-before, op.Process)
			}
			last[op.Process] = op.Time
		}
		if len(last) != 5 {
			t.Errorf("TTL %v: looked at %d masters", ttl, len(last))
		}
	}
}
