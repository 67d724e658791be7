package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// group is the Cluster of the drivers with real masters.
type group struct {
	driver  string
	version string
	root    string // holds a directory for each master's data
	say     func(format string, args ...any)
	life    context.Context // ends with Close
	end     context.CancelFunc
	masters []*master
	shim    error  // why there are no faults of the shim; nil if there are
	after   func() // what the driver does last

	mu     sync.Mutex
	closed bool
	links  map[way]*link
	close  func() error
}

// way is from whom to whom a link goes.
type way struct {
	client string
	master int
}

// site is where one server lives: what its engine is made from.
type site struct {
	name       string // m1, m2, …; a replica is m1r1
	port       int    // on 127.0.0.1
	home       string // directory that holds what the server has but its log
	log        string // file; it exists
	shim       string // the object to load; empty: none
	replicated bool   // it has to reach other servers
}

func (s site) data() string    { return filepath.Join(s.home, "data") }
func (s site) shimDir() string { return filepath.Join(s.home, "shim") }

// build makes the engine of a server.
type build func(site) engine

// open starts the masters. What a driver needs first, it does before. shim is the
// object of the fault shim, or why there is none.
func open(ctx context.Context, cfg Config, driver string, engine build, shim string, why error, after func()) (Cluster, error) {
	g := &group{driver: driver, after: after, links: map[way]*link{}, shim: why}
	g.life, g.end = context.WithCancel(context.Background())
	g.close = sync.OnceValue(g.remove)
	g.say = cfg.Progress
	if err := g.open(ctx, cfg, engine, shim); err != nil {
		// Launches that were under way have ended: open waits for them.
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *group) open(ctx context.Context, cfg Config, engine build, shim string) error {
	began := time.Now()
	root, err := newRoot(g.driver)
	if err != nil {
		return err
	}
	g.root = root
	logs := cfg.LogDir
	if logs == "" {
		logs = root
	}
	if logs, err = filepath.Abs(logs); err == nil {
		err = os.MkdirAll(logs, 0o755)
	}
	if err != nil {
		return fmt.Errorf("make the directory for the masters' logs: %w", err)
	}
	g.say("starting %d masters (%s, persistence %s)", cfg.Masters, g.driver, cfg.Persistence)
	err = g.startAll(ctx, cfg, engine, logs, shim)
	if err != nil && shim != "" && ctx.Err() == nil && !errors.Is(err, errPortTaken) {
		with := err
		if err := errors.Join(g.removeMasters()...); err != nil {
			return errors.Join(with, err)
		}
		if err = g.startAll(ctx, cfg, engine, logs, ""); err == nil {
			g.shim = fmt.Errorf("redis-server comes up only without the fault shim: %w", with)
		}
	}
	if err != nil {
		return fmt.Errorf("start %d masters (%s): %w", cfg.Masters, g.driver, err)
	}
	g.prove()
	if g.shim != nil {
		g.say("no clock faults, disk faults and power cuts: %v", g.shim)
	}
	g.version = g.masters[0].now().info.version
	g.say("%d masters with Redis %s are up after %v", cfg.Masters, g.version, time.Since(began).Round(time.Millisecond))
	return nil
}

// startAll starts all masters and their replicas, with the shim or without.
func (g *group) startAll(ctx context.Context, cfg Config, engine build, logs, shim string) error {
	each := 1 + cfg.Replicas
	ports, err := freePorts(cfg.Masters * each)
	if err != nil {
		return err
	}
	g.masters = make([]*master, cfg.Masters)
	starts, ctx := errgroup.WithContext(ctx)
	for i := range g.masters {
		sites := make([]site, each)
		for k := range sites {
			s := site{name: fmt.Sprintf("m%d", i+1), port: ports[i*each+k], shim: shim, replicated: each > 1}
			if k > 0 {
				s.name += fmt.Sprintf("r%d", k)
			}
			s.home = filepath.Join(g.root, s.name)
			s.log = filepath.Join(logs, s.name+".log")
			sites[k] = s
		}
		starts.Go(func() error {
			m, err := g.first(ctx, sites[0], engine)
			g.masters[i] = m
			if m != nil {
				m.links = func() map[string]*link { return g.linksTo(i) }
			}
			if err != nil || each == 1 {
				return err
			}
			return g.replicate(ctx, m, sites[1:], engine)
		})
	}
	return starts.Wait()
}

// first starts a master for the first time.
func (g *group) first(ctx context.Context, s site, engine build) (*master, error) {
	server, err := g.launch(ctx, s, engine)
	if server == nil {
		return nil, err
	}
	return newMaster(g.life, server), err // also a master that failed is the group's to remove
}

// launch starts a server for the first time. Until it is up, it may still be given
// another port than the one that was found free.
func (g *group) launch(ctx context.Context, s site, engine build) (*server, error) {
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		return nil, fmt.Errorf("make the data directory of %s: %w", s.name, err)
	}
	log := journal{s.log}
	if err := log.create(); err != nil {
		return nil, err
	}
	var p *page
	if s.shim != "" {
		var err error
		if p, err = newPage(s.shimDir()); err != nil {
			return nil, err
		}
	}
	const tries = 5
	for try := 1; ; try++ {
		server := newServer(s, engine(s), log, p)
		err := server.start(ctx)
		if err != nil {
			err = fmt.Errorf("start %s: %w", s.name, err)
		}
		if err == nil || try == tries || !errors.Is(err, errPortTaken) {
			return server, err
		}
		if err := server.engine.remove(); err != nil {
			return server, err
		}
		ports, err := freePorts(1)
		if err != nil {
			return server, err
		}
		s.port = ports[0]
	}
}

