package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"lockpick/audit/card"
	"lockpick/search"

	"github.com/spf13/cobra"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/reports/term"
	"lockpick/workload"
)

// auditFlags holds the flags of lockpick audit.
type auditFlags struct {
	audit.Options
	client                          string
	junit, html, markdown, baseline string
	updateBaseline, strict, asJSON  bool
	store                           string
	masters                         int
	shard                           shardFlags
	confirm                         audit.ConfirmOptions
	programs                        trust
}

func auditCommand() *cobra.Command {
	var flags auditFlags
	cmd := &cobra.Command{
		Use:   "audit [LOCK … | SCENARIO.yaml | PART …]",
		Short: "Say how safe a lock is: a fixed battery of situations, and a report card; several locks are compared",
		Long: `Audit tries a lock in a fixed battery of situations: restarts that forget and that remember, power
cuts, clocks that jump and drift, masters and clients that stop and die, partitions, lost and late
messages, contention, odd TTLs, extensions. It prints a report card: a row for each situation, a
column for each level. Each cell is safe, broken (with one sentence why, and a command that replays
it), inherent (broken because an assumption is), inconclusive (with what to do), or not applicable.

One of Lockpick's own locks (--lock, or its name alone) is tried on simulated masters, in many schedules. A
lock behind a command (--client, or the name of a client that comes with Lockpick) is tried on
redis-server processes. Broken cells keep a run with a report.

A SCENARIO.yaml with a service (docs/services.md) has a lock on any other store: its client is tried on
its servers, in all situations that such servers can have; the rows that need Redis say so. --client
names another client of the same servers.

Several names make a scoreboard: each client is audited on redis-server processes, and what is broken is
replayed: only what came back every time is called broken. One page compares them, with the story of
each violation and a command that repeats it. The name all stands for all clients that come with Lockpick
(some hours); with --resume finished audits of the store are not repeated. The exit code is 0 then,
whatever the scoreboard says.

With --baseline FILE only what is newly broken since then fails. What is newly inconclusive is tried
again and reported; with --strict it fails, too, with exit code 2.

The card is written as the audit goes on: an audit that was ended goes on with --resume. With --shard and
--out it tries one shard of the situations, as search does; with the files of all shards as arguments it
prints the whole card. A situation whose shard is missing is inconclusive.

Exit codes: 0 nothing is broken (with --baseline: nothing newly), 1 something is, 2 inconclusive or
interrupted, 64 bad usage or input, 70 an error of the harness.`,
		Example: `  lockpick audit redlock                                   one of Lockpick's own, simulated
  lockpick audit --client 'python3 lock.py'                your lock, on redis-server processes
  lockpick audit --client ./lock --masters 1               a lock that uses one master
  lockpick audit redis-py --budget full                    a client that comes with Lockpick
  lockpick audit redis-py go-redsync                       two of them, compared
  lockpick audit examples/services/etcd.yaml --trust       a lock on three servers of etcd
  lockpick audit --lock redlock-weak-token --html card.html --markdown card.md
  lockpick audit --client ./lock --baseline audit.json --junit audit.xml     in CI
  lockpick audit --lock single --only restart-forgets,restart-remembers
  lockpick audit --shard 1/2 --out part-1.json             half of it; then: lockpick audit part-*.json
  lockpick list situations                                 the battery`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if hasParts(args) {
				return auditParts(cmd, args, flags)
			}
			replays := cmd.Flags().Changed("replays") || cmd.Flags().Changed("attempts")
			if len(args) > 1 || len(args) == 1 && (args[0] == everyClient || replays) {
				return compareLocks(cmd, args, flags)
			}
			return runAudit(cmd, args, flags)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.Lock, "lock", scenario.Defaults().Lock, "the lock to audit: "+strings.Join(workload.CorrectNames(), ", ")+", or one that is wrong on purpose (lockpick list locks)")
	f.StringVar(&flags.client, "client", "", "a command that runs as each client and has the lock, such as 'python3 lock.py', or the name of a client that comes with Lockpick (lockpick list clients); --lock is only a label then")
	f.IntVar(&flags.masters, "masters", 0, "1: the lock uses one master (default: as many as the situations have, up to 6, unless the lock says 1)")
	f.StringVar(&flags.Driver, "driver", "", "driver of the masters: "+strings.Join(scenario.Drivers, ", ")+" (default: sim, with --client process; virtual for a lock that connects to its masters)")
	f.StringVar(&flags.Budget, "budget", search.Quick, "how much to try: "+strings.Join(search.Budgets, ", "))
	f.StringSliceVar(&flags.Only, "only", nil, "ids of situations (lockpick list situations; default: all)")
	f.IntVar(&flags.Most, "most", 0, "schedules to try of each case, at most (default: what the budget allows)")
	f.Uint64Var(&flags.Seed, "seed", 1, "seed of all random choices")
	f.StringVar(&flags.baseline, "baseline", "", "file with an earlier result to compare with; written if it does not exist")
	f.BoolVar(&flags.strict, "strict", false, "with --baseline: what is newly inconclusive fails, too")
	f.BoolVar(&flags.Resume, "resume", false, "go on with the newest audit in the store that has the same options and was ended early")
	f.BoolVar(&flags.updateBaseline, "update-baseline", false, "replace the baseline with this result")
	outputFlag(cmd, &flags.junit, "junit", "", "write JUnit XML to this file")
	outputFlag(cmd, &flags.html, "html", "", "write the page of the card to this file too")
	outputFlag(cmd, &flags.markdown, "markdown", "", "write the card as Markdown to this file")
	f.IntVar(&flags.Workers, "workers", 0, "schedules at a time (default: as many as processors; on real masters more while the processors are idle)")
	softwareFlags(cmd, &flags.Masters)
	f.IntVar(&flags.confirm.Times, "replays", 3, "of a scoreboard: how often in a row what is broken has to come back")
	f.IntVar(&flags.confirm.Attempts, "attempts", 5, "of a scoreboard: runs of each replay, at most")
	flags.shard.register(cmd, "situations")
	flags.programs.flag(cmd, "a scenario")
	storeFlag(cmd, &flags.store)
	jsonFlag(cmd, &flags.asJSON)
	return cmd
}

