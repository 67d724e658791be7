package audit

import (
	"embed"
	"fmt"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/service/spec"
	"lockpick/internal/strictyaml"
)

//go:embed battery/*.yaml
var batteryFiles embed.FS

// batteryFile is one file of the battery.
type batteryFile struct {
	Title      string      `yaml:"title"` // title of the group
	Situations []Situation `yaml:"situations"`
}

// Battery returns all situations in the order of the card.
func Battery() []Situation {
	all := strictyaml.List[Situation]{What: "situation", Parse: parse, ID: func(s *Situation) string { return s.ID }}
	if err := all.AddFolder(batteryFiles, "battery", "audit/battery"); err != nil {
		panic(err) // a test ensures that this never happens
	}
	return all.Items
}

// parse reads one file of situations.
func parse(b []byte) (_ []Situation, err error) {
	defer strictyaml.RefusePanic(&err)
	var content batteryFile
	file, err := strictyaml.Decode(b, &content, "see audit/situation.go", scenario.Scenario{})
	if err != nil {
		return nil, err
	}
	for i := range content.Situations {
		s := &content.Situations[i]
		s.Group = content.Title
		if err := s.complete(file); err != nil {
			return nil, file.Explain(err)
		}
		if p := s.check(); p != nil {
			return nil, file.At(fmt.Sprintf("situations[%d].%s", i, p.Field), fmt.Errorf("situation %s: %w", s.ID, p))
		}
	}
	return content.Situations, nil
}

// complete builds the scenarios: a case's fields override the situation's, and those override base.
func (s *Situation) complete(file *strictyaml.File) error {
	common := base()
	common.Name = s.ID
	if err := common.Overlay(s.Scenario, file); err != nil {
		return err
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Scenario = common
		if err := c.Scenario.Overlay(c.Over, file); err != nil {
			return err
		}
	}
	return nil
}

// imagined is a scenario with a service, which stands for all in the check of the battery.
var imagined = &scenario.Scenario{Name: "store", Client: []string{"lock"}, Masters: 3, Service: &spec.Service{
	Name: "a store", Ports: []string{"client"}, Clients: spec.Clients{Port: "client"}, Command: []string{"store"},
	Ready: spec.Probe{Run: []string{"ready"}}, Leader: spec.Probe{Run: []string{"leads"}},
}}

// placed returns the scenario of a case with the servers and the client of another scenario in place of Redis masters. A service
// keeps what it has acknowledged by settings of its own: that is where base is silent about persistence.
func placed(c scenario.Scenario, on *scenario.Scenario) scenario.Scenario {
	c.Service, c.Client, c.Masters = on.Service, on.Client, on.Masters
	c.Driver = scenario.Process
	if c.Persistence == base().Persistence {
		c.Persistence = scenario.Defaults().Persistence
	}
	return c
}

// onlyOfRedis returns why the scenario of a case says nothing about a service, or "".
func onlyOfRedis(c *scenario.Scenario, service string) string {
	switch usual := base(); {
	case c.Persistence != usual.Persistence:
		return "what a master of Redis keeps is a setting: " + service + " has its own"
	case c.Masters != usual.Masters:
		return "the number of servers is that of the scenario"
	}
	return ""
}

// base returns the scenario that all situations start from: masters that lose no keys, no faults,
// and clients that sometimes hold a lock for longer than its TTL, and extend it.
func base() scenario.Scenario {
	s := scenario.Defaults()
	s.Persistence, s.Clients, s.Faults, s.TimeLimit = string(cluster.Always), 4, nil, 10*time.Second
	s.Nemesis, s.Interval, s.Driver = scenario.Random, time.Second, scenario.Sim
	s.Properties = properties()
	return s
}
