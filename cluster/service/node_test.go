package service

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster/service/spec"
)

// asNode makes this program run as a node of the service of the tests.
const asNode = "LOCKPICK_TEST_NODE"

func TestMain(m *testing.M) {
	switch os.Getenv(asNode) {
	case "":
		os.Exit(m.Run())
	case "broken":
		fmt.Println("no node today")
		os.Exit(3)
	}
	runNode(os.Args[1:])
}

// described returns the description of the service. dials is the template of the address at which a node dials another.
func described(dials string) *spec.Service {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	who := spec.Probe{TCP: `{{.Listen "client"}}`, Send: "who\n"}
	ready, leads, version := who, who, who
	ready.Match, leads.Match, version.Match = "has a majority", "leads", `version (\S+)`
	return &spec.Service{
		Name: "toy", Version: version, Ports: []string{"client", "peer"}, Clients: spec.Clients{Port: "client"},
		Command: []string{program, "{{.Name}}", `{{.Listen "client"}}`, `{{.Listen "peer"}}`, "{{.Dir}}/peers"},
		Env:     map[string]string{asNode: "node"},
		Files:   map[string]string{"{{.Dir}}/peers": "{{range .Nodes}}{{.Name}} " + dials + "\n{{end}}"},
		Ready:   ready, Leader: leads, Within: 20 * time.Second, Settle: time.Second,
	}
}

// seenFor is how long a node counts another as alive after it has heard of it.
const seenFor = 300 * time.Millisecond

// toy is a node: it greets the others again and again, and answers clients whom it has heard of. The node with the
// smallest name among a majority leads.
type toy struct {
	name, listens string
	mu            sync.Mutex
	heard         map[string]time.Time
	others        int
}

// runNode runs a node: its arguments are its name, the addresses for clients and for nodes, and a file with the names and
// addresses of all nodes.
func runNode(args []string) {
	n := &toy{name: args[0], listens: args[2], heard: map[string]time.Time{}}
	b, err := os.ReadFile(args[3])
	if err != nil {
		panic(err)
	}
	go serveLines(args[2], n.greeted)
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if name, address, _ := strings.Cut(line, " "); name != n.name {
			n.others++
			go n.greet(address)
		}
	}
	serveLines(args[1], func(string) string { return n.says() })
}

// serveLines answers each line of each connection.
func serveLines(address string, answer func(string) string) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			for in := bufio.NewScanner(c); in.Scan(); {
				fmt.Fprintln(c, answer(in.Text()))
			}
		}()
	}
}

// greet tells another node the own name and address, on a connection that stays open as long as it answers.
func (n *toy) greet(address string) {
	for ; ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, seenFor)
		if err != nil {
			continue
		}
		for in := bufio.NewScanner(c); ; time.Sleep(20 * time.Millisecond) {
			_ = c.SetDeadline(time.Now().Add(seenFor))
			fmt.Fprintln(c, n.name, n.listens)
			if !in.Scan() {
				break
			}
			n.hear(in.Text())
		}
		c.Close()
	}
}

// greeted answers a greeting. If it names another address than a link's, the node dials that, as ZooKeeper's do.
func (n *toy) greeted(line string) string {
	name, address, _ := strings.Cut(line, " ")
	n.mu.Lock()
	_, known := n.heard[name+" back"]
	n.heard[name+" back"] = time.Time{}
	n.mu.Unlock()
	if !known && os.Getenv("LOCKPICK_TEST_BACK") != "" {
		go n.greet(address)
	}
	return n.name
}

func (n *toy) hear(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heard[name] = time.Now()
}

// says describes what the node knows.
func (n *toy) says() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	alive := []string{n.name}
	for name, at := range n.heard {
		if time.Since(at) < seenFor {
			alive = append(alive, name)
		}
	}
	slices.Sort(alive)
	text := "version 1.2 sees " + strings.Join(alive, " ")
	if len(alive) > (n.others+1)/2 {
		text += ", has a majority"
		if alive[0] == n.name {
			text += ", leads"
		}
	}
	return text
}

// TestTheEndOfAnEarlierProcessIsNone: on a busy machine a process that a call has ended may be seen to end only when the next one runs.
func TestTheEndOfAnEarlierProcessIsNone(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	for _, c := range []struct {
		name string
		of   life
		died bool
	}{
		{"ended by a call", life{exited: ended, ending: true}, false},
		{"by itself", life{exited: ended}, true},
	} {
		n := &node{life: &life{exited: make(chan struct{})}} // the next one
		n.watch(&c.of)
		if died := n.Died(); (died != "") != c.died {
			t.Errorf("%s: died %q", c.name, died)
		}
	}
}
