package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/clients"
	"lockpick/cluster"
	"lockpick/cluster/account"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// clientsDir is the subfolder of a run for the stderr of its clients.
const clientsDir = "clients"

// lockOf returns the lock under test. hello is the description that its client gives of itself.
func lockOf(s *scenario.Scenario, hello workload.Hello) workload.Implementation {
	if !s.RunsCommand() {
		kind, _ := workload.LockNamed(s.Lock)
		kind.Kind = s.LockKind()
		return kind
	}
	return workload.Implementation{Name: s.Lock, Summary: hello.Library, Kind: cmp.Or(s.Kind, hello.Kind, history.Mutex), Fencing: hello.Has(workload.CanFence), Masters: hello.Masters, Fair: hello.Fair, DeadWaiter: hello.DeadWaiter(), Permits: hello.Permits, Retry: hello.Retry()}
}

// ClientCommand returns the command of a scenario's clients, as this machine starts it; nil: they are Lockpick's own. The
// error is a *scenario.Problem of what is not installed.
func ClientCommand(s *scenario.Scenario) ([]string, error) {
	if !s.RunsCommand() {
		return nil, nil
	}
	command, err := clients.Resolve(s.Client)
	if err != nil {
		return nil, &scenario.Problem{Field: "client", Says: err.Error()}
	}
	return command, nil
}

// findClient keeps the command of the scenario's clients: what is missing is said before any master starts.
func (opt *Options) findClient(s *scenario.Scenario) error {
	command, err := ClientCommand(s)
	if command != nil {
		opt.Client = command
	}
	return err
}

// meet starts the command of the clients once to read its description of itself. If skew is set, it also
// determines whether the clients' clocks can be changed, even if the run has no faults of clocks.
func (c *campaign) meet(skew bool) error {
	if !c.s.RunsCommand() {
		return nil
	}
	site, err := c.clientEnv("c1")
	if err != nil {
		return err
	}
	site.Kind, site.Permits = c.s.Kind, permitsOf(&c.s)
	site.Client, site.TTL, site.Timeout, site.Runtime = "c1", c.s.TTL, c.s.Timeout, protocol.RealTime{}
	site.Record, site.Observe = func(history.Op, time.Duration) {}, nil
	command := c.command()
	if skew {
		command.Clocks = c.skewClocks
	}
	client, err := c.opt.Drivers.Client(command, site)
	if err != nil {
		return &scenario.Problem{Field: "client", Says: strings.TrimPrefix(err.Error(), "client c1: ")}
	}
	if greets, ok := client.(interface{ Hello() workload.Hello }); ok {
		c.hello = greets.Hello()
	}
	if err := client.Close(); err != nil {
		return err
	}
	if c.s.Fencing && !c.hello.Has(workload.CanFence) {
		return &scenario.Problem{Field: "fencing", Says: "the client does not say that its grants carry fencing tokens (\"can\":[\"fence\"])"}
	}
	if c.s.Kind == "" && c.hello.Kind == history.Multi {
		c.s.Kind = c.hello.Kind
		c.s = c.s.WithRequirements()
	}
	if says := cmp.Or(c.hello.Kind, history.Mutex); c.s.Kind != "" && c.s.Kind != says {
		return &scenario.Problem{Field: "kind", Says: fmt.Sprintf("the client says that its lock is a %s (\"kind\":%q), not a %s", says.Words(), says, c.s.Kind.Words())}
	}
	for i, u := range c.s.Usage {
		if workload.Usage(u).Shares() && !c.hello.Has(workload.CanShare) {
			return &scenario.Problem{Field: fmt.Sprintf("usage[%d]", i), Says: u + " needs a client whose process serves several clients at once (\"can\":[\"shared\"])"}
		}
	}
	if !c.hello.Has(workload.CanExtend) {
		c.s.Extend = 0
	}
	c.opt.Progress("%s", c.introduction())
	if !c.hello.Skews() && slices.ContainsFunc(c.s.FaultNames(), fault.SkewsClients) {
		c.opt.Progress("faults of the clients' clocks will be skipped: %v", c.hello.NoSkew)
	}
	return nil
}

