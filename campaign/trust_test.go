package campaign

import (
	"errors"
	"testing"

	"lockpick/campaign/scenario"
)

// TestProgramsOfAScenario: what a scenario of somebody else may start, and what comes with Lockpick.
func TestProgramsOfAScenario(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scenario.Scenario)
		want   string
	}{
		"no program":                  {func(*scenario.Scenario) {}, ""},
		"a client by name":            {func(s *scenario.Scenario) { s.Client = []string{"redis-py"} }, ""},
		"a file with a client's name": {func(s *scenario.Scenario) { s.Client = []string{"./redis-py"} }, "./redis-py"},
		"a client with an argument":   {func(s *scenario.Scenario) { s.Client = []string{"redis-py", "x"} }, "redis-py x"},
		"a hidden word":               {func(s *scenario.Scenario) { s.Client = []string{"sh", "-c", "x\x1b[2K\u202e"} }, `sh -c "x\x1b[2K\u202e"`},
		"an image":                    {func(s *scenario.Scenario) { s.Image = "evil/redis" }, "the Docker image evil/redis"},
		"an image that is not used":   {func(s *scenario.Scenario) { s.Image, s.Driver = "evil/redis", scenario.Process }, ""},
		"a server":                    {func(s *scenario.Scenario) { s.Server = "./evil" }, "the server ./evil"},
		"a server in an image":        {func(s *scenario.Scenario) { s.Server, s.Image, s.Driver = "x", "evil/redis", scenario.Docker }, "the Docker image evil/redis"},
		"a client with its store":     {func(s *scenario.Scenario) { *s = *scenario.OfStore([]string{"etcd"}) }, ""},
		"its store, changed": {func(s *scenario.Scenario) {
			*s = *scenario.OfStore([]string{"etcd"})
			s.Service.Version.Run, s.Service.Command = nil, []string{"./evil"}
		}, "./evil"},
		"a client that is simulated": {func(s *scenario.Scenario) { s.Client, s.Driver = []string{"sh"}, scenario.Sim }, ""},
	} {
		s := scenario.Defaults()
		s.Driver = scenario.Auto
		c.change(&s)
		got := ""
		for _, p := range Programs(&s) {
			got += p.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNobodyTrustsByDefault: a caller that says nothing about trust starts no program of a scenario.
func TestNobodyTrustsByDefault(t *testing.T) {
	s := scenario.Defaults()
	s.Client, s.Driver = []string{"true"}, scenario.Process
	opt := Options{Drivers: testDrivers, Store: Store{Dir: t.TempDir()}}
	var problem *scenario.Problem
	if _, _, _, err := Run(t.Context(), s, opt); !errors.As(err, &problem) || problem.Field != "client" {
		t.Errorf("Run: %v", err)
	}
	if _, _, err := Meet(t.Context(), s, opt); !errors.As(err, &problem) || problem.Field != "client" {
		t.Errorf("Meet: %v", err)
	}
}
