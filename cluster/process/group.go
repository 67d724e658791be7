package process

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockpick/cluster"
	"lockpick/internal/plural"
)

// group implements cluster.Cluster for the drivers with real masters.
type group struct {
	driver      string
	server      string // the name by which the masters call themselves
	version     string
	root        string         // contains a directory for each master's data
	dial        cluster.Dialer // connects to a server
	alive       locked         // unlocks root
	say         func(format string, args ...any)
	life        context.Context // ends with Close
	end         context.CancelFunc
	masters     []*master
	ports       Ports // of its servers
	access      cluster.Access
	certificate *tls.Config // of links; nil: they speak no TLS
	shim        error       // the reason why the faults of the shim are not available; nil if they are
	after       func()      // the driver's last step of Close

	links cluster.Links
	close func() error
}

// Site describes one server for its engine.
type Site struct {
	Name       string         // m1, m2, …; a replica is m1r1
	Port       int            // its port on 127.0.0.1
	Home       string         // directory for everything of the server except its log
	Log        string         // path of the existing log file
	Password   string         // password that clients must send; it is in Settings. Each master has its own
	ClientUser string         // the user as whom clients' links log in; empty: the default user
	Users      []cluster.User // whom clients log in as themselves
	Admin      bool           // users may send what no lock sends
	Shim       string         // the shared object to load; empty: none
	Replicated bool           // it must be able to reach other servers
}

// Settings is the name of the file with the server's password: a command line would show it
// to every user of the machine.
const Settings = "redis.conf"

// clientUser is the user of a server whom it refuses what no lock sends. Clients' links log in as this user unless
// Config.Admin is set; the harness itself is the default user.
const clientUser = "client"

func (s Site) settings() string {
	text := "requirepass " + s.Password + "\n"
	denied := ""
	if !s.Admin {
		denied = " -" + strings.Join(cluster.RefusedNames(), " -")
	}
	if s.ClientUser != "" {
		text += "user " + s.ClientUser + " on >" + s.Password + " ~* &* +@all" + denied + "\n"
	}
	for _, u := range s.Users {
		text += "user " + u.Name + " " + u.Rules + denied + "\n"
	}
	return text
}

func (s Site) data() string    { return filepath.Join(s.Home, "data") }
func (s Site) shimDir() string { return filepath.Join(s.Home, "shim") }

// Build makes the engine of a server.
type Build func(Site) Engine

