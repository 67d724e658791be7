package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockpick/clients"
	"lockpick/cluster"
	"lockpick/history/fault"
)

// checkAt returns the first problem of a scenario whose masters Lockpick did not start, or nil.
func checkAt(s *Scenario) *Problem {
	if len(s.At) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for i, text := range s.At {
		a, err := cluster.ParseAddress(text)
		if err != nil {
			return &Problem{fmt.Sprintf("at[%d]", i), err.Error()}
		}
		if seen[a.Server] {
			return &Problem{fmt.Sprintf("at[%d]", i), a.Server + " is there twice, and masters must be independent of each other"}
		}
		seen[a.Server] = true
	}
	switch {
	case s.Driver != Auto:
		return &Problem{"at", fmt.Sprintf("the masters are servers that run already: leave the driver %s out", s.Driver)}
	case s.Service != nil:
		return &Problem{"at", "the masters are servers that run already: leave service out"}
	case s.Masters != len(s.At):
		return &Problem{"masters", fmt.Sprintf("%d masters are at %d addresses: leave masters out", s.Masters, len(s.At))}
	case s.configures() || s.Server != "" || s.Image != "" || s.Network != (Network{}):
		return &Problem{"at", "server, image, persistence, max_memory, eviction, replicas, wait, admin, acl, tls and network are settings of masters that Lockpick starts: leave them out"}
	}
	return s.checkFaultsOn(fault.Existing, "needs servers that Lockpick started: on servers of your own")
}

// configures reports whether the scenario has settings of redis-server.
func (s *Scenario) configures() bool {
	return s.Persistence != cmp.Or(Defaults().Persistence, string(cluster.None)) || s.MaxMemory != 0 || s.Eviction != "" || s.Replicas != 0 || s.Wait != 0 || s.Admin || s.Guarded()
}

// checkFaultsOn returns the problem of the first fault that a driver does not have. why is a predicate of that fault.
func (s *Scenario) checkFaultsOn(driver, why string) *Problem {
	for i, name := range s.FaultNames() {
		if fault.Of(name).On(driver) {
			continue
		}
		field := fmt.Sprintf("faults[%d]", i)
		if len(s.Schedule) > 0 {
			field = "schedule"
		}
		return &Problem{field, fmt.Sprintf("%s %s there are %s", name, why, strings.Join(fault.NamesOn(driver), ", "))}
	}
	return nil
}

// OfStore returns the scenario with the servers of the store that a client of another store than Redis uses, and with this
// client; nil: the command is not the name of such a client.
func OfStore(client []string) *Scenario {
	if !clients.BuiltIn(client) {
		return nil
	}
	c, _ := clients.Named(client[0])
	b := c.Scenario()
	if b == nil {
		return nil
	}
	s, err := Parse(b)
	if err != nil {
		panic(err) // a test ensures that this never happens
	}
	s.Name, s.Client = c.Name, client
	return &s
}

// AdoptServers sets what follows from a client of another store and is not given: the service and the number of its servers.
// It also sets what follows from at: the number of masters, and those of the default faults that
// are possible there.
func (s *Scenario) AdoptServers(given func(field string) bool) {
	if on := OfStore(s.Client); on != nil && s.Service == nil {
		s.Service = on.Service
		if !given("masters") {
			s.Masters = on.Masters
		}
	}
	if len(s.At) == 0 {
		return
	}
	if !given("masters") {
		s.Masters = len(s.At)
	}
	if !given("faults") && !given("schedule") {
		s.Faults = slices.DeleteFunc(Defaults().Faults, func(name string) bool { return !fault.Of(name).On(fault.Existing) })
	}
}

// WithoutPasswords returns the scenario as it may be stored.
func (s Scenario) WithoutPasswords() Scenario {
	s.At = slices.Clone(s.At)
	for i, a := range s.addresses() {
		s.At[i] = a.String()
	}
	return s
}

// addresses returns the servers at which the masters are, of a scenario that was checked.
func (s *Scenario) addresses() []cluster.Address {
	var all []cluster.Address
	for _, text := range s.At {
		a, _ := cluster.ParseAddress(text)
		all = append(all, a)
	}
	return all
}
