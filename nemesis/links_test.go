package nemesis

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster"
)

func linkFaults() *rapid.Generator[cluster.LinkFault] {
	modes := rapid.SampledFrom([]cluster.Mode{cluster.Pass, cluster.Hold, cluster.Drop})
	return rapid.Custom(func(t *rapid.T) cluster.LinkFault {
		return cluster.LinkFault{
			Requests: modes.Draw(t, "requests"), Replies: modes.Draw(t, "replies"),
			Delay: time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Millisecond, Refuse: rapid.Bool().Draw(t, "refuse"),
		}
	})
}

// TestLinkFaultsAddUp: whatever faults lie on two links, installed and removed in any
// order, each link suffers the sum of its own, and nothing once all have gone.
func TestLinkFaultsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(2)
		l := newLinks(c)
		all := []*fakeLink{c.link("c1", "m1"), c.link("c1", "m2")}
		type installed struct {
			link  int
			fault cluster.LinkFault
		}
		faults := map[int]installed{}
		agree := func() {
			for i, link := range all {
				var want cluster.LinkFault
				rank := map[cluster.Mode]int{cluster.Pass: 0, cluster.Hold: 1, cluster.Drop: 2}
				for _, f := range faults {
					if f.link != i {
						continue
					}
					if rank[f.fault.Requests] > rank[want.Requests] {
						want.Requests = f.fault.Requests
					}
					if rank[f.fault.Replies] > rank[want.Replies] {
						want.Replies = f.fault.Replies
					}
					want.Delay += f.fault.Delay
					want.Refuse = want.Refuse || f.fault.Refuse
				}
				if got := link.Fault(); got != want {
					t.Fatalf("%s suffers %+v, want %+v of %v", link.Addr(), got, want, faults)
				}
			}
		}
		next := 0
		install := func(t *rapid.T) {
			next++
			f := installed{rapid.IntRange(0, 1).Draw(t, "link"), linkFaults().Draw(t, "fault")}
			faults[next] = f
			l.add(all[f.link], next, f.fault)
			agree()
		}
		remove := func(t *rapid.T) {
			if len(faults) == 0 {
				t.Skip("nothing to remove")
			}
			var ids []int
			for id := 1; id <= next; id++ {
				if _, on := faults[id]; on {
					ids = append(ids, id)
				}
			}
			id := rapid.SampledFrom(ids).Draw(t, "id")
			l.remove(all[faults[id].link], id)
			delete(faults, id)
			agree()
		}
		t.Repeat(map[string]func(*rapid.T){"install": install, "remove": remove})
		for len(faults) > 0 {
			remove(t)
		}
		for _, link := range all {
			if link.Fault() != (cluster.LinkFault{}) {
				t.Fatalf("%s still suffers %+v", link.Addr(), link.Fault())
			}
		}
	})
}

// TestKindsOfLinkFaults: what each does to a link while it is installed.
func TestKindsOfLinkFaults(t *testing.T) {
	const delay = 7 * time.Millisecond
	for _, c := range []struct {
		step   Step
		want   cluster.LinkFault
		resets int
	}{
		{Step{Fault: "partition"}, cluster.LinkFault{Requests: cluster.Drop, Replies: cluster.Drop}, 0},
		{Step{Fault: "partition", Mode: cluster.Hold, Direction: Both}, cluster.LinkFault{Requests: cluster.Hold, Replies: cluster.Hold}, 0},
		{Step{Fault: "partition", Mode: cluster.Hold, Direction: Requests}, cluster.LinkFault{Requests: cluster.Hold}, 0},
		{Step{Fault: "partition", Mode: cluster.Drop, Direction: Replies}, cluster.LinkFault{Replies: cluster.Drop}, 0},
		{Step{Fault: "slow", Delay: delay}, cluster.LinkFault{Delay: delay}, 0},
		{Step{Fault: "reset"}, cluster.LinkFault{Refuse: true}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := on(t, 2, 2, 1)
			c.step.Masters, c.step.Clients, c.step.For = []string{"m2"}, []string{"c1"}, time.Second
			var during cluster.LinkFault
			s.at(500*time.Millisecond, func() { during = s.cluster.link("c1", "m2").Fault() })
			s.Schedule(s.ending(2*time.Second), []Step{c.step})
			synctest.Wait()
			if during != c.want {
				t.Errorf("%s: the link suffered %+v, want %+v", c.step.Fault, during, c.want)
			}
			if got := s.cluster.link("c1", "m2").resets; got != c.resets {
				t.Errorf("%s: %d resets, want %d", c.step.Fault, got, c.resets)
			}
			if others := s.cluster.link("c2", "m2").resets + s.cluster.link("c1", "m1").resets; others > 0 {
				t.Errorf("%s: other links were reset", c.step.Fault)
			}
			s.settled(t)
		})
	}
}
