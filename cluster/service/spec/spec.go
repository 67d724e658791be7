package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Service describes the nodes of a service. Their number is the scenario's number of masters.
type Service struct {
	Name    string            `yaml:"name"`              // as its users name it, such as etcd: the report shows it
	Version Probe             `yaml:"version,omitempty"` // its pattern's first group is the version; empty: unknown
	Ports   []string          `yaml:"ports"`             // names of the ports of each node
	Clients Clients           `yaml:"clients"`
	Command []string          `yaml:"command"`                // templates; it must stay in the foreground
	Env     map[string]string `yaml:"env,omitempty"`          // templates, by name of the variable
	Files   map[string]string `yaml:"files,omitempty"`        // templates, by path, which is one, too: written before the first start
	Ready   Probe             `yaml:"ready"`                  // succeeds when the node serves as part of a majority
	Leader  Probe             `yaml:"leader,omitempty"`       // succeeds on the node that leads; empty: there is none, or nobody knows
	Elected string            `yaml:"elected,omitempty"`      // a regular expression: a line of a node's log by which it says that it leads from now on; empty: none does
	Within  time.Duration     `yaml:"within,omitempty"`       // in which all nodes must be ready at first; 0: 30 s
	Settle  time.Duration     `yaml:"settle,omitempty"`       // how long a majority may take after a fault to serve again; 0: 3 s
	Async   bool              `yaml:"asynchronous,omitempty"` // a node that takes over may lack what the one before it acknowledged
	Told    []string          `yaml:"announces,omitempty"`    // the ports on which a node's first message names its own address of the port
}

// Clients describes how clients learn the addresses of the nodes. They always have them as masters in init.
type Clients struct {
	Port string            `yaml:"port"`          // the port that clients use, each through links of its own
	Env  map[string]string `yaml:"env,omitempty"` // variables for the processes of clients: templates with .Addresses, a list
}

// Probe asks a node something, in one of three ways. It succeeds if the answer matches.
type Probe struct {
	Run   []string `yaml:"run,omitempty"`   // a command: its exit code must be 0
	HTTP  string   `yaml:"http,omitempty"`  // a URL: its status must be 200
	TCP   string   `yaml:"tcp,omitempty"`   // an address
	Send  string   `yaml:"send,omitempty"`  // what a connection sends, or the body of a POST
	Match string   `yaml:"match,omitempty"` // a regular expression; empty: any answer
}

// Problem is a mistake in a field of a description, such as ready.http.
type Problem struct{ Field, Says string }

func (p *Problem) Error() string { return p.Field + ": " + p.Says }

// The bounds of times, and their defaults.
const (
	defaultWithin = 30 * time.Second
	defaultSettle = 3 * time.Second
	longest       = 10 * time.Minute
	mostNodes     = 15 // of a scenario: a template may use the address of any
)

// StartWithin returns the time in which all nodes must be ready at first.
func (s *Service) StartWithin() time.Duration {
	if s.Within == 0 {
		return defaultWithin
	}
	return s.Within
}

// SettleTime returns how long a majority of connected nodes may take to serve again after a fault began or ended.
func (s *Service) SettleTime() time.Duration {
	if s.Settle == 0 {
		return defaultSettle
	}
	return s.Settle
}

