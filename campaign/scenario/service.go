package scenario

import (
	"errors"
	"fmt"
	"slices"

	"lockpick/cluster/service/spec"
	"lockpick/history/fault"
	"lockpick/nemesis"
)

// checkService returns the first problem of a scenario with a service, or nil.
func checkService(s *Scenario) *Problem {
	if s.Service == nil {
		return s.checkPeers()
	}
	var problem *spec.Problem
	if errors.As(s.Service.Check(), &problem) {
		return &Problem{"service." + problem.Field, problem.Says}
	}
	switch {
	case !s.RunsCommand():
		return &Problem{"service", "Lockpick's own locks are for Redis: give the client of this service, a program (client)"}
	case s.Driver != Auto && s.Driver != Process:
		return &Problem{"driver", fmt.Sprintf("%s runs as processes: use driver: %s, or leave it out", s.Service.Name, Process)}
	case s.Server != "":
		return &Problem{"server", "the servers are those of " + s.Service.Name + ", and server is for masters of Redis: leave it out"}
	case s.Image != "":
		return &Problem{"image", "the servers are those of " + s.Service.Name + ", and image is for masters of Redis: leave it out"}
	case s.configures():
		return &Problem{"service", "persistence, max_memory, eviction, replicas, wait, admin, acl and tls are settings of Redis: the command and the files of the service have its settings"}
	}
	if p := s.checkFaultsOn(fault.Service, "is a fault of redis-server: on a service"); p != nil {
		return p
	}
	return s.checkLeader()
}

// checkPeers returns the problem of faults that need a service, in a scenario without one.
func (s *Scenario) checkPeers() *Problem {
	for _, name := range s.FaultNames() {
		if fault.Of(name).Hits == fault.Peers {
			return &Problem{"faults", fmt.Sprintf("%s cuts servers from each other, and independent masters have no connections with each other: it is for a service (service)", name)}
		}
	}
	return s.checkLeader()
}

// checkLeader returns the problem of a target that no one can name.
func (s *Scenario) checkLeader() *Problem {
	leads := s.Service != nil && s.Service.Leader.Given()
	if leads {
		return nil
	}
	named := slices.Clone(s.Targets)
	for _, step := range s.Schedule {
		named = append(named, step.Masters...)
	}
	if slices.Contains(named, nemesis.Leader) {
		return &Problem{"targets", "no one knows who leads: only a service whose description has a probe for that (service.leader) has a leader"}
	}
	return nil
}
