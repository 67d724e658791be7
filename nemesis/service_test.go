package nemesis

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// service is a fake cluster whose masters are connected with each other.
type service struct {
	*fakeCluster
	leader string // empty: no one leads
}

func (s *service) Leader(context.Context) (cluster.Master, error) {
	if s.leader == "" {
		return nil, errors.New("no one leads")
	}
	return s.master(s.leader), nil
}

func (s *service) Between(side []cluster.Master) (all []cluster.Link) {
	for _, m := range side {
		for _, other := range s.masters {
			if !slices.Contains(side, other) {
				all = append(all, s.link(m.Name(), other.Name()), s.link(other.Name(), m.Name()))
			}
		}
	}
	return all
}

func (s *service) Bypass() error { return nil }

// onService is a stage with the masters of a service.
func onService(t *testing.T, leader string, seed uint64) (*stage, *service) {
	s := on(t, 3, 3, seed)
	c := &service{s.cluster, leader}
	s.env.Cluster, s.links = c, newLinks(c)
	return s, c
}

// TestGuidedCutsTheClientAtOnceAfterItsGrant: a service gives no votes, and the nemesis needs none.
func TestGuidedCutsTheClientAtOnceAfterItsGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := onService(t, "m2", 1)
		s.at(time.Second, func() { s.grant("c2", "k0", "t1") })
		s.at(1100*time.Millisecond, func() {
			for _, m := range []string{"m1", "m2", "m3"} {
				if f := s.cluster.link("c2", m).Fault(); f.Requests == cluster.Pass || f.Replies == cluster.Pass {
					t.Errorf("c2 still reaches %s: %+v", m, f)
				}
				s.cluster.link("c2", m).send(10)
			}
		})
		s.Guided(s.ending(5*time.Second), Plan{Faults: []string{"client-partition"}, Interval: ttl, Points: points})
		s.settled(t)
		f := s.faults(t)[0]
		if f.Began != time.Second || f.Params["aim"] != "guided" || !slices.Equal(f.Clients, []string{"c2"}) || len(f.Masters) != 3 || !f.TookEffect {
			t.Errorf("%+v", f)
		}
		if f.To-f.Began < 2*ttl {
			t.Errorf("it lasted for %v: the lease of %v has to end meanwhile", f.To-f.Began, ttl)
		}
		for _, op := range s.recorded() {
			if op.F == history.FUnguided {
				t.Errorf("it gave up: %s", op.Error)
			}
		}
	})
}

func TestPeersCutTheLeaderFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := onService(t, "m2", 1)
		s.at(1100*time.Millisecond, func() {
			cut := func(a, b string) bool { return c.link(a, b).Fault().Requests == cluster.Hold }
			if !cut("m2", "m1") || !cut("m3", "m2") || cut("m1", "m3") || cut("c1", "m2") {
				t.Error("the links are not those of m2 with the others")
			}
			c.link("m2", "m1").send(10)
		})
		s.Schedule(s.ending(5*time.Second), []Step{{Fault: "peers", At: time.Second, For: time.Second, Masters: []string{Leader}, Mode: cluster.Hold}})
		f := s.faults(t)[0]
		if !f.Installed || !f.TookEffect || !slices.Equal(f.Masters, []string{"m2"}) || f.Params["target"] != Leader || f.To != 2*time.Second {
			t.Errorf("%+v", f)
		}
		if c.link("m2", "m1").Fault() != (cluster.LinkFault{}) {
			t.Error("it did not heal")
		}
	})
}

func TestAFaultOfTheLeaderIsSkippedIfNoOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := onService(t, "", 1)
		s.Schedule(s.ending(10*time.Second), []Step{{Fault: "kill", At: time.Second, Masters: []string{Leader}}})
		if f := s.faults(t)[0]; f.Installed || f.Skipped != "no one leads" {
			t.Errorf("%+v", f)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 3, 3, 1)
		s.Schedule(s.ending(10*time.Second), []Step{{Fault: "peers", At: time.Second, Masters: []string{"m1"}}, {Fault: "kill", At: time.Second, Masters: []string{Leader}}})
		for _, f := range s.faults(t) {
			if f.Installed {
				t.Errorf("on masters that know nothing of each other: %+v", f)
			}
		}
	})
}