// prove looks whether the shim works in every server, as it must for faults that
// are to hit any of them.
func (g *group) prove() {
	for _, m := range g.masters {
		for _, s := range m.servers() {
			if s.page != nil && g.shim == nil {
				g.shim = s.page.proof()
			}
		}
	}
	if g.shim == nil {
		return
	}
	for _, m := range g.masters {
		m.unshimmed = g.shim
		for _, s := range m.servers() {
			if s.page != nil {
				s.page.close()
				s.page = nil
			}
		}
	}
}

func (g *group) Driver() string  { return g.driver }
func (g *group) Version() string { return g.version }
func (g *group) Shim() error     { return g.shim }

func (g *group) Masters() []Master {
	all := make([]Master, len(g.masters))
	for i, m := range g.masters {
		all[i] = m
	}
	return all
}

// linksTo are the links to a master, by client.
func (g *group) linksTo(master int) map[string]*link {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := map[string]*link{}
	for w, l := range g.links {
		if w.master == master {
			found[w.client] = l
		}
	}
	return found
}

func (g *group) Link(client string, master int) (Link, error) {
	if master < 0 || master >= len(g.masters) {
		return nil, fmt.Errorf("link %s to master %d: there are the masters 0 to %d", client, master, len(g.masters)-1)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("link %s to %s: %w", client, g.masters[master].name, ErrClosed)
	}
	w := way{client, master}
	if l, ok := g.links[w]; ok {
		return l, nil
	}
	l, err := newLink(func() string { return g.masters[master].addrFor(client) })
	if err != nil {
		return nil, fmt.Errorf("link %s to %s: %w", client, g.masters[master].name, err)
	}
	g.links[w] = l
	return l, nil
}

func (g *group) Close() error { return g.close() }

// remove is Close, done once.
func (g *group) remove() error {
	g.end()
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	for _, l := range g.links {
		l.close()
	}
	errs := g.removeMasters()
	if g.root != "" {
		errs = append(errs, removeRoot(g.root))
	}
	g.after()
	return errors.Join(errs...)
}

// removeMasters ends all servers.
func (g *group) removeMasters() []error {
	errs := make([]error, len(g.masters))
	var removals sync.WaitGroup
	for i, m := range g.masters {
		if m != nil {
			removals.Go(func() { errs[i] = m.remove() })
		}
	}
	removals.Wait()
	return errs
}

// check fills in what a configuration leaves out.
func (cfg Config) check() (Config, []string, error) {
	if cfg.Masters == 0 {
		cfg.Masters = 5
	}
	if cfg.Masters < 0 {
		return cfg, nil, fmt.Errorf("start %d masters: want one or more", cfg.Masters)
	}
	if cfg.Persistence == "" {
		cfg.Persistence = None
	}
	flags, err := cfg.Persistence.flags()
	if err != nil {
		return cfg, nil, err
	}
	memory, err := memoryFlags(cfg.MaxMemory, cfg.Eviction)
	if err != nil {
		return cfg, nil, err
	}
	flags = append(flags, memory...)
	if cfg.Replicas < 0 || cfg.Replicas > 2 {
		return cfg, nil, fmt.Errorf("%d replicas of each master: want 0, 1 or 2", cfg.Replicas)
	}
	if cfg.Replicas > 0 {
		flags = append(flags, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
	}
	cfg.Progress = inTurn(cfg.Progress)
	return cfg, flags, nil
}

// inTurn lets a progress callback be called by many, and be nil.
func inTurn(progress func(string, ...any)) func(string, ...any) {
	if progress == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		progress(format, args...)
	}
}

// newRoot makes the directory that all data of a cluster lies in. Its name says
// whose it is, so that a harness that was killed between any two steps leaves
// nothing behind that could not be told.
func newRoot(driver string) (string, error) {
	root, err := os.MkdirTemp("", fmt.Sprintf("%s%d-%s-", rootPrefix(driver), self().pid, self().start))
	if err != nil {
		return "", fmt.Errorf("make a directory for the masters' data: %w", err)
	}
	return filepath.Abs(root)
}

func rootPrefix(driver string) string { return "lockpick-" + driver + "-" + placeKey() + "-" }

// rootOwner reads from a root's name whose it is.
func rootOwner(driver, name string) (identity, bool) {
	rest, ok := strings.CutPrefix(name, rootPrefix(driver))
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 {
		return identity{}, false
	}
	owner, err := parseIdentity(parts[0] + "@" + parts[1])
	return owner, err == nil
}

// removeRoot removes the data. A server's child that was killed with it may be
// writing its last bytes, so one try is not enough.
func removeRoot(root string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(root); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("remove the masters' data: %w; remove %s by hand", err, root)
}
