package audit

import (
	"bytes"
	"embed"
	"fmt"
	"time"

	"github.com/goccy/go-yaml"

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
	all, err := load()
	if err != nil {
		panic(err) // a test ensures that this never happens
	}
	return all
}

func load() ([]Situation, error) {
	entries, err := batteryFiles.ReadDir("battery")
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var all []Situation
	seen := map[string]bool{}
	for _, e := range entries {
		b, err := batteryFiles.ReadFile("battery/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		some, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("audit/battery/%s:%w", e.Name(), err)
		}
		for _, s := range some {
			if seen[s.ID] {
				return nil, fmt.Errorf("audit/battery/%s: the situation %s is there twice", e.Name(), s.ID)
			}
			seen[s.ID] = true
		}
		all = append(all, some...)
	}
	return all, nil
}

// parse reads one file of situations.
func parse(b []byte) (_ []Situation, err error) {
	defer strictyaml.RefusePanic(&err)
	tree, err := strictyaml.Parse(b, "see audit/situation.go")
	if err != nil {
		return nil, err
	}
	var file batteryFile
	decoder := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	for i := range file.Situations {
		s := &file.Situations[i]
		s.Group = file.Title
		if err := s.complete(decoder); err != nil {
			return nil, err
		}
		if p := s.check(); p != nil {
			line, column := 1, 1
			if token := strictyaml.Find(tree, fmt.Sprintf("situations[%d].%s", i, p.Field)); token != nil {
				line, column = token.Position.Line, token.Position.Column
			}
			return nil, fmt.Errorf("%d:%d: situation %s: %w", line, column, s.ID, p)
		}
	}
	return file.Situations, nil
}

// complete builds the scenarios: a case's fields override the situation's, and those override base.
func (s *Situation) complete(d *yaml.Decoder) error {
	common := base()
	common.Name = s.ID
	if err := common.Overlay(s.Scenario, d); err != nil {
		return err
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Scenario = common
		if err := c.Scenario.Overlay(c.Over, d); err != nil {
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
