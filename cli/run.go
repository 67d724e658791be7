package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockpick/campaign"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/wholefile"
	"lockpick/nemesis"
	"lockpick/reports"
	"lockpick/workload"
)

func runCommand() *cobra.Command {
	flags := newScenarioFlags()
	var store string
	var out output
	cmd := &cobra.Command{
		Use:   "run [SCENARIO.yaml]",
		Short: "Run a campaign: clients, faults, a verdict and a report",
		Long: `Run starts Redis masters, lets clients take and use a lock while faults strike, and
judges what was recorded. Flags change what the scenario file says, or the defaults.`,
		Example: `  lockpick run --persistence none --faults kill,partition --nemesis guided --time-limit 60s
  lockpick run --faults kill --restart-delay 3s            restarts delayed beyond the TTL
  lockpick run --faults client-pause --fencing --driver process
  lockpick run --lock single --faults kill --stop-on-violation
  lockpick run store/latest/scenario.yaml --seed 7`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.scenario(cmd, args)
			if err != nil {
				return err
			}
			return runScenario(cmd.Context(), s, campaign.Store{Dir: store}, out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.Driver, "driver", flags.Driver, "driver of the masters: "+strings.Join(campaign.Drivers, ", "))
	flags.register(cmd)
	f.StringVar(&flags.ClientsAs, "clients-as", flags.ClientsAs, "how clients run: goroutines, or processes (stopped and killed by signals)")
	f.StringVar(&flags.Scheduler, "scheduler", flags.Scheduler, "order of events with --driver sim: "+strings.Join(campaign.Schedulers, ", ")+" (probabilistic concurrency testing)")
	f.DurationVar(&flags.Stall, "stall", flags.Stall, "the longest stall at a change point of --scheduler pct (default TTL/60)")
	f.DurationVar(&flags.TimeLimit, "time-limit", flags.TimeLimit, "how long clients use the lock")
	f.BoolVar(&flags.StopOnViolation, "stop-on-violation", flags.StopOnViolation, "stop at the first violation of a property that --property names, or of mutual exclusion")
	f.StringVar(&flags.Image, "image", flags.Image, "Docker image of the masters (default: the official one, or one built from this machine's redis-server)")
	storeFlag(cmd, &store)
	out.flags(cmd)
	return cmd
}

// scenarioFlags are the flags that change what a scenario file says, or the defaults.
type scenarioFlags struct {
	campaign.Scenario
	faults string
	client string
	not    []string // flags that the command has for something else
}

func newScenarioFlags() *scenarioFlags {
	x := &scenarioFlags{Scenario: campaign.Defaults()}
	x.faults = strings.Join(x.Faults, ",")
	return x
}

// register adds the flags that every command has that takes a scenario to run.
func (x *scenarioFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&x.Lock, "lock", x.Lock, "the lock under test: "+strings.Join(workload.CorrectNames(), ", ")+", or one that is wrong on purpose (lockpick list locks)")
	if !slices.Contains(x.not, "client") {
		f.StringVar(&x.client, "client", "", "a command that runs as each client and has the lock, such as 'python3 lock.py', or the name of a client that comes with Lockpick (lockpick list clients); --lock is only a label then")
	}
	f.BoolVar(&x.Fencing, "fencing", x.Fencing, "let the lock issue fencing tokens (judges L5 and FM)")
	f.IntVar(&x.Masters, "masters", x.Masters, "number of masters")
	f.StringVar(&x.Persistence, "persistence", x.Persistence, "how masters keep keys: none, rdb, everysec, always")
	f.Int64Var(&x.MaxMemory, "max-memory", x.MaxMemory, "bytes of memory of each master (default: no limit; 4 MiB for the fault memory)")
	f.StringVar(&x.Eviction, "eviction", x.Eviction, "eviction policy of masters at that limit: noeviction, allkeys-lru, … (default allkeys-lru)")
	f.IntVar(&x.Replicas, "replicas", x.Replicas, "asynchronous replicas of each master (default: 1 for the fault failover)")
	f.IntVar(&x.Wait, "wait", x.Wait, "replicas that must have a key before their master's vote counts (WAIT)")
	f.IntVar(&x.Clients, "clients", x.Clients, "number of clients")
	f.IntVar(&x.Keys, "keys", x.Keys, "number of keys")
	f.DurationVar(&x.TTL, "ttl", x.TTL, "the lock's TTL (with Docker at least 2s: a restart takes 0.35s)")
	f.DurationVar(&x.Timeout, "timeout", x.Timeout, "wait this long for one master (default: the lock's own, TTL/20, at most 50ms)")
	f.StringVar(&x.Hold, "hold", x.Hold, "how long a critical section lasts: a duration or a range")
	f.Float64Var(&x.LongHolds, "long-holds", x.LongHolds, "share of critical sections that last 0.8 to 1.5 TTL instead")
	f.Float64Var(&x.Extend, "extend", x.Extend, "probability that a client extends a lease that is about to end")
	f.StringVar((*string)(&x.Resource), "resource", string(x.Resource), "how clients use what the lock guards: register, or with compare-and-set cas-mark-first, cas-mark-last (judges RMW) (default register)")
	f.StringVar(&x.faults, "faults", x.faults, "faults to inject: none, or any of "+strings.Join(fault.Names(), ","))
	f.StringVar(&x.Nemesis, "nemesis", x.Nemesis, "how faults choose targets and times: random, or guided (reads the votes)")
	f.StringSliceVar(&x.Targets, "targets", x.Targets, "masters that the random nemesis strikes: "+strings.Join(nemesis.Targets, ","))
	f.DurationVar(&x.Interval, "interval", x.Interval, "time between faults, on average (default: the TTL)")
	f.DurationVar(&x.RestartDelay, "restart-delay", x.RestartDelay, "time from a kill or shutdown to the restart")
	f.StringVar(&x.Clock, "clock", x.Clock, "what the fault clock does: +60s, -60s, x1.5 (its rate), ~5s (strobes) (default: drawn)")
	f.StringVar(&x.ClientClock, "client-clock", x.ClientClock, "what the fault client-clock does: +60s, -60s, ~5s (the wall clock), x1.5 (the monotonic one too) (default: drawn)")
	f.Float64Var(&x.ClientRate, "client-rate", x.ClientRate, "the same as --client-clock x…: seconds that a client counts in a true one")
	f.DurationVar(&x.FsyncDelay, "fsync-delay", x.FsyncDelay, "what the fault slow-fsync adds to each fsync (default 1s)")
	f.DurationVar(&x.Outage, "outage", x.Outage, "the fault failover: how long no server serves (default: as Redis Sentinel takes with a down-after of an eighth of the TTL)")
	f.BoolVar(&x.SplitBrain, "split-brain", x.SplitBrain, "the fault failover: the old primary lives on for half of the clients")
	f.BoolVar(&x.Strict, "strict", x.Strict, "the fault powercut: names are durable only once their directory was fsynced")
	f.BoolVar(&x.Torn, "torn", x.Torn, "the fault powercut: a random part of what was not fsynced survives")
	f.Uint64Var(&x.Seed, "seed", x.Seed, "seed of all random choices (on real masters timing makes each run different nevertheless)")
	f.StringVar(&x.Name, "name", x.Name, "name of the run")
	propertyFlag(cmd, &x.Properties, "all that are judged")
}

