package fault

import (
	"slices"
	"strings"
	"testing"
)

// TestFactsNameTheKinds lists the kinds for which each fact is true, to show a developer who adds a
// kind what follows from its entry.
func TestFactsNameTheKinds(t *testing.T) {
	for _, c := range []struct {
		fact string
		of   func(Kind) bool
		want string
	}{
		{"ends a master", Kind.EndsMaster, "kill shutdown powercut failover"},
		{"takes a master down", Kind.TakesDown, "kill shutdown powercut"},
		{"may lose keys", Kind.Forgets, "kill shutdown powercut failover clock memory"},
		{"lasts", Kind.Lasts, "slow-fsync lying-fsync"},
		{"has to strike at once", Kind.AtOnce, "failover"},
		{"only clients feel it", Kind.OnlyClientsShow, "pause partition slow reset peers client-partition"},
		{"withholds votes", Kind.WithholdsVotes, "pause kill shutdown powercut failover partition slow reset peers client-partition"},
		{"silences masters", Kind.Silences, "pause kill shutdown powercut failover slow-fsync full-disk partition slow reset peers client-partition"},
		{"delays commands", Kind.Delays, "pause slow-fsync full-disk slow"},
		{"disrupts", Kind.Disrupts, "pause kill shutdown powercut failover slow-fsync full-disk memory partition slow reset peers client-partition"},
		{"hits masters", Kind.HitsMaster, "pause kill shutdown powercut failover clock slow-fsync lying-fsync full-disk memory"},
		{"is shown as paused", coloured(ColourPaused), "pause client-pause"},
		{"is shown as down", coloured(ColourDown), "kill shutdown powercut failover client-kill"},
		{"is shown as cut", coloured(ColourCut), "partition peers client-partition"},
		{"isolates a client", func(k Kind) bool { return k.Isolates }, "client-partition"},
		{"is for services", func(k Kind) bool { return k.On(Service) }, "pause kill shutdown partition slow reset peers client-partition client-pause client-kill client-clock"},
	} {
		var got []string
		for _, k := range Kinds {
			if c.of(k) {
				got = append(got, k.Name)
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, want %s", c.fact, got, c.want)
		}
	}
}

func coloured(colour string) func(Kind) bool {
	return func(k Kind) bool { return k.Colour() == colour }
}

// TestKindsHaveAllFacts checks that each entry has all facts that other packages need.
func TestKindsHaveAllFacts(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
			if of := Of(name); of.Name != k.Name {
				t.Errorf("%s is found as %s", name, of.Name)
			}
		}
		if k.Summary == "" || strings.Contains(k.Summary, "\n") || k.Assumes == "" || len(k.Drivers) == 0 || k.did == nil {
			t.Errorf("%s says too little: %+v", k.Name, k)
		}
		if !slices.Contains([]Target{Masters, Machines, Links, Clients, Peers}, k.Hits) || k.EndsMaster() && k.Hits != Masters {
			t.Errorf("%s hits %q", k.Name, k.Hits)
		}
		facts := 0
		for _, is := range []bool{k.Process != RunsOn, k.Evicts, k.Clock != NoClock, k.Disk != GoodDisk, k.Link != OpenLink, k.Client != ClientRunsOn} {
			if is {
				facts++
			}
		}
		if facts != 1 {
			t.Errorf("%s does %d things, want one", k.Name, facts)
		}
	}
	if k := Of("clock-jump"); k.Name != "clock-jump" || k.Clock != MasterClock || k.Healed() != "" {
		t.Errorf("a clock that jumps: %+v", k)
	}
	if k := Of("fire"); k.EndsMaster() || !k.Disrupts() || k.Colour() != ColourSlow {
		t.Errorf("a kind that is not known: %+v", k)
	}
	if text, mark := Of("fire").Did(&Scene{Masters: []string{"m2", "m1"}}); text != "fire struck m1 and m2" || mark != "fire" {
		t.Errorf("it is worded as %q, %q", text, mark)
	}
}
