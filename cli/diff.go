package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/reports/diff"
	"lockpick/reports/term"
)

func diffCommand() *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Compare two runs",
		Long: `Diff compares two runs: what was configured differently, which verdicts differ, how many
violations and operations there were, in all and per minute, and how long calls took. A run
without a result, such as that of a harness that was killed, is judged first.`,
		Example: `  lockpick diff 20261122T154428-redlock latest
  lockpick diff store/20261122T154428-redlock other/latest --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("diff what? It takes two runs (each its folder, its name in the store, or latest)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs [2]diff.Run
			for i, name := range args {
				run, _, err := judge.Interruptible(cmd.Context(), func() (diff.Run, *judge.Result, error) {
					run, err := diff.Open(campaign.Store{Dir: store}, name)
					return run, nil, err
				})
				if err != nil {
					return orUsage(fmt.Errorf("%s: %w", name, err))
				}
				runs[i] = run
			}
			d := diff.Compare(runs[0], runs[1])
			if asJSON {
				return term.WriteJSON(os.Stdout, d)
			}
			width, _ := terminal()
			return diff.Terminal(os.Stdout, d, width)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
