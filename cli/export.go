package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/reports"
)

func exportCommand() *cobra.Command {
	var store, as, file, key string
	var number int
	var formats, list []string
	for _, f := range reports.ExportFormats {
		formats = append(formats, f.Name)
		list = append(list, fmt.Sprintf("  %-9s %s", f.Name, f.Summary))
	}
	cmd := &cobra.Command{
		Use:   "export RUN|FILE --as FORMAT",
		Short: "Write a run or a violation in a format of other tools",
		Long: `Export writes a run, or one violation of it, in a format that other tools read:

` + strings.Join(list, "\n") + `

It judges the history first, so it also takes the history of a harness that was killed.`,
		Example: `  lockpick export latest --as perfetto -o trace.json    then open it in ui.perfetto.dev
  lockpick export latest --as mermaid --violation 3
  lockpick export latest --as svg -o violation.svg
  lockpick export latest --as edn --key k0              for Knossos or elle-cli (--model mutex)`,
		Args: one("one run (its folder, its name in the store, or latest) or one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" {
				return usageError{errors.New("which format? add --as with one of " + strings.Join(formats, ", "))}
			}
			format, ok := reports.ExportFormatNamed(as)
			if !ok {
				return usageError{fmt.Errorf("--as: %q is unknown: use one of %s", as, strings.Join(formats, ", "))}
			}
			path, err := historyOf(campaign.Store{Dir: store}, args[0])
			if err != nil {
				return err
			}
			h, r, err := judge.Interruptible(cmd.Context(), func() (*history.History, *judge.Result, error) { return judge.File(path) })
			if err != nil {
				return orUsage(err)
			}
			x := &reports.Export{History: h, Result: r, Key: key}
			var all int
			if x.Violation, all = reports.Violation(r, number); number != 0 && x.Violation == nil {
				return usageError{fmt.Errorf("--violation %d: the run has %d listed violations", number, all)}
			}
			return writeOutput(cmp.Or(file, "-"), func(w io.Writer, _ string) error { return orUsageExport(format.Write(w, x)) })
		},
	}
	storeFlag(cmd, &store)
	f := cmd.Flags()
	f.StringVar(&as, "as", "", "the format: "+strings.Join(formats, ", "))
	f.IntVar(&number, "violation", 0, "which violation, in order of time (default: the one that the report explains)")
	f.StringVar(&key, "key", "", "of the format edn: the key (default: the violation's)")
	outputFlag(cmd, &file, "output", "o", "the file to write (default: stdout)")
	return cmd
}

// orUsageExport turns the error of a format that has nothing to show into a usage error.
func orUsageExport(err error) error {
	if errors.Is(err, reports.ErrNothingToShow) {
		return usageError{err}
	}
	return err
}
