package campaign

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// What a run leaves in a pool must not show in the next one: neither in its history nor in its verdicts.
func TestAPoolChangesNoHistory(t *testing.T) {
	pool := NewPool()
	defer pool.Close()
	others := []func(*scenario.Scenario){
		func(s *scenario.Scenario) { s.Lock, s.Keys, s.Masters = "textbook", 3, 7 },
		func(s *scenario.Scenario) { s.Scheduler, s.Faults = scenario.PCT, []string{"kill", "client-pause"} },
		func(s *scenario.Scenario) { s.Network.Duplicate, s.Network.Loss = 0.1, 0.05 },
		func(s *scenario.Scenario) {
			s.Clients, s.Nemesis, s.Faults = 5, scenario.Guided, []string{"pause", "partition"}
		},
		func(s *scenario.Scenario) { s.Lock, s.Faults = "fair", []string{"client-kill"} },
	}
	for i := range 2 * len(others) {
		s := short(uint64(i))
		s.TimeLimit = 3 * time.Second
		if change := others[i%len(others)]; i >= len(others) {
			s.Schedule = nil
			change(&s)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		var got [2]string
		for j, p := range []*Pool{nil, pool} {
			h, err := Record(t.Context(), s, Simulation{Pool: p}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := judge.History(h)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal([]any{h, r})
			if err != nil {
				t.Fatal(err)
			}
			got[j] = string(text)
		}
		if got[0] != got[1] {
			t.Errorf("run %d: with a pool, the history or the verdicts differ", i)
		}
	}
}

func TestAPoolThatIsClosedLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	pool := NewPool()
	for seed := range uint64(3) {
		if _, err := Record(t.Context(), short(seed), Simulation{Pool: pool}.Driver(), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	kept := runtime.NumGoroutine()
	if kept <= before {
		t.Fatal("the pool has kept no coroutine, so this test shows nothing")
	}
	pool.Close()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d with the pool, %d after it was closed", before, kept, runtime.NumGoroutine())
		}
	}
}
