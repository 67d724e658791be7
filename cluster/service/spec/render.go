package spec

import (
	"fmt"
	"net"
	"strings"
	"text/template"
)

// Node is what templates see of a node.
type Node struct {
	Name   string // m1, m2, …
	Number int    // 1, 2, …
	Dir    string // its folder; empty for the other nodes in Nodes

	Addresses
	nodes []*Node
}

// Addresses knows the addresses of a node, as the node that a template is for sees them. An error says that
// the node has no such port.
type Addresses interface {
	Listen(port string) (string, error) // where it listens
	Link(port string) (string, error)   // where all others reach it
	To(port string) (string, error)     // where the node that the template is for reaches it
}

// NewNode makes a node for templates. nodes are all nodes, as this one sees them.
func NewNode(name string, number int, dir string, a Addresses, nodes []*Node) *Node {
	return &Node{Name: name, Number: number, Dir: dir, Addresses: a, nodes: nodes}
}

// Nodes returns all nodes, as this one sees them.
func (n *Node) Nodes() []*Node { return n.nodes }

// Told is what the templates of clients see.
type Told struct{ Addresses []string }

// Render renders a template.
func Render(text string, of any) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"port": func(address string) (string, error) {
			_, port, err := net.SplitHostPort(address)
			return port, err
		},
		"join": func(sep string, texts []string) string { return strings.Join(texts, sep) },
	}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%q is not a template: %s", text, strings.TrimPrefix(err.Error(), "template: :"))
	}
	var out strings.Builder
	if err := t.Execute(&out, of); err != nil {
		_, says, _ := strings.Cut(err.Error(), ` executing "" at `)
		return "", fmt.Errorf("%q: %s", text, says)
	}
	return out.String(), nil
}

// UnknownPort is the error of Addresses.
func (s *Service) UnknownPort(port string) error {
	return fmt.Errorf("there is no port %q: the ports are %s", port, strings.Join(s.Ports, ", "))
}

// imagined gives addresses of a node that does not exist.
type imagined struct{ *Service }

func (i imagined) Listen(port string) (string, error) {
	for _, p := range i.Ports {
		if p == port {
			return "127.0.0.1:1", nil
		}
	}
	return "", i.UnknownPort(port)
}

func (i imagined) Link(port string) (string, error) { return i.Listen(port) }
func (i imagined) To(port string) (string, error)   { return i.Listen(port) }

// example returns a node that does not exist, for checks.
func (s *Service) example() *Node {
	node := NewNode("m1", 1, "/m1", imagined{s}, nil)
	node.nodes = []*Node{node}
	for i := 2; i <= mostNodes; i++ {
		node.nodes = append(node.nodes, NewNode(fmt.Sprintf("m%d", i), i, "", imagined{s}, nil))
	}
	return node
}
