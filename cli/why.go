package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/reports"
	"lockpick/search"
)

func whyCommand() *cobra.Command {
	how := search.WhyOptions{}
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why RUN|SCENARIO.yaml",
		Short: "Say when a violation became likely, and what decided it",
		Long: `Why runs the scenario of a simulated run again, many times: each time as it was up to a point, and
from there on by chance: other times on the way, other orders of what happens at once, other decisions of
clients and the nemesis. The share that still violates is the probability of the violation at that point of the run. Where it rises most the
violation was decided: why looks more closely there and names the event.

Exit codes: 0 done, 2 the scenario violates nothing or it was interrupted, 64 bad usage or input.`,
		Example: `  lockpick why latest
  lockpick why latest --branches 200 --property L4`,
		Args: one("one run (its folder, its name in the store, or latest) or one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := campaign.Store{Dir: store}.Open(args[0])
			if err != nil {
				return usageError{err}
			}
			if s.Driver != campaign.Sim && s.Driver != campaign.Auto {
				return usageError{fmt.Errorf("%s ran on the driver %s: only simulated runs can be branched; lockpick shrink makes a simulated scenario of it", args[0], s.Driver)}
			}
			if how.Points < 2 || how.Points > 1000 || how.Branches < 5 || how.Branches > 100_000 {
				return usageError{errors.New("--points is 2 to 1000, --branches 5 to 100000")}
			}
			roomy()
			show := newProgress()
			how.Scenario = s
			how.Live = func(done, of int) {
				show.steps(done, of, func() string { return fmt.Sprintf("%d of at most %d runs", done, of) })
			}
			r, err := search.Why(cmd.Context(), how)
			show.done()
			if errors.Is(err, search.ErrNotReproduced) {
				fmt.Fprintf(os.Stderr, "lockpick: %v\n", err)
				return verdictError(checker.Unknown)
			}
			if err != nil {
				return flagProblem(err)
			}
			if asJSON {
				return reports.WhyJSON(os.Stdout, r)
			}
			return reports.Why(os.Stdout, r, terminalOptions())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&how.Points, "points", 24, "from how many points of the run to branch, before the steepest rise is looked at more closely")
	f.IntVar(&how.Branches, "branches", 40, "runs from each point")
	propertyFlag(cmd, &how.Properties, "L2 if that is violated, else whatever is violated first")
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}
