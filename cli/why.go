package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/otherfile"
	"lockpick/reports"
	"lockpick/reports/term"
	"lockpick/search/reduce"
)

func whyCommand() *cobra.Command {
	how := reduce.WhyOptions{}
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why RUN|SCENARIO.yaml",
		Short: "Say when a violation became likely, and what decided it",
		Long: `Why runs the scenario of a simulated run again, many times: each time as it was up to a point, and
from there on by chance: other times on the way, other orders of what happens at once, other decisions of
clients and the nemesis. The share that still violates is the probability of the violation at that point of the run. Where it rises most
why looks more closely, and names the event if chance does not explain the rise. Then it looks for the fewest
faults of the run that violate the same property. The report of a run shows all of this afterwards, with
the probability as a curve above the timeline.

Exit codes: 0 done, 2 the scenario violates nothing or it was interrupted, 64 bad usage or input.`,
		Example: `  lockpick why latest
  lockpick why latest --branches 200 --property L4`,
		Args: one("one run (its folder, its name in the store, or latest) or one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := campaign.Store{Dir: store}.Open(args[0])
			if err != nil {
				return usageError{err}
			}
			if s.Driver != scenario.Sim && s.Driver != scenario.Auto {
				return usageError{fmt.Errorf("%s ran on the driver %s: only simulated runs can be branched; lockpick shrink makes a simulated scenario of it", args[0], s.Driver)}
			}
			if how.Points < 2 || how.Points > 1000 || how.Branches < 5 || how.Branches > 100_000 {
				return usageError{errors.New("--points is 2 to 1000, --branches 5 to 100000")}
			}
			collectLessOften()
			show := newProgress()
			how.Scenario = s
			how.Live = show.steps
			r, err := reduce.Why(cmd.Context(), how)
			show.done()
			if errors.Is(err, reduce.ErrNotReproduced) {
				fmt.Fprintf(os.Stderr, "lockpick: %v\n", err)
				return verdictError(checker.Unknown)
			}
			if err != nil {
				return flagProblem(err)
			}
			if err := keepWhy(dir, r); err != nil {
				return err
			}
			if asJSON {
				return term.WriteJSON(os.Stdout, r)
			}
			return reports.Why(os.Stdout, r, terminalOptions())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&how.Points, "points", 24, "from how many points of the run to branch, before the steepest rise is looked at more closely")
	f.IntVar(&how.Branches, "branches", 60, "runs from each point")
	f.DurationVar(&how.Minimize, "minimize", 30*time.Second, "how long to look for the fewest faults that violate it; 0: not at all")
	propertyFlag(cmd, &how.Properties, "L2 if that is violated, else whatever is violated first")
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// whyFile is the file in a run's folder that has the answer of lockpick why.
const whyFile = "why.json"

// keepWhy stores the answer in a run's folder, and rewrites the run's report with it. It stores nothing if
// this version of Lockpick simulates the scenario differently from the version that recorded the run: then
// the answer is not about that run.
func keepWhy(dir string, r *reduce.WhyResult) error {
	if dir == "" {
		return nil
	}
	h, result, err := judge.ForReport(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		return err
	}
	if !r.Begins(h) {
		fmt.Fprintln(os.Stderr, "lockpick: the scenario runs in another way now than when this run was recorded, so its report stays as it is")
		return nil
	}
	if err := writeStored(filepath.Join(dir, whyFile), func(w io.Writer, _ string) error { return term.WriteJSON(w, r) }); err != nil {
		return err
	}
	return writeReport(dir, h, result)
}

// keptWhy returns the answer stored in a run's folder, or nil if there is none.
func keptWhy(dir string) (*reduce.WhyResult, error) {
	b, err := otherfile.Read(filepath.Join(dir, whyFile), otherfile.MaxResult)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r reduce.WhyResult
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it, or run lockpick why again", filepath.Join(dir, whyFile), err)
	}
	return &r, nil
}
