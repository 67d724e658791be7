package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/cluster/service/spec"
)

// DriverName is the driver in the history of a run on a service.
const DriverName = "service" // fault.Service

// nodes implements cluster.Cluster and cluster.Peered.
type nodes struct {
	spec     *spec.Service
	version  string
	elected  *regexp.Regexp // nil: the description does not say
	programs *process.Programs
	remove   func() error // removes the folder of all nodes
	all      []*node
	dialers  dialers
	close    func() error

	mu      sync.Mutex
	closed  bool
	ports   process.Ports              // of nodes and links
	clients map[route]*cluster.TCPLink // from is the number of a client's name in names
	fronts  map[front]*cluster.TCPLink // links that all dial: they route to those in pairs
	pairs   map[route]*cluster.TCPLink // from one node to another
	names   []string                   // of clients
}

// front is a port of a node.
type front struct {
	to   int
	port string
}

// route is a way to a port of a node.
type route struct {
	from, to int
	port     string
}

// Start starts the nodes of a service, and returns when all are ready. It takes other ports if another program has taken one.
func Start(ctx context.Context, cfg cluster.Config, s *spec.Service) (c cluster.Cluster, err error) {
	for range 3 {
		if c, err = startOnce(ctx, cfg, s); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return c, err
}

func startOnce(ctx context.Context, cfg cluster.Config, s *spec.Service) (_ cluster.Cluster, err error) {
	c := &nodes{
		spec: s, programs: process.NewPrograms(), remove: func() error { return nil },
		dialers: newDialers(),
		clients: map[route]*cluster.TCPLink{}, fronts: map[front]*cluster.TCPLink{}, pairs: map[route]*cluster.TCPLink{},
	}
	c.close = sync.OnceValue(c.closeAll)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start %d nodes of %s: %w", cfg.Masters, s.Name, err), c.Close())
		}
	}()
	if s.Elected != "" {
		c.elected = regexp.MustCompile(s.Elected) // was checked
	}
	say := process.Serialize(cfg.Progress)
	began := time.Now()
	if err := c.prepare(cfg); err != nil {
		return nil, err
	}
	say("starting %d nodes of %s", cfg.Masters, s.Name)
	if err := c.each(func(n *node) error { return n.Start(ctx) }); err != nil {
		return nil, err
	}
	ready, cancel := context.WithTimeoutCause(ctx, s.StartWithin(), fmt.Errorf("it was not ready within %v", s.StartWithin()))
	defer cancel()
	if err := c.each(func(n *node) error { return n.awaitReady(ready) }); err != nil {
		return nil, err
	}
	if err := c.Bypass(); err != nil {
		return nil, err
	}
	for _, n := range c.all {
		n.Elected() // who led before clients came is of no interest
	}
	if s.Version.Given() {
		if c.version, err = c.askVersion(ctx); err != nil {
			return nil, err
		}
	}
	say("%d nodes of %s %s are up after %v", cfg.Masters, s.Name, c.version, time.Since(began).Round(time.Millisecond))
	return c, nil
}

// prepare makes everything of the nodes but their processes.
func (c *nodes) prepare(cfg cluster.Config) error {
	root, remove, err := process.Scratch()
	if err != nil {
		return err
	}
	c.remove = remove
	logs := cfg.LogDir
	if logs == "" {
		logs = root
	}
	if logs, err = filepath.Abs(logs); err != nil {
		return err
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("make the folder for the logs of nodes: %w", err)
	}
	for i := range cfg.Masters {
		n := &node{cluster: c, number: i, name: fmt.Sprintf("m%d", i+1), ports: map[string]string{}}
		n.site = process.Site{Name: n.name, Home: filepath.Join(root, n.name), Log: filepath.Join(logs, n.name+".log")}
		for _, port := range c.spec.Ports {
			free, err := c.freePort()
			if err != nil {
				return err
			}
			n.ports[port] = net.JoinHostPort("127.0.0.1", strconv.Itoa(free))
		}
		c.all = append(c.all, n)
	}
	for _, n := range c.all {
		if err := n.prepare(); err != nil {
			return err
		}
	}
	return nil
}

// freePort returns a port for a node or a link. No one listens on the port of a link while its node is down.
func (c *nodes) freePort() (int, error) {
	free, err := c.ports.Take(1)
	if err != nil {
		return 0, err
	}
	return free[0], nil
}

// each runs f for all nodes at the same time.
func (c *nodes) each(f func(n *node) error) error {
	errs := make([]error, len(c.all))
	var running sync.WaitGroup
	for i, n := range c.all {
		running.Go(func() {
			if err := f(n); err != nil {
				errs[i] = fmt.Errorf("%s: %w", n.name, err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// askVersion asks the first node for the version of its program.
func (c *nodes) askVersion(ctx context.Context) (string, error) {
	p, err := c.spec.Version.For(c.all[0].view)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	said, err := ask(ctx, p)
	if err != nil {
		return "", fmt.Errorf("ask for its version: %w", err)
	}
	return regexp.MustCompile(p.Match).FindStringSubmatch(said)[1], nil
}

// versionWithin is how long a program may take to say its version.
const versionWithin = 10 * time.Second

func (c *nodes) Driver() string  { return DriverName }
func (c *nodes) Server() string  { return c.spec.Name }
func (c *nodes) Version() string { return c.version }

func (c *nodes) Shim() error {
	return fmt.Errorf("%s runs as it is: only redis-server is run with the fault shim", c.spec.Name)
}

func (c *nodes) Masters() []cluster.Master {
	all := make([]cluster.Master, len(c.all))
	for i, n := range c.all {
		all[i] = n
	}
	return all
}

func (c *nodes) Leader(ctx context.Context) (cluster.Master, error) {
	if !c.spec.Leader.Given() {
		return nil, errors.New("the description of the service does not say how to see which node leads")
	}
	var mu sync.Mutex
	var leader *node
	ctx, found := context.WithCancel(ctx)
	defer found()
	_ = c.each(func(n *node) error {
		if n.State() != cluster.Up {
			return nil
		}
		if _, err := ask(ctx, n.leads); err == nil {
			mu.Lock()
			defer mu.Unlock()
			leader = n
			found()
		}
		return nil
	})
	if leader == nil {
		return nil, errors.New("no node says that it leads")
	}
	return leader, nil
}

func (c *nodes) Close() error { return c.close() }

// closeAll does the work of Close, and runs once.
func (c *nodes) closeAll() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.each((*node).remove)
	for _, l := range c.links(func(route) bool { return true }) {
		l.Close()
	}
	c.programs.Close()
	c.ports.Release()
	return errors.Join(err, c.remove())
}

// find returns a program's path.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("find the program: %w: install it, or give its path in command", err)
	}
	return path, nil
}

// group returns the node with a process group.
func (c *nodes) group(id int) (*node, bool) {
	i := slices.IndexFunc(c.all, func(n *node) bool { return id != 0 && n.processGroup() == id })
	if i < 0 {
		return nil, false
	}
	return c.all[i], true
}
