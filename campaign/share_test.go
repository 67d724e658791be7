package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
)

// TestSharedLocks: without faults, clients hold locks of each kind together as the kind allows it, and not otherwise; readers
// and holders of permits write nothing.
func TestSharedLocks(t *testing.T) {
	for _, lock := range []string{"rw", "semaphore", "reentrant"} {
		t.Run(lock, func(t *testing.T) {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Faults, s.Clients, s.TimeLimit, s.Hold, s.LongHolds = scenario.Sim, lock, nil, 4, 30*time.Second, "0s..500ms", 0
			h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			leases := history.Leases(h.Ops)
			together, byToken := 0, map[string]*history.Lease{}
			for _, l := range leases {
				byToken[l.Token] = l
				weight := h.Header.Weight(l.Mode, l.Permits)
				for _, other := range leases {
					if span := other.Holds()[0]; other == l || span.From > l.Acquired() || span.To <= l.Acquired() {
						continue
					}
					together++
					if h.Header.Kind != history.Reentrant || other.Process != l.Process {
						weight += h.Header.Weight(other.ModeAt(l.Acquired()), other.Permits)
					}
				}
				if weight > h.Header.Capacity() {
					t.Errorf("%s was granted %s at %v beside others: %d of %d", l.Process, l.Key, l.Acquired(), weight, h.Header.Capacity())
				}
			}
			if len(leases) < 30 || together < 10 {
				t.Errorf("%d leases, of which %d were granted beside others", len(leases), together)
			}
			applied := 0
			for _, op := range h.Ops {
				if op.F != history.FApply {
					continue
				}
				applied++
				l := byToken[op.Value.Token]
				mode := l.Mode
				for _, c := range l.Changes { // the downgrade may come at the instant of the write, after it
					if c.Index < op.Index {
						mode = c.Mode
					}
				}
				if mode == history.ModeRead {
					t.Errorf("a write at %v by somebody who only reads", op.Time)
				}
			}
			if (applied > 0) != (h.Header.Kind != history.Semaphore) {
				t.Errorf("%d writes", applied)
			}
		})
	}
}

// TestMultiLock: an acquire of several keys is granted all of them at once, and no key to two clients.
func TestMultiLock(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Faults, s.Clients, s.TimeLimit, s.Hold, s.LongHolds = scenario.Sim, "multi", nil, 4, 30*time.Second, "0s..500ms", 0
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	byToken, sizes := map[string][]*history.Lease{}, map[int]int{}
	leases := history.Leases(h.Ops)
	for _, l := range leases {
		byToken[l.Token] = append(byToken[l.Token], l)
		for _, other := range leases {
			if span := other.Holds()[0]; other != l && other.Key == l.Key && span.From <= l.Acquired() && l.Acquired() < span.To {
				t.Errorf("%s was granted %s at %v beside %s", l.Process, l.Key, l.Acquired(), other.Process)
			}
		}
	}
	for token, parts := range byToken {
		sizes[len(parts)]++
		for _, l := range parts {
			if l.Invoked != parts[0].Invoked || l.Holds()[0] != parts[0].Holds()[0] {
				t.Errorf("of %s: %s is held %v, and %s %v", token, l.Key, l.Holds(), parts[0].Key, parts[0].Holds())
			}
		}
	}
	if sizes[1] == 0 || sizes[2] == 0 || sizes[3] == 0 || len(sizes) != 3 {
		t.Errorf("acquires by number of keys: %v", sizes)
	}
}

// TestKindOfALock: a lock is used as what it is.
func TestKindOfALock(t *testing.T) {
	for _, x := range []struct {
		change func(*scenario.Scenario)
		says   string
	}{
		{func(s *scenario.Scenario) { s.Kind = history.ReadWrite }, "kind: the lock redlock is a mutex, not a read-write lock: use --lock rw, or a lock of your own"},
		{func(s *scenario.Scenario) { s.Lock, s.Kind = "semaphore", history.Mutex }, "kind: the lock semaphore is a semaphore, not a mutex: use --lock redlock or --lock redlock-sequential or --lock single or --lock textbook or --lock textbook-single or --lock textbook-renewing or --lock fair, or a lock of your own"},
		{func(s *scenario.Scenario) { s.Kind = history.Multi }, "kind: the lock redlock is a mutex, not a multi-lock: use --lock multi, or a lock of your own"},
		{func(s *scenario.Scenario) { s.Permits = 2 }, "permits: a mutex has no permits: they are of a semaphore"},
		{func(s *scenario.Scenario) { s.Lock, s.Readers = "reentrant", 0.5 }, "readers: a re-entrant lock has no readers: they are of a read-write lock"},
		{func(s *scenario.Scenario) { s.Lock, s.Kind = "rw", history.Mutex }, ""},
		{func(s *scenario.Scenario) { s.Lock, s.Kind = "redisson-watchdog", history.Reentrant }, ""},
	} {
		s := scenario.Defaults()
		x.change(&s)
		says := ""
		if err := s.Check(); err != nil {
			says = err.Error()
		}
		if says != x.says {
			t.Errorf("%s used as %s: %q", s.Lock, s.Kind, says)
		}
	}
}