func runAudit(cmd *cobra.Command, args []string, flags auditFlags) error {
	if len(args) == 1 && isScenario(args[0]) {
		if err := flags.service(cmd, args[0]); err != nil {
			return err
		}
	} else if len(args) == 1 {
		if cmd.Flags().Changed("lock") || cmd.Flags().Changed("client") {
			return usageError{fmt.Errorf("%s: name the lock once: as an argument, or with --lock or --client", args[0])}
		}
		if _, own := workload.LockNamed(args[0]); own {
			flags.Lock = args[0]
		} else if all := scoreboardNames(); slices.Contains(all, args[0]) {
			flags.Client = args
		} else {
			return flagProblem(scenario.UnknownValue("lock", args[0], append(workload.CorrectNames(), slices.DeleteFunc(all, func(name string) bool { return slices.Contains(workload.CorrectNames(), name) })...)))
		}
	}
	if cmd.Flags().Changed("replays") || cmd.Flags().Changed("attempts") {
		return usageError{errors.New("--replays and --attempts are about a scoreboard: name the locks as arguments")}
	}
	if flags.One = flags.masters == 1; !flags.One && cmd.Flags().Changed("masters") {
		return usageError{fmt.Errorf("--masters %d: audit has from 1 to 6 masters, as its situations say; only --masters 1 can be asked for, for a lock of one master", flags.masters)}
	}
	if flags.One && flags.On != nil {
		return usageError{fmt.Errorf("--masters is about masters of Redis: the servers of %s are as many as the scenario says", flags.On.Service.Name)}
	}
	if flags.updateBaseline && flags.baseline == "" {
		return usageError{errors.New("--update-baseline needs --baseline FILE: which one?")}
	}
	if flags.strict && flags.baseline == "" {
		return usageError{errors.New("--strict is about what is new since a baseline: add --baseline FILE")}
	}
	if cmd.Flags().Changed("client") && flags.On == nil {
		words, err := clientCommandOf(flags.client)
		if err != nil {
			return usageError{fmt.Errorf("--client: %w", err)}
		}
		flags.Client = words
	}
	if flags.Driver == "" {
		switch {
		case len(flags.Client) > 0, flags.On != nil, flags.Masters.Server != "":
			flags.Driver = scenario.Process
		case connects(flags.Lock):
			flags.Driver = scenario.Virtual
		default:
			flags.Driver = scenario.Sim
		}
	}
	if flags.Driver == scenario.Virtual {
		flags.Run = search.On(bubble.Driver())
	}
	before, err := baselineAt(flags.baseline, audit.ReadResult)
	if err != nil {
		return err
	}
	if flags.Driver == scenario.Sim {
		collectLessOften()
	}
	show := newProgress()
	flags.Drivers, flags.Store, flags.Progress, flags.Live, flags.Report = drivers(), campaign.Store{Dir: flags.store}, show.line, show.steps, writeReport
	if flags.shard.given() {
		return runShard(flags.shard, func(s search.Shard) (*search.Part[audit.Sharded], error) { return audit.NewPart(flags.Options, s) },
			func(s search.Shard, p *search.Part[audit.Sharded]) error {
				defer show.done()
				return audit.RunShard(cmd.Context(), flags.Options, s, p)
			})
	}
	r, err := audit.Run(cmd.Context(), flags.Options)
	if err != nil {
		show.done()
		return flagProblem(err)
	}
	judged, err := audit.Judge(r, before, flags.strict)
	if err != nil {
		show.done()
		return usageError{fmt.Errorf("--baseline %s: %w", flags.baseline, err)}
	}
	if ids := judged.NewlyInconclusive(); len(ids) > 0 && !r.Interrupted {
		show.line("newly inconclusive, and tried again: %s", strings.Join(ids, ", "))
		if err := r.Retry(cmd.Context(), flags.Options, ids); err != nil {
			show.done()
			return flagProblem(err)
		}
		judged.Changes = r.Compare(before)
	}
	show.done()
	return reportAudit(cmd.OutOrStdout(), judged, flags)
}

