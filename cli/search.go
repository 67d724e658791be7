package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/search"
	"lockpick/search/exhaust"
	"lockpick/search/reduce"
)

func searchCommand() *cobra.Command {
	var flags scenarioFlags
	var x search.ExploreOptions
	var store string
	var shard shardFlags
	var noShrink, asJSON bool
	var all exhaustive
	cmd := &cobra.Command{
		Use:   "search [SCENARIO.yaml | PART …]",
		Short: "Search for a violation: in many short simulated schedules, or in all of them",
		Long: `Search draws short schedules from a scenario (a file, or the defaults with flags): how many
clients, how long they hold the lock, which faults strike whom when, in what order things happen.
Each is simulated in virtual time and judged, on all cores. Schedule number i of a seed is always
the same; without --seed a fresh seed is drawn and printed. The search ends when each property that
was asked for is violated. What is found is shrunk to a small counterexample, and kept as a run in
the store.

Only schedules count that prove something of a property. Where it holds, the exact upper bound says
how much that is worth.

The drawn schedules keep to what the scenario assumes: its lock, masters, persistence and TTL, its
kinds of fault, its restart delay as the least, its clock and rates if it names them. Of a scenario
with a schedule only the seed and the scheduler vary.

With --out the exploration is one shard of many, on many machines: --shard 3/64, or the index that
Slurm, Kubernetes, AWS Batch, GitLab or GNU parallel gives this job. The shard writes what it finds
into a file, as it finds it; one that is started again goes on where its file ends. Give every shard
the same --seed and --schedules (of all shards together). With these files as arguments, search
judges them as if one machine had done it all.

With --exhaustive it tries every schedule of a few clients on a few masters: every choice of faults,
their targets and times, every order of messages, and every length of a hold. The result is either that
mutual exclusion (L2, or with --property L3 that of critical sections) holds for all schedules within
these bounds, or the shortest counterexample: the one with the fewest faults, and of these the one that
is violated first. A call of the lock that does not return or that panics ends the search: it violates
returns or no-crash (AV). Unless flags say otherwise: 3 masters, 2 clients, a TTL of 1.6s, a timeout of
400ms, one kill. The number of schedules grows steeply with the number of faults and the horizon.

Exit codes: 0 none violates the property, 1 one does, 2 interrupted, or the schedules prove nothing
(inconclusive: it says what is missing). With --out: 0 the shard is complete, whatever it found,
2 it is not.`,
		Example: `  lockpick search --faults kill,partition                   a restart without persistence
  lockpick search --persistence always --faults kill,pause,partition,client-pause --schedules 100000
  lockpick search --persistence always --faults clock --clock +60s
  lockpick search --faults kill --restart-delay 1s --time-limit 1m --collect
  lockpick search examples/restart-without-persistence.yaml --schedules 100
  lockpick search --seed 7 --schedules 1000000 --shard 3/64 --out part-3.json
  lockpick search part-*.json                               what all shards found together
  lockpick search --exhaustive --persistence always          holds for all schedules within bounds
  lockpick search --exhaustive --faults late,lost --max-faults 2 --time-limit 10m`,
		Args: func(cmd *cobra.Command, args []string) error {
			if hasParts(args) {
				return nil
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if hasParts(args) {
				return searchParts(cmd, args, store, !noShrink, asJSON)
			}
			if err := all.check(cmd); err != nil {
				return err
			}
			if all.on {
				if len(args) > 0 {
					return usageError{fmt.Errorf("%s: --exhaustive takes its bounds from flags alone", args[0])}
				}
				return all.search(cmd, exhaust.Options{TimeLimit: x.TimeLimit, Workers: x.Workers}, store, asJSON)
			}
			s, err := flags.scenario(cmd, args)
			if err != nil {
				return err
			}
			if err := s.CheckSimulated(); err != nil { // it comes from the file, so it names no flag
				return usageError{err}
			}
			if s.Seed, err = seedFor(cmd, args, s.Seed); err != nil {
				return err
			}
			if x.TimeLimit > 0 && !cmd.Flags().Changed("schedules") {
				x.Schedules = 0
			}
			if x.Schedules < 0 || x.TimeLimit < 0 || x.Schedules == 0 && x.TimeLimit == 0 {
				return usageError{fmt.Errorf("--schedules: give a number above 0, or a --time-limit")}
			}
			x.Base, x.Properties, x.Run = s, s.Properties, runnerOf(s)
			if shard.given() {
				return exploreShard(cmd, x, shard)
			}
			return explore(cmd, x, campaign.Store{Dir: store}, !noShrink, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&x.Schedules, "schedules", 10_000, "how many schedules to try (default 10000, or without a limit where --time-limit is given)")
	f.Lookup("schedules").DefValue = "0" // hidden: the usage text states the default
	f.DurationVar(&x.TimeLimit, "time-limit", 0, "how long to search, in real time")
	f.IntVar(&x.Workers, "workers", 0, "schedules at a time (default: one for each core)")
	f.BoolVar(&all.on, "exhaustive", false, "try every schedule within small bounds, instead of drawing some")
	f.BoolVar(&x.Collect, "collect", false, "do not stop at the first violation: find distinct ones, and measure how often it happens")
	f.BoolVar(&noShrink, "no-shrink", false, "keep violations as they were found")
	shard.register(cmd, "exploration")
	flags.register(cmd, func(f *scenario.Field) bool { return !f.RunOnly })
	all.flags(cmd)
	f.Lookup("property").Usage = "levels that count as violated (default: L2): any of those of run"
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func explore(cmd *cobra.Command, e search.ExploreOptions, store campaign.Store, shrink, asJSON bool) error {
	collectLessOften()
	show := newProgress()
	e.Live = show.steps
	x, err := search.Explore(cmd.Context(), e)
	show.done()
	if err != nil {
		return flagProblem(err)
	}
	return reportExplored(cmd, e.Base, x, store, shrink, asJSON)
}

// exploreShard searches one shard of an exploration.
func exploreShard(cmd *cobra.Command, e search.ExploreOptions, flags shardFlags) error {
	if e.Schedules == 0 {
		return usageError{errors.New("--schedules: say how many all shards have together; --time-limit then limits each of them")}
	}
	newPart := func(s search.Shard) (*search.Part[search.Share], error) {
		if !cmd.Flags().Changed("seed") && cmd.Flags().NArg() == 0 && !s.Whole() {
			return nil, errors.New("--seed: shards need the same seed: choose one, for all of them")
		}
		return search.NewExplorePart(e, s)
	}
	return runShard(flags, newPart, func(s search.Shard, p *search.Part[search.Share]) error {
		collectLessOften()
		show := newProgress()
		e.Live = show.steps
		defer show.done()
		return search.ExploreShard(cmd.Context(), e, s, p)
	})
}

// reportExplored prints the result of an exploration, and turns its verdict into the exit code.
func reportExplored(cmd *cobra.Command, base scenario.Scenario, x *search.ExploreResult, store campaign.Store, shrink, asJSON bool) error {
	out := cmd.OutOrStdout()
	if !asJSON {
		if err := reports.Explored(out, base, x, terminalOptions()); err != nil {
			return err
		}
	}
	return reportFound(cmd.Context(), out, x, store, shrink, asJSON)
}

// reportFound shrinks the findings to counterexamples, stores them, prints them to out, and turns the verdict
// into the exit code.
func reportFound(ctx context.Context, out io.Writer, x *search.ExploreResult, store campaign.Store, shrink, asJSON bool) error {
	var all []reports.Counterexample
	for i := range x.Found {
		c, err := counterexample(ctx, &x.Found[i], store, shrink)
		if err != nil {
			return err
		}
		all = append(all, c)
		if !asJSON {
			if err := reports.CounterexampleText(out, c, terminalOptions()); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := reports.ExploredJSON(out, x, all); err != nil {
			return err
		}
	}
	if v := x.Verdict(); v != checker.Holds {
		return verdictError(v)
	}
	return nil
}

// counterexample shrinks a finding, if shrink is set, and stores it as a run.
func counterexample(ctx context.Context, f *search.Found, store campaign.Store, shrink bool) (c reports.Counterexample, err error) {
	c.Found = f
	s := f.Scenario
	if shrink && ctx.Err() == nil {
		if c.Shrunk, err = shrinkWith(ctx, reduce.ShrinkOptions{Scenario: s, Properties: s.Properties, History: f.History, Run: runnerOf(s)}); err != nil {
			fmt.Fprintf(os.Stderr, "kept as it was found, because it could not be shrunk: %v\n", err)
		} else {
			s = c.Shrunk.Scenario
		}
	}
	_, c.Run, err = keep(ctx, s, foundHistory(c), store)
	return c, err
}

// keep stores a counterexample as a run, with its report. It does so even after an interrupt, because it
// takes little time. found is the history of a counterexample that was not simulated, and nil for a simulated
// one: only a simulation repeats its history exactly.
func keep(ctx context.Context, s scenario.Scenario, found *history.History, store campaign.Store) (*history.History, *judge.Result, error) {
	if found != nil {
		return keepFound(s, found, store)
	}
	dir, h, r, err := search.Keep(context.WithoutCancel(ctx), s, store)
	if err != nil {
		return h, r, err
	}
	return h, r, writeReport(dir, h, r)
}

// collectLessOften makes the garbage collector run less often, unless GOGC is set. A search builds one simulation after
// the other, and its live heap is a few megabytes, so the collector would otherwise run all the time.
func collectLessOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
