package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/reports"
)

func diffCommand() *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Compare two runs",
		Long: `Diff compares two runs: what was configured differently, which verdicts differ, and how many
violations and operations there were, in all and per minute. A run without a result, such as
that of a harness that was killed, is judged first.`,
		Example: `  lockpick diff 20261122T154428-redlock latest
  lockpick diff store/20261122T154428-redlock other/latest --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("diff what? It takes two runs (each its folder, its name in the store, or latest)")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var runs [2]reports.DiffRun
			for i, name := range args {
				var err error
				if runs[i], err = openRun(campaign.Store{Dir: store}, name); err != nil {
					return err
				}
			}
			d := reports.Compare(runs[0], runs[1])
			if asJSON {
				return reports.DiffJSON(os.Stdout, d)
			}
			width, _ := terminal()
			return reports.DiffTerminal(os.Stdout, d, width)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// openRun reads the scenario and the result of a run.
func openRun(store campaign.Store, name string) (run reports.DiffRun, err error) {
	dir, err := store.Find(name)
	if err != nil {
		return run, usageError{err}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // latest may soon be another run
	}
	run.Name = filepath.Base(dir)
	switch s, err := campaign.LoadScenario(filepath.Join(dir, campaign.ScenarioFile)); {
	case err == nil:
		run.Scenario = &s
	case !errors.Is(err, os.ErrNotExist):
		return run, usageError{err}
	}
	run.Result, err = campaign.ReadResult(dir)
	if errors.Is(err, os.ErrNotExist) {
		_, run.Result, err = campaign.JudgeFile(filepath.Join(dir, campaign.HistoryFile))
	}
	if err != nil {
		return run, orUsage(fmt.Errorf("%s: %w", name, err))
	}
	return run, nil
}