// introduction describes the clients in one line.
func (c *campaign) introduction() string {
	command, _, more := strings.Cut(strings.Join(c.s.Client, " "), "\n")
	if more {
		command += " …"
	}
	what := "the clients run " + command
	if c.hello.Library != "" {
		what += " (" + c.hello.Library + ")"
	}
	if len(c.hello.Can) > 0 {
		what += "; abilities: " + strings.Join(c.hello.Can, ", ")
	}
	return what
}

// command returns the command that runs as a client.
func (c *campaign) command() workload.Command {
	log := func(client string) (io.WriteCloser, error) {
		return os.OpenFile(filepath.Join(c.dir, clientsDir, client+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	}
	command := workload.Command{Args: c.opt.Client, Lock: c.s.Lock, Log: log}
	if c.s.RunsCommand() {
		if slices.ContainsFunc(c.s.FaultNames(), fault.SkewsClients) && !c.hello.Has(workload.CanClock) { // otherwise nothing skews them
			command.Clocks = c.skewClocks
		}
	}
	return command
}

// skewClocks makes the clocks of a client that cannot change its own clock.
func (c *campaign) skewClocks() (workload.ProgramClocks, error) {
	if c.hello.NoSkew != nil { // known since meet started the command
		return nil, c.hello.NoSkew
	}
	return c.opt.Drivers.ProgramClocks(c.outer)
}

// openAccount begins to follow what the masters do to their keys, if the votes of the lock are read from that. Of a lock that
// reports its votes itself, the changes of its keys are recorded if several may hold them: votes do not say what such keys store.
func (c *campaign) openAccount() {
	ownVotes := c.sim != nil || !c.s.RunsCommand() && !c.s.Connects() && c.session == nil
	if ownVotes && c.s.LockKind().OneToken() {
		return
	}
	unseen := c.unseen
	if ownVotes {
		unseen = func(string) {} // its votes are known all the same
	}
	switch masters, able := c.masters.(cluster.Accountable); {
	case c.s.Service != nil:
		unseen("what the servers of " + c.s.Service.Name + " store is not read: to Lockpick they are a service, of which it knows a description")
	case len(c.s.At) > 0:
		unseen("the servers are not Lockpick's: it changes none of their settings, so what they did to keys is not known")
	default:
		c.account = &account.Account{OwnVotes: ownVotes, Unseen: unseen, Noted: c.noteChange}
		if !able {
			unseen("the masters give no account of their keys")
		} else if err := masters.Account(c.account.Executed); err != nil {
			unseen(err.Error())
		}
	}
}

// The accounts of real masters arrive a little after the replies. Exchanges that they do not have are swept
// from time to time.
const (
	sweepEvery    = 20 * time.Millisecond
	settledWithin = time.Second
)

// sweepAccount ends exchanges that the masters' accounts do not have, until ctx ends.
func (c *campaign) sweepAccount(ctx context.Context) {
	masters, able := c.masters.(cluster.Accountable)
	if !able || c.account == nil {
		return
	}
	settled := func(master int) error {
		ctx, cancel := context.WithTimeout(context.Background(), settledWithin)
		defer cancel()
		return masters.Settled(ctx, master)
	}
	for c.runtime.Sleep(ctx, sweepEvery) == nil {
		c.account.Sweep(settled, false)
	}
	c.account.Sweep(settled, true)
}

// unseen records, once in a run, why votes do not describe the lock.
func (c *campaign) unseen(why string) {
	c.redisKeys.mu.Lock()
	again := c.redisKeys.unseen
	c.redisKeys.unseen = true
	c.redisKeys.mu.Unlock()
	if again {
		return
	}
	c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FUnseen, Error: why})
}