// Open starts the masters, after the driver has prepared everything that it needs. shim is
// the path of the fault shim; if there is none, why is the reason.
func Open(ctx context.Context, cfg cluster.Config, driver string, engine Build, shim string, why error, after func()) (cluster.Cluster, error) {
	g := &group{driver: driver, after: after, dial: cluster.Dial, shim: why}
	if g.serversAreOwn() {
		g.dial = cluster.DialOwn
	}
	g.life, g.end = context.WithCancel(context.Background())
	g.close = sync.OnceValue(g.remove)
	g.say = cfg.Progress
	if err := g.open(ctx, cfg, engine, shim); err != nil {
		// The launches that had begun have ended, because open waits for them.
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// serversAreOwn reports whether the servers are processes of this user. The user of a container is another one.
func (g *group) serversAreOwn() bool { return g.driver == driverName }

func (g *group) open(ctx context.Context, cfg cluster.Config, engine Build, shim string) error {
	began := time.Now()
	root, alive, err := newRoot(g.driver)
	if root != "" {
		g.root, g.alive = root, alive
	}
	if err != nil {
		return err
	}
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
	if err := g.guard(cfg); err != nil {
		return err
	}
	g.say("starting %s (%s, persistence %s)", plural.Count(cfg.Masters, "master", "masters"), g.driver, cfg.Persistence)
	err = g.startAll(ctx, cfg, engine, logs, shim)
	if err != nil && shim != "" && ctx.Err() == nil && !errors.Is(err, ErrPortTaken) {
		with := err
		if err := errors.Join(g.removeMasters()...); err != nil {
			return errors.Join(with, err)
		}
		if err = g.startAll(ctx, cfg, engine, logs, ""); err == nil {
			g.shim = fmt.Errorf("the server comes up only without the fault shim: %w", with)
		}
	}
	if err != nil {
		return fmt.Errorf("start %s (%s): %w", plural.Count(cfg.Masters, "master", "masters"), g.driver, err)
	}
	g.prove()
	if g.shim != nil {
		g.say("no clock faults, disk faults and power cuts: %v", g.shim)
	}
	info := g.masters[0].now().info
	g.server, g.version = info.name, info.version
	g.say("up after %v: %s with %s %s", time.Since(began).Round(time.Millisecond), plural.Count(cfg.Masters, "master", "masters"), g.server, g.version)
	return g.checkAbilities(ctx, cfg)
}

// guard prepares what clients need to use links.
func (g *group) guard(cfg cluster.Config) (err error) {
	if len(cfg.Users) > 0 {
		g.access.User, g.access.Password = cfg.Users[0].Name, cfg.Users[0].Password
	}
	if !cfg.TLS {
		return nil
	}
	var authority []byte
	if g.certificate, authority, err = cluster.NewCertificate(); err != nil {
		return err
	}
	g.access.CA = filepath.Join(g.root, "ca.pem")
	return os.WriteFile(g.access.CA, authority, 0o644)
}

func (g *group) Access() cluster.Access { return g.access }

// startAll starts all masters and their replicas, with the shim or without.
func (g *group) startAll(ctx context.Context, cfg cluster.Config, engine Build, logs, shim string) error {
	each := 1 + cfg.Replicas
	ports, err := g.ports.Take(cfg.Masters * each)
	if err != nil {
		return err
	}
	g.masters = make([]*master, cfg.Masters)
	starts, ctx := errgroup.WithContext(ctx)
	for i := range g.masters {
		sites, password, user := make([]Site, each), rand.Text(), clientUser
		if cfg.Admin || len(cfg.Users) > 0 {
			user = ""
		}
		for k := range sites {
			s := Site{Name: fmt.Sprintf("m%d", i+1), Port: ports[i*each+k], Shim: shim, Replicated: each > 1, Password: password, ClientUser: user, Users: cfg.Users, Admin: cfg.Admin}
			if k > 0 {
				s.Name += fmt.Sprintf("r%d", k)
			}
			s.Home = filepath.Join(g.root, s.Name)
			s.Log = filepath.Join(logs, s.Name+".log")
			sites[k] = s
		}
		starts.Go(func() error {
			m, err := g.first(ctx, sites[0], engine)
			g.masters[i] = m
			if m != nil {
				m.links = func() map[string]*cluster.TCPLink { return g.links.To(i) }
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
func (g *group) first(ctx context.Context, s Site, engine Build) (*master, error) {
	server, err := g.launch(ctx, s, engine)
	if server == nil {
		return nil, err
	}
	return newMaster(g.life, server), err // the group also removes a master that has failed
}

// launch starts a server for the first time. If the chosen port turns out to be taken, it may
// use another one.
func (g *group) launch(ctx context.Context, s Site, engine Build) (*server, error) {
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		return nil, fmt.Errorf("make the data directory of %s: %w", s.Name, err)
	}
	if err := os.WriteFile(filepath.Join(s.Home, Settings), []byte(s.settings()), 0o600); err != nil {
		return nil, fmt.Errorf("write the settings of %s: %w", s.Name, err)
	}
	log := serverLog{s.Log}
	if err := log.create(); err != nil {
		return nil, err
	}
	var p *sharedMemory
	if s.Shim != "" {
		var err error
		if p, err = newSharedMemory(s.shimDir()); err != nil {
			return nil, err
		}
	}
	const tries = 5
	for try := 1; ; try++ {
		server := newServer(s, engine(s), log, p, g.dial)
		err := server.start(ctx)
		if err != nil {
			err = fmt.Errorf("start %s: %w", s.Name, err)
		}
		if err == nil || try == tries || !errors.Is(err, ErrPortTaken) {
			return server, err
		}
		if err := server.engine.Remove(); err != nil {
			return server, err
		}
		ports, err := g.ports.Take(1)
		if err != nil {
			return server, err
		}
		s.Port = ports[0]
	}
}

// prove checks whether the shim works in every server, which its faults need.
func (g *group) prove() {
	for _, m := range g.masters {
		for _, s := range m.servers() {
			if s.shared != nil && g.shim == nil {
				g.shim = s.shared.proof()
			}
		}
	}
	if g.shim == nil {
		return
	}
	for _, m := range g.masters {
		m.unshimmed = g.shim
		for _, s := range m.servers() {
			if s.shared != nil {
				s.shared.close()
				s.shared = nil
			}
		}
	}
}

func (g *group) Driver() string  { return g.driver }
func (g *group) Server() string  { return g.server }
func (g *group) Version() string { return g.version }
func (g *group) Shim() error     { return g.shim }

func (g *group) Masters() []cluster.Master {
	all := make([]cluster.Master, len(g.masters))
	for i, m := range g.masters {
		all[i] = m
	}
	return all
}

func (g *group) Link(client string, master int) (cluster.Link, error) {
	return g.links.Link(client, master, g.Masters(), func() (*cluster.TCPLink, error) {
		m := g.masters[master]
		return cluster.NewLink(func() string { return m.addrFor(client) },
			cluster.LinkOptions{Own: true, Dial: g.dial, User: m.now().ClientUser, Password: m.now().Password, Accounts: m.accounts, LogsOut: g.access.User != "", TLS: g.certificate})
	})
}

func (g *group) Close() error { return g.close() }

// remove does the work of Close, and runs once.
func (g *group) remove() error {
	g.end()
	g.links.Close()
	errs := g.removeMasters()
	g.ports.Release()
	if g.root != "" {
		errs = append(errs, RemoveRoot(g.root))
		g.alive.release()
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

// CompleteConfig fills in the defaults of a configuration, and returns the flags of its
// servers.
func CompleteConfig(cfg cluster.Config) (cluster.Config, []string, error) {
	if cfg.Masters == 0 {
		cfg.Masters = 5
	}
	if cfg.Masters < 0 {
		return cfg, nil, fmt.Errorf("start %d masters: want one or more", cfg.Masters)
	}
	if cfg.Persistence == "" {
		cfg.Persistence = cluster.None
	}
	flags, err := persistenceFlags(cfg.Persistence)
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
	cfg.Progress = Serialize(cfg.Progress)
	return cfg, flags, nil
}

// Serialize makes a progress callback, which may be nil, safe for concurrent calls.
func Serialize(progress func(string, ...any)) func(string, ...any) {
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

// RemoveRoot removes the data. It retries, because a child of a server that was killed with
// it may still be writing.
func RemoveRoot(root string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(root); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("remove the masters' data: %w; remove %s by hand", err, root)
}
