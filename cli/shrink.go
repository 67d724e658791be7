package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/search/reduce"
)

func shrinkCommand() *cobra.Command {
	var store string
	var how reduce.ShrinkOptions
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "shrink RUN|SCENARIO.yaml",
		Short: "Find the smallest scenario that violates a property as a run did",
		Long: `Shrink takes a run that violated a property (its folder, its name in the store, or latest), or a
scenario that does. The faults that struck become an explicit schedule; what is not needed for the
violation is left out: faults, clients, masters, keys; times become round, or triggers. Every
candidate is simulated with many seeds, because removing a part changes all random choices.

The result is a scenario with a seed that violates the property whenever it is simulated, kept as a
run in the store. Unless time runs out, each of its faults is necessary: without any one of them, none
of the seeds violates the property. Ctrl-C gives the best so far.

Exit codes: 1 shrunk, 2 not violated in the simulator.`,
		Example: `  lockpick shrink latest
  lockpick shrink examples/restart-without-persistence.yaml --time-limit 1m --seeds 50`,
		Args: one("one run (its folder, its name in the store, or latest) or one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := campaign.Store{Dir: store}.Open(args[0])
			if err != nil {
				return usageError{err}
			}
			if cmd.Flags().Changed("seed") {
				s.Seed = seed
			}
			how.Scenario, how.Run = s, runnerOf(s)
			if len(how.Properties) == 0 {
				how.Properties = s.Properties
			}
			if dir != "" {
				if how.History, err = history.ReadFile(filepath.Join(dir, judge.HistoryFile)); err != nil {
					return usageError{err}
				}
			}
			return shrink(cmd.Context(), how, campaign.Store{Dir: store}, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.DurationVar(&how.TimeLimit, "time-limit", 30*time.Second, "time limit, in real time")
	f.IntVar(&how.Seeds, "seeds", 20, "seeds to try for each candidate")
	propertyFlag(cmd, &how.Properties, "the scenario's, else L2, else whatever is violated first")
	f.Uint64Var(&seed, "seed", 0, "the first of the seeds (default: the scenario's)")
	f.Lookup("seed").DefValue = "0"
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func shrink(ctx context.Context, how reduce.ShrinkOptions, store campaign.Store, asJSON bool) error {
	z, err := shrinkWith(ctx, how)
	switch {
	case errors.Is(err, reduce.ErrNotReproduced):
		fmt.Fprintf(os.Stderr, "lockpick: %v; try more --seeds, or another --seed\n", err)
		return verdictError(checker.Unknown)
	case err != nil:
		return err
	}
	c := reports.Counterexample{Shrunk: z}
	if _, c.Run, err = keep(ctx, z.Scenario, foundHistory(c), store); err != nil {
		return err
	}
	if asJSON {
		err = reports.CounterexampleJSON(os.Stdout, c)
	} else {
		err = reports.CounterexampleText(os.Stdout, c, terminalOptions())
	}
	if err != nil {
		return err
	}
	return verdictError(checker.Violated)
}

// shrinkWith shrinks a violation and shows the progress.
func shrinkWith(ctx context.Context, how reduce.ShrinkOptions) (*reduce.ShrinkResult, error) {
	collectLessOften()
	show := newProgress()
	defer show.done()
	how.Live = show.steps
	return reduce.Shrink(ctx, how)
}