// scenario is what a command is to run: the file that was named, or the defaults, with
// the flags that were given.
func (x *scenarioFlags) scenario(cmd *cobra.Command, args []string) (campaign.Scenario, error) {
	s := campaign.Defaults()
	if len(args) == 1 {
		var err error
		if s, err = campaign.LoadScenario(args[0]); err != nil {
			return s, usageError{err}
		}
	}
	x.Faults = nil
	if f := strings.TrimSpace(x.faults); f != "none" && f != "" {
		x.Faults = strings.Split(f, ",")
	}
	override(cmd, &s, &x.Scenario, x.not)
	if x.client != "" {
		command, err := clientCommandOf(x.client)
		if err != nil {
			return s, usageError{fmt.Errorf("--client: %w", err)}
		}
		s.Client = command
	}
	if err := s.Check(); err != nil {
		var p *campaign.Problem
		if errors.As(err, &p) {
			flag, _, _ := strings.Cut(strings.ReplaceAll(p.Field, "_", "-"), "[")
			return s, usageError{fmt.Errorf("--%s: %s", strings.Replace(flag, "properties", "property", 1), p.Says)}
		}
		return s, err
	}
	return s, nil
}

// override takes over the flags that were given, but for some.
func override(cmd *cobra.Command, s, flags *campaign.Scenario, not []string) {
	for name, take := range map[string]func(){
		"driver": func() { s.Driver = flags.Driver }, "lock": func() { s.Lock = flags.Lock }, "fencing": func() { s.Fencing = flags.Fencing },
		"masters": func() { s.Masters = flags.Masters }, "persistence": func() { s.Persistence = flags.Persistence },
		"max-memory": func() { s.MaxMemory = flags.MaxMemory }, "eviction": func() { s.Eviction = flags.Eviction },
		"replicas": func() { s.Replicas = flags.Replicas }, "wait": func() { s.Wait = flags.Wait },
		"clients-as": func() { s.ClientsAs = flags.ClientsAs }, "clock": func() { s.Clock = flags.Clock },
		"client-clock": func() { s.ClientClock, s.ClientRate = flags.ClientClock, flags.ClientRate },
		"client-rate":  func() { s.ClientClock, s.ClientRate = flags.ClientClock, flags.ClientRate }, "fsync-delay": func() { s.FsyncDelay = flags.FsyncDelay },
		"outage": func() { s.Outage = flags.Outage }, "split-brain": func() { s.SplitBrain = flags.SplitBrain },
		"strict": func() { s.Strict = flags.Strict }, "torn": func() { s.Torn = flags.Torn },
		"clients": func() { s.Clients = flags.Clients }, "keys": func() { s.Keys = flags.Keys }, "ttl": func() { s.TTL = flags.TTL },
		"timeout": func() { s.Timeout = flags.Timeout }, "hold": func() { s.Hold = flags.Hold }, "resource": func() { s.Resource = flags.Resource },
		"long-holds": func() { s.LongHolds = flags.LongHolds }, "extend": func() { s.Extend = flags.Extend },
		"faults": func() { s.Faults, s.Schedule = flags.Faults, nil }, "nemesis": func() { s.Nemesis = flags.Nemesis },
		"targets": func() { s.Targets = flags.Targets }, "interval": func() { s.Interval = flags.Interval },
		"restart-delay": func() { s.RestartDelay = flags.RestartDelay }, "time-limit": func() { s.TimeLimit = flags.TimeLimit },
		"scheduler": func() { s.Scheduler = flags.Scheduler }, "stall": func() { s.Stall = flags.Stall },
		"seed": func() { s.Seed = flags.Seed }, "stop-on-violation": func() { s.StopOnViolation = flags.StopOnViolation },
		"property": func() { s.Properties = flags.Properties }, "image": func() { s.Image = flags.Image }, "name": func() { s.Name = flags.Name },
	} {
		if cmd.Flags().Changed(name) && !slices.Contains(not, name) {
			take()
		}
	}
}