// isScenario reports whether an argument is a file with a scenario, and no name of a lock.
func isScenario(arg string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(arg))
}

// service makes the subject of the audit the lock of a scenario file on the servers of its service.
func (x *auditFlags) service(cmd *cobra.Command, file string) error {
	s, err := scenario.Load(file)
	if err != nil {
		return usageError{err}
	}
	switch {
	case s.Service == nil:
		return usageError{fmt.Errorf("%s describes no service, and an audit has scenarios of its own: name the lock (--lock or --client)", file)}
	case cmd.Flags().Changed("lock"), cmd.Flags().Changed("driver"), x.Masters != (cluster.Software{}):
		return usageError{fmt.Errorf("%s says what lock and servers are tried: leave --lock, --driver, --server and --image out", file)}
	}
	if cmd.Flags().Changed("client") {
		if s.Client, err = clientCommandOf(x.client); err != nil {
			return usageError{fmt.Errorf("--client: %w", err)}
		}
	}
	x.On = &s
	return x.programs.askAbout(cmd, []string{file}, &s)
}

// reportAudit writes the requested outputs and the baseline, prints the card to out, and returns the command's
// outcome.
func reportAudit(out io.Writer, r *audit.Judged, flags auditFlags) error {
	page := filepath.Join(r.Folder, "index.html")
	writePage := func(w io.Writer, dir string) error { return card.WritePage(w, dir, r.Result) }
	if err := writeStored(page, writePage); err != nil {
		return err
	}
	if err := (outputs{
		{flags.html, writePage},
		{flags.markdown, func(w io.Writer, _ string) error { return card.Markdown(w, r.Result) }},
		{flags.junit, func(w io.Writer, _ string) error { return card.JUnit(w, r) }},
	}).write(); err != nil {
		return err
	}
	if err := keepBaseline(flags.baseline, r.Before == nil || flags.updateBaseline, r.Interrupted, r.WriteBaseline, "later audits fail only for what is newly broken"); err != nil {
		return err
	}
	if err := printAudit(out, r, page, flags); err != nil {
		return err
	}
	if v := r.Verdict(); v != checker.Holds {
		return verdictError(v)
	}
	return nil
}

func printAudit(out io.Writer, r *audit.Judged, page string, flags auditFlags) error {
	if flags.asJSON {
		return term.WriteJSON(out, struct {
			Verdict checker.Verdict `json:"verdict"`
			*audit.Result
			Changes []audit.Change `json:"changes"`
			Page    string         `json:"page"`
		}{r.Verdict(), r.Result, append([]audit.Change{}, r.Changes...), page})
	}
	if err := card.Terminal(out, r.Result, terminalOptions()); err != nil {
		return err
	}
	if r.Before != nil {
		if err := card.WriteChanges(out, r.Changes, flags.baseline, terminalOptions()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "The card with all evidence: %s\n", page)
	return err
}

// listSituations lists the battery of lockpick audit.
func listSituations(w io.Writer) {
	group := ""
	for _, s := range audit.Battery() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(w, "%s\n", group)
		}
		inherent := ""
		if len(s.Inherent) > 0 {
			inherent = "inherent: " + strings.Join(s.Inherent, ", ")
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.ID, s.Says, inherent)
	}
}
