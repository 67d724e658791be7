package spec

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// described returns a description without a mistake.
func described() *Service {
	return &Service{
		Name: "store", Ports: []string{"client", "peer"}, Clients: Clients{Port: "client", Env: map[string]string{"NODES": `{{join "," .Addresses}}`}},
		Command: []string{"store", "--me={{.Name}}", `--at={{.Listen "client"}}`, `--all={{range .Nodes}}{{.Number}}={{.To "peer"}};{{end}}`},
		Files:   map[string]string{"{{.Dir}}/conf": `{{port (.Link "peer")}}`},
		Version: Probe{Run: []string{"store", "--version"}, Match: `v(\S+)`},
		Ready:   Probe{HTTP: `http://{{.Listen "client"}}/health`},
	}
}

func TestADescriptionIsChecked(t *testing.T) {
	if err := described().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		field, says string
		change      func(*Service)
	}{
		{"name", "is not a name", func(s *Service) { s.Name = "" }},
		{"ports", "name the ports", func(s *Service) { s.Ports = nil }},
		{"ports[1]", "not a new name", func(s *Service) { s.Ports[1] = "client" }},
		{"clients.port", "none of the ports client, peer", func(s *Service) { s.Clients.Port = "peers" }},
		{"clients.env.NODES", "", func(s *Service) { s.Clients.Env["NODES"] = "{{.Nodes}}" }},
		{"announces[0]", "none of the ports", func(s *Service) { s.Told = []string{"quorum"} }},
		{"command", "it is empty", func(s *Service) { s.Command = nil }},
		{"command[1]", `there is no port "pear": the ports are client, peer`, func(s *Service) { s.Command[1] = `{{.Link "pear"}}` }},
		{"command[2]", "is not a template", func(s *Service) { s.Command[2] = "{{.Name" }},
		{"command[3]", "Nane", func(s *Service) { s.Command[3] = "{{.Nane}}" }},
		{"files", "", func(s *Service) { s.Files["{{.Dir}}/{{.X}}"] = "" }},
		{"env", "", func(s *Service) { s.Env = map[string]string{"A": "{{.X}}"} }},
		{"ready", "say how to see", func(s *Service) { s.Ready = Probe{} }},
		{"ready", "one of run, http and tcp", func(s *Service) { s.Ready.TCP = "127.0.0.1:1" }},
		{"ready.match", "missing closing", func(s *Service) { s.Ready.Match = "(" }},
		{"leader", "nobody is asked", func(s *Service) { s.Leader = Probe{Match: "x"} }},
		{"leader.send", "sent nothing", func(s *Service) { s.Leader = Probe{Run: []string{"x"}, Send: "y"} }},
		{"version.match", "one group", func(s *Service) { s.Version.Match = "v" }},
		{"elected", "missing closing", func(s *Service) { s.Elected = "(" }},
		{"asynchronous", "(elected)", func(s *Service) { s.Async = true }},
		{"within", "out of range", func(s *Service) { s.Within = -time.Second }},
		{"settle", "out of range", func(s *Service) { s.Settle = time.Hour }},
	} {
		s := described()
		c.change(s)
		var p *Problem
		if err := s.Check(); !errors.As(err, &p) || p.Field != c.field || !strings.Contains(p.Says, c.says) {
			t.Errorf("%s (%s): %v", c.field, c.says, err)
		}
	}
	if s := described(); s.StartWithin() != defaultWithin || s.SettleTime() != defaultSettle || len(s.Programs()) != 2 {
		t.Errorf("the defaults: %v, %v, programs %v", s.StartWithin(), s.SettleTime(), s.Programs())
	}
}

func TestTemplatesSeeTheNodeThatTheyAreFor(t *testing.T) {
	s := described()
	each := func(format string) (all string) {
		for i := range mostNodes {
			all += strings.ReplaceAll(format, "N", strconv.Itoa(i+1))
		}
		return all
	}
	for text, want := range map[string]string{
		s.Command[3]:                         "--all=" + each("N=127.0.0.1:1;"),
		"{{.Name}} {{.Number}} {{.Dir}}":     "m1 1 /m1",
		`{{port (.Listen "client")}}`:        "1",
		`{{range .Nodes}}{{.Name}} {{end}}x`: each("mN ") + "x",
	} {
		if got, err := Render(text, s.example()); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