// noteChange records a change of a key.
func (c *campaign) noteChange(op history.Op, at time.Time) {
	if w := c.work.Load(); w != nil {
		w.NameKey(&op)
	} else if c.session != nil {
		c.session.keys.NameKey(&op)
	}
	c.recorder.RecordAt(op, at.Sub(c.start))
}

// followLinks follows a client's links. vote is called with the votes on them; it is nil if the lock reports its votes itself,
// or if they are not known.
func (c *campaign) followLinks(client string, links []cluster.Link, vote func(history.Op, time.Time)) {
	for i, l := range links {
		o, able := l.(cluster.Observable)
		if !able {
			continue
		}
		lost := c.unobserved
		if vote == nil {
			lost = func(error) {}
		}
		o.Observe(cluster.Observer{
			Opened: func(conn string) {
				if c.account != nil {
					c.account.Opened(client, i, conn, vote)
				}
			},
			Exchange: func(x cluster.Exchange) {
				if command := x.Refused(); vote != nil && command != "" && !c.s.Admin {
					c.recordRefused(i, client, command, x.Error, "")
					return
				}
				c.recordDenied(i, client, x)
				c.lint.Exchange(i, x)
				if vote != nil {
					c.account.Exchange(client, i, x, vote)
				}
			},
			Lost: lost,
		})
	}
}

// unobserved records why the votes on a connection are unknown.
func (c *campaign) unobserved(why error) {
	c.unseen(fmt.Sprintf("a client's connection could not be followed: %v", why))
}

// until returns the header's value for how the ends of leases are known.
func until(foreign bool, hello workload.Hello) string {
	switch {
	case !foreign:
		return ""
	case hello.Lease == workload.NoLease:
		return history.UntilReleased
	}
	return history.UntilTTL
}

// Meet starts masters and, once, the command of the clients. It returns the name of the client's lock and the
// client's description of itself.
func Meet(ctx context.Context, s scenario.Scenario, opt Options) (lock string, hello workload.Hello, err error) {
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	if err := s.Check(); err != nil {
		return "", hello, err
	}
	if err := opt.checkTrust(&s); err != nil {
		return "", hello, err
	}
	if err := opt.findClient(&s); err != nil {
		return "", hello, err
	}
	s = s.WithRequirements()
	dir, remove, err := opt.Drivers.Scratch()
	if err != nil {
		return "", hello, &judge.HarnessError{Err: err}
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := os.MkdirAll(filepath.Join(dir, clientsDir), 0o755); err != nil {
		return "", hello, &judge.HarnessError{Err: err}
	}
	err = opt.lend(ctx, &s, filepath.Join(dir, mastersDir), func(masters cluster.Cluster) error {
		c := &campaign{s: s, outer: ctx, opt: opt, dir: dir, masters: masters, runtime: protocol.RealTime{}}
		err := c.meet(true)
		hello = c.hello
		return err
	})
	return s.Lock, hello, withDescriptors(&s, err)
}

// WithMasters calls use with the masters of a scenario, or the servers of its service, without a run.
func WithMasters(ctx context.Context, s scenario.Scenario, opt Options, use func(cluster.Cluster) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	if err := opt.checkTrust(&s); err != nil {
		return err
	}
	return opt.lend(ctx, &s, "", use)
}

// lend lends what the clients of a scenario use, if they are processes. logs is the folder for the logs of masters; "": none.
func (opt *Options) lend(ctx context.Context, s *scenario.Scenario, logs string, use func(cluster.Cluster) error) error {
	driver, _, err := opt.Drivers.of(ctx, s)
	if err != nil {
		return &judge.HarnessError{Err: err}
	}
	if driver.Virtual {
		return &scenario.Problem{Field: "client", Says: "clients that are processes need real masters: choose another driver"}
	}
	cfg := s.Config()
	cfg.LogDir, cfg.Progress = logs, func(string, ...any) {}
	lent := false
	err = driver.Lend(ctx, s, cfg, func(masters cluster.Cluster) error {
		lent = true
		return use(masters)
	})
	if err != nil && !lent {
		return &judge.HarnessError{Err: err}
	}
	return err
}
