package campaign

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
)

// recordedLate is a history whose observers were late: each vote and each look was recorded up to
// two seconds after it happened, which the line says.
func recordedLate(h *history.History, random *rand.Rand) *history.History {
	late := &history.History{Header: h.Header, Ended: h.Ended}
	end := h.Ops[len(h.Ops)-1].Time
	for _, op := range h.Ops {
		if (op.F == history.FVote || op.F == history.FSnapshot) && random.IntN(4) == 0 {
			v := *op.Value
			v.Delay = min(time.Duration(random.Int64N(int64(2*time.Second))), end-op.Time)
			op.Time, op.Value = op.Time+v.Delay, &v
		}
		late.Ops = append(late.Ops, op)
	}
	slices.SortStableFunc(late.Ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	if i := slices.IndexFunc(late.Ops, func(op history.Op) bool { return op.F == history.FEnd }); i >= 0 {
		late.Ops = append(slices.Delete(late.Ops, i, i+1), late.Ops[i])
	}
	for i := range late.Ops {
		late.Ops[i].Index = i
	}
	return late
}

// TestLateObserversConvictNobody: votes and looks that are recorded late convict no correct lock,
// and where the TTL is long against the delay, a lock that is wrong is convicted by what they
// show all the same.
func TestLateObserversConvictNobody(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	convicted, delayed := map[string]int{}, 0
	for seed := range uint64(6) {
		for _, lock := range []string{"redlock", "textbook-renewing", "single", "fair", "redlock-plain-del", "redlock-extend-lies"} {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Seed, s.Persistence, s.Extend = scenario.Sim, lock, seed, "always", 0.5
			s.Masters, s.Clients, s.Keys, s.TTL, s.TimeLimit = 3+2*int(seed%2), 3+int(seed%5), 1+int(seed%3), 20*time.Second, 60*time.Second
			s.Hold, s.Faults, s.Nemesis = "0s..15s", []string{"pause", "kill", "partition"}, []string{scenario.Random, scenario.Guided}[seed%2]
			if seed%4 == 0 {
				s.TTL, s.Hold = 500*time.Millisecond, "0s..600ms" // too short for the delay
			}
			s = s.WithRequirements()
			h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			late := recordedLate(h, rand.New(rand.NewPCG(seed, 1)))
			for _, op := range late.Ops {
				if op.Value != nil && op.Value.Delay > 0 {
					delayed++
				}
			}
			wrong := lock == "redlock-plain-del" || lock == "redlock-extend-lies"
			for _, v := range checker.Check(late).Results {
				if v.Verdict != checker.Violated {
					continue
				}
				if convicted[lock+" of "+v.Name]++; !wrong {
					t.Errorf("%s, seed %d: %s: %s", lock, seed, v.Name, v.Why)
				}
			}
		}
	}
	t.Logf("%d lines were recorded late; convicted were %v", delayed, convicted)
	for _, of := range []string{"redlock-plain-del of own-keys", "redlock-extend-lies of extension"} {
		if convicted[of] == 0 {
			t.Errorf("%s was never convicted", of)
		}
	}
}