var (
	portPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 ._-]{0,40}$`)
)

// Programs returns the commands that a run of the service starts.
func (s *Service) Programs() [][]string {
	all := [][]string{s.Command}
	for _, p := range []Probe{s.Version, s.Ready, s.Leader} {
		if len(p.Run) > 0 {
			all = append(all, p.Run)
		}
	}
	return all
}

// Check returns the first mistake as a *Problem, or nil.
func (s *Service) Check() error {
	if p := s.check(); p != nil {
		return p
	}
	return nil
}

func (s *Service) check() *Problem {
	switch {
	case !namePattern.MatchString(s.Name):
		return &Problem{"name", fmt.Sprintf("%q is not a name: 1 to 40 letters and digits, such as etcd", s.Name)}
	case len(s.Ports) == 0:
		return &Problem{"ports", "name the ports of each node, such as [client, peer]"}
	case len(s.Command) == 0 || s.Command[0] == "":
		return &Problem{"command", "it is empty: give the program and its arguments, as a list"}
	case !s.Ready.Given():
		return &Problem{"ready", "say how to see that a node serves: run, http or tcp"}
	case s.Within < 0 || s.Within > longest:
		return &Problem{"within", fmt.Sprintf("%v is out of range: 0s to %v", s.Within, longest)}
	case s.Settle < 0 || s.Settle > longest:
		return &Problem{"settle", fmt.Sprintf("%v is out of range: 0s to %v", s.Settle, longest)}
	}
	for i, p := range s.Ports {
		if !portPattern.MatchString(p) || slices.Contains(s.Ports[:i], p) {
			return &Problem{fmt.Sprintf("ports[%d]", i), fmt.Sprintf("%q is not a new name of a port: small letters and digits, each name once", p)}
		}
	}
	if !slices.Contains(s.Ports, s.Clients.Port) {
		return &Problem{"clients.port", fmt.Sprintf("%q is none of the ports %s", s.Clients.Port, strings.Join(s.Ports, ", "))}
	}
	for i, p := range s.Told {
		if !slices.Contains(s.Ports, p) {
			return &Problem{fmt.Sprintf("announces[%d]", i), fmt.Sprintf("%q is none of the ports %s", p, strings.Join(s.Ports, ", "))}
		}
	}
	return s.checkTexts()
}

// checkTexts renders every template for a node that does not exist.
func (s *Service) checkTexts() *Problem {
	node := s.example()
	render := func(field, text string) *Problem {
		if _, err := Render(text, node); err != nil {
			return &Problem{field, err.Error()}
		}
		return nil
	}
	for i, text := range s.Command {
		if p := render(fmt.Sprintf("command[%d]", i), text); p != nil {
			return p
		}
	}
	for _, m := range []struct {
		field string
		of    map[string]string
	}{{"env", s.Env}, {"files", s.Files}} {
		for _, name := range slices.Sorted(maps.Keys(m.of)) {
			for _, text := range []string{name, m.of[name]} {
				if p := render(m.field, text); p != nil {
					return p
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Clients.Env)) {
		if _, err := Render(s.Clients.Env[name], Told{Addresses: slices.Repeat([]string{"127.0.0.1:1"}, mostNodes)}); err != nil {
			return &Problem{"clients.env." + name, err.Error()}
		}
	}
	for _, x := range []struct {
		field string
		probe *Probe
	}{{"version", &s.Version}, {"ready", &s.Ready}, {"leader", &s.Leader}} {
		if p := x.probe.check(x.field, node); p != nil {
			return p
		}
	}
	if _, err := regexp.Compile(s.Elected); err != nil {
		return &Problem{"elected", err.Error()}
	}
	if s.Async && s.Elected == "" {
		return &Problem{"asynchronous", "what a takeover loses is known only where takeovers are: say by which line of its log a server takes over (elected)"}
	}
	if s.Version.Given() && regexp.MustCompile(s.Version.Match).NumSubexp() != 1 {
		return &Problem{"version.match", `one group has to match the version, as in 'Version: (\S+)'`}
	}
	return nil
}

// Given reports whether the probe asks anything.
func (p *Probe) Given() bool { return len(p.Run) > 0 || p.HTTP != "" || p.TCP != "" }

func (p *Probe) check(field string, node *Node) *Problem {
	ways := 0
	for _, given := range []bool{len(p.Run) > 0, p.HTTP != "", p.TCP != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return &Problem{field, "give one of run, http and tcp"}
	case ways == 0 && (p.Send != "" || p.Match != ""):
		return &Problem{field, "give one of run, http and tcp: nobody is asked"}
	case p.Send != "" && len(p.Run) > 0:
		return &Problem{field + ".send", "a command is sent nothing"}
	}
	if _, err := regexp.Compile(p.Match); err != nil {
		return &Problem{field + ".match", err.Error()}
	}
	if _, err := p.For(node); err != nil {
		return &Problem{field, err.Error()}
	}
	return nil
}

// For returns the probe of one node: its templates are rendered.
func (p *Probe) For(node *Node) (Probe, error) {
	out := *p
	out.Run = slices.Clone(p.Run)
	texts := []*string{&out.HTTP, &out.TCP, &out.Send}
	for i := range out.Run {
		texts = append(texts, &out.Run[i])
	}
	for _, text := range texts {
		var err error
		if *text, err = Render(*text, node); err != nil {
			return out, err
		}
	}
	return out, nil
}
