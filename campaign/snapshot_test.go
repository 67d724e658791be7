package campaign

import (
	"context"
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// TestLooksFollowTheTTL: a key is looked at several times within its TTL, however short.
func TestLooksFollowTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 30 * time.Second} {
		h, _ := mustRun(t, shortScenario(scenario.Sim, func(s *scenario.Scenario) { s.TTL, s.TimeLimit, s.Faults, s.Hold = ttl, 4*time.Second, nil, "0s..50ms" }))
		last := map[string]time.Duration{}
		for _, op := range h.Ops {
			if op.F != history.FSnapshot {
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

// prefixed is redlock with other keys on the masters than the names of its locks.
type prefixed struct{ workload.Lock }

func (l prefixed) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	return l.Lock.Acquire(ctx, "lock:"+key)
}

// TestKeysOfOtherNamesAreLookedAt: the masters are asked for the keys that the lock uses.
func TestKeysOfOtherNamesAreLookedAt(t *testing.T) {
	all := workload.Locks
	t.Cleanup(func() { workload.Locks = all })
	right, _ := workload.LockNamed("redlock")
	workload.Locks = append(slices.Clone(all), workload.Implementation{Name: "prefixed", New: func(s workload.Env) (workload.Lock, error) {
		l, err := right.New(s)
		return prefixed{l}, err
	}})
	h, _ := mustRun(t, shortScenario(scenario.Sim, func(s *scenario.Scenario) { s.Lock, s.TimeLimit, s.Faults = "prefixed", 4*time.Second, nil }))
	if !slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.F == history.FSnapshot && op.Value.Keys["lock:k0"] != "" }) {
		t.Error("nobody saw lock:k0")
	}
}
