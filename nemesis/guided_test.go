package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// first runs the guided nemesis on one lease and returns what it did.
func first(t rapid.TB, masters int, voters []string, seed uint64, faults ...string) []*history.Fault {
	t.Helper()
	s := on(t, masters, 3, seed)
	s.at(time.Second, func() { s.grant("c2", "k0", "t1", voters...) })
	s.env.RestartDelay = ttl / 4
	s.Guided(s.ending(1500*time.Millisecond), Plan{Faults: faults, Interval: ttl, Points: points})
	s.settled(t)
	return s.faults(t)
}

// TestGuidedRestarts: of the k masters that voted, it restarts so many that exactly a
// quorum of masters is left that does not know of the lease. For an odd N these are
// k−⌊N/2⌋.
func TestGuidedRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "masters")
		quorum := n/2 + 1
		k := rapid.IntRange(quorum, n).Draw(t, "k")
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("m%d", i+1)
		}
		voters := rapid.Permutation(names).Draw(t, "voters")[:k]
		fault := rapid.SampledFrom([]string{"kill", "shutdown"}).Draw(t, "fault")
		seed := rapid.Uint64().Draw(t, "seed")
		rapid.SyncTest(t, func(t *rapid.T) {
			faults := first(t, n, voters, seed, fault)
			if len(faults) != 1 {
				t.Fatalf("%d faults", len(faults))
			}
			f := faults[0]
			if f.Name != fault || !f.TookEffect || f.Params["aim"] != "guided" || f.Began != time.Second+lateVotes {
				t.Errorf("%+v", f)
			}
			for _, m := range f.Masters {
				if !slices.Contains(voters, m) {
					t.Errorf("%s was hit and did not vote", m)
				}
			}
			// Who forgot and who never voted: a quorum, to the vote.
			if free := len(f.Masters) + n - k; free != quorum {
				t.Errorf("%d of %d voters were hit: %d of %d masters are free for another lease, a quorum is %d", len(f.Masters), k, free, n, quorum)
			}
			if distinct := slices.Compact(slices.Sorted(slices.Values(f.Masters))); len(distinct) != len(f.Masters) || n%2 == 1 && len(distinct) != k-n/2 {
				t.Errorf("hit %v", f.Masters)
			}
		})
	})
}

// TestGuidedAims: what the other kinds hit.
func TestGuidedAims(t *testing.T) {
	for _, c := range []struct {
		faults  []string
		masters []string
		clients []string
	}{
		{[]string{"pause"}, []string{"m1", "m3", "m4"}, nil},
		{[]string{"slow"}, []string{"m1", "m3", "m4"}, []string{"c2"}},
		{[]string{"reset"}, []string{"m1", "m3", "m4"}, []string{"c2"}},
		{[]string{"client-pause"}, nil, []string{"c2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			faults := first(t, 5, []string{"m4", "m3", "m1"}, 1, c.faults...)
			if len(faults) != 1 {
				t.Fatalf("%v: %d faults", c.faults, len(faults))
			}
			if f := faults[0]; !f.Installed || !slices.Equal(f.Masters, c.masters) || !slices.Equal(f.Clients, c.clients) || f.Params["aim"] != "guided" {
				t.Errorf("%v: %+v", c.faults, f)
			}
		})
	}
}

// TestGuidedThins: with partitions, half of the clients are cut from a minority before
// the strike, which is another kind if there is one.
func TestGuidedThins(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			faults := first(t, 5, []string{"m1", "m2", "m3"}, seed, "kill", "partition")
			cut := faults[0]
			if cut.Name != "partition" || !cut.Installed || len(cut.Masters) != 2 || len(cut.Clients) != 2 || cut.Began >= time.Second ||
				!slices.Contains([]string{"hold", "drop"}, cut.Params["mode"]) || cut.Params["direction"] != Both || cut.Params["aim"] != "guided" {
				t.Errorf("%+v", cut)
			}
			if len(faults) < 2 || faults[1].Name != "kill" || len(faults[1].Masters) != 1 {
				t.Fatalf("%d faults", len(faults))
			}
			if cut.To < faults[1].To || cut.To > faults[1].To+50*time.Millisecond {
				t.Errorf("the partition healed at %v, the strike at %v", cut.To, faults[1].To)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			faults := first(t, 5, []string{"m1", "m2", "m3"}, seed, "partition")
			if len(faults) < 2 || !slices.Equal(faults[1].Masters, []string{"m1", "m2", "m3"}) || !slices.Equal(faults[1].Clients, []string{"c2"}) {
				t.Errorf("%d faults", len(faults))
			}
		})
	}
}

// TestGuidedCountsLateVotes: those that the acquisition did not wait for count too.
func TestGuidedCountsLateVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 5, 3, 1)
		s.at(time.Second, func() { s.grant("c2", "k0", "t1", "m1", "m2", "m3") })
		s.at(time.Second+lateVotes/2, func() {
			for _, m := range []string{"m4", "m5"} {
				s.history.Record(history.Op{Process: m, Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Client: "c2", Token: "t1", Command: history.CommandSet, Yes: true}})
			}
		})
		s.Guided(s.ending(1500*time.Millisecond), Plan{Faults: []string{"kill"}, Interval: ttl})
		if f := s.faults(t)[0]; len(f.Masters) != 3 {
			t.Errorf("of five voters %v were hit", f.Masters)
		}
	})
}

// TestGuidedWaits: a lease that was released at once is not struck, and the next is; a
// failed acquire is none.
func TestGuidedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 5, 3, 1)
		s.at(time.Second, func() {
			s.history.Record(history.Op{Process: "c1", Type: history.Fail, F: history.FAcquire, Key: "k0", Error: "taken"})
		})
		s.at(2*time.Second, func() {
			s.grant("c2", "k0", "t1", "m1", "m2", "m3")
			s.release("c2", "k0", "t1")
		})
		s.at(12*time.Second, func() { s.grant("c3", "k0", "t2", "m3", "m4", "m5") })
		s.Guided(s.ending(13*time.Second), Plan{Faults: []string{"kill"}, Interval: ttl})
		faults := s.faults(t)
		if len(faults) != 1 || faults[0].Began < 12*time.Second || !strings.Contains("m3 m4 m5", faults[0].Masters[0]) {
			t.Errorf("%d faults: %+v", len(faults), faults[0])
		}
	})
}