func storeFlag(cmd *cobra.Command, store *string) {
	cmd.Flags().StringVar(store, "store", "store", "folder that runs are kept in")
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON object on stdout instead of the report")
}

func propertyFlag(cmd *cobra.Command, levels *[]string, otherwise string) {
	cmd.Flags().StringSliceVar(levels, "property", nil, "levels or properties that decide the exit code, each of which must be tested (default: "+otherwise+"): "+strings.Join(campaign.Levels(), ","))
}

func runScenario(ctx context.Context, s campaign.Scenario, store campaign.Store, out output) error {
	show := newProgress()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, h, r, err := campaign.Run(ctx, s, campaign.Options{Store: store, Progress: show.line, Live: show.live, Client: []string{self, "client"}})
	show.done()
	if err != nil {
		if _, gone := os.Stat(dir); dir != "" && gone == nil {
			err = fmt.Errorf("%w\n(what there is of the run is in %s)", err, dir)
		}
		return err
	}
	if err := writeReport(dir, h, r); err != nil {
		return err
	}
	if err := campaign.CompressLong(dir, r); err != nil {
		fmt.Fprintf(os.Stderr, "lockpick: the history stays as it was written: %v\n", err)
	}
	if err := out.print(h, r); err != nil {
		return err
	}
	return exitOf(r, r.Properties)
}

// writeReport writes report.html into a run's folder.
func writeReport(dir string, h *history.History, r *campaign.Result) error {
	defer campaign.CollectMoreFor(h)()
	why, err := keptWhy(dir)
	if err != nil {
		return err
	}
	return writeTo(filepath.Join(dir, campaign.ReportFile), func(w io.Writer) error { return reports.HTML(w, h, r, why) })
}

// writeTo writes a file that is complete or not there.
func writeTo(path string, write func(io.Writer) error) error {
	return wholefile.Write(path, 0o644, func(f *os.File) error { return write(f) })
}

// output says how a result is printed.
type output struct{ json, verbose bool }

// flags adds the flags of a command that prints a result.
func (o *output) flags(cmd *cobra.Command) {
	jsonFlag(cmd, &o.json)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "also say what each verdict rests on, and why properties were not tested")
}

func (o output) print(h *history.History, r *campaign.Result) error {
	if o.json {
		return reports.JSON(os.Stdout, r)
	}
	opt := terminalOptions()
	opt.Verbose = o.verbose
	return reports.Terminal(os.Stdout, h, r, opt)
}

func terminalOptions() reports.TerminalOptions {
	width, color := terminal()
	return reports.TerminalOptions{Width: width, Color: color}
}

// terminal says how wide the output may be, and whether it may have colours. COLUMNS,
// TERM=dumb and NO_COLOR are respected.
func terminal() (width int, color bool) {
	width = 100
	fd := int(os.Stdout.Fd())
	if term.IsTerminal(fd) {
		color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if columns, _, err := term.GetSize(fd); err == nil {
			width = min(columns, 120)
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		width = columns
	}
	return width, color
}

// exitOf turns the verdicts into the command's outcome. asked, if any, are the levels and
// properties that count.
func exitOf(r *campaign.Result, asked []string) error {
	return concluded(r.Conclude(asked))
}
