package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/browser"
	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/reports/story"
)

// showFlags holds the flags of lockpick show.
type showFlags struct {
	story, open          bool
	lines                []int
	as, file, key, store string
	number               int
}

func showCommand() *cobra.Command {
	var flags showFlags
	var list []string
	for _, f := range reports.ExportFormats {
		list = append(list, fmt.Sprintf("  %-9s %-10s %s", f.Name, f.Extension, f.Summary))
	}
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its page, the story of a violation, lines of the history, other formats",
		Long: `Show writes the HTML page of a run again, and with --open opens it in a browser. With --story it
prints a violation in the terminal: step by step, and as a diagram with a column for each client and
master that took part. With --lines it prints lines of the history as they were recorded, by the index
that reports give, with the lines around them, as grep -n does. With --as, or with an -o FILE of one of
these endings, it writes the run, or one violation of it, for other tools:

` + strings.Join(list, "\n") + `

RUN is the folder of a run, its name in the store, or latest; but for the page it may also be a history
file, such as that of a harness that was killed.`,
		Example: `  lockpick show latest --open
  lockpick show latest --story
  lockpick show latest --story --violation 3            the third in order of time
  lockpick show latest --lines 18,64                    these lines of the history, and 10 around each
  lockpick show latest -o violation.svg
  lockpick show latest --as perfetto -o trace.json      then open it in ui.perfetto.dev
  lockpick show latest --as edn --key k0                for Knossos or elle-cli (--model mutex)`,
		Args: one("one run: its folder, its name in the store, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error { return show(cmd.Context(), args[0], flags) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&flags.open, "open", false, "open the page in a browser")
	f.BoolVar(&flags.story, "story", false, "print a violation step by step, with a diagram")
	f.IntSliceVar(&flags.lines, "lines", nil, "print the lines of the history with these indices and "+strconv.Itoa(linesAround)+" around each")
	f.StringVar(&flags.as, "as", "", "the format: "+strings.Join(formatNames(), ", ")+" (default: by the ending of -o)")
	outputFlag(cmd, &flags.file, "output", "o", "the file to write (default: stdout)")
	f.IntVar(&flags.number, "violation", 0, "which violation, in order of time (default: the one that the report explains)")
	f.StringVar(&flags.key, "key", "", "of the format edn: the key (default: the violation's)")
	storeFlag(cmd, &flags.store)
	return cmd
}

func formatNames() (names []string) {
	for _, f := range reports.ExportFormats {
		names = append(names, f.Name)
	}
	return names
}

func show(ctx context.Context, run string, flags showFlags) error {
	store := campaign.Store{Dir: flags.store}
	exports := flags.as != "" || flags.file != ""
	modes := 0
	for _, chosen := range []bool{flags.open, flags.story, flags.lines != nil, exports} {
		if chosen {
			modes++
		}
	}
	switch {
	case modes > 1:
		return usageError{errors.New("--open, --story, --lines and --as (or -o) exclude each other")}
	case flags.key != "" && !exports:
		return usageError{errors.New("--key is about the format edn: add --as edn")}
	case flags.number != 0 && !flags.story && !exports:
		return usageError{errors.New("--violation is about stories and formats: add --story or --as")}
	case modes == 0 || flags.open:
		return showPage(ctx, store, run, flags.open)
	}
	path, err := historyOf(store, run)
	switch {
	case err != nil:
		return err
	case flags.story:
		return showStory(ctx, path, flags.number)
	case exports:
		return showAs(ctx, path, flags)
	}
	return printLines(os.Stdout, path, flags.lines)
}

// showPage writes the page of a run again, and says where it is.
func showPage(ctx context.Context, store campaign.Store, run string, open bool) error {
	dir, err := store.Find(run)
	if err != nil {
		return usageError{err}
	}
	h, r, err := judge.Interruptible(ctx, func() (*history.History, *judge.Result, error) {
		return judge.ForReport(filepath.Join(dir, judge.HistoryFile))
	})
	if err != nil {
		return orUsage(err)
	}
	if before, err := judge.ReadResult(dir); err == nil {
		r.Notes = before.Notes // they also state whether the run was interrupted
	}
	if err := writeReport(dir, h, r); err != nil {
		return err
	}
	fmt.Println(r.Report)
	if open {
		browser.Stdout = os.Stderr
		if err := browser.OpenFile(r.Report); err != nil {
			return usageError{fmt.Errorf("--open: no browser could be started (%w): open %s", err, r.Report)}
		}
	}
	return nil
}

// showStory prints the story of a violation and its diagram.
func showStory(ctx context.Context, path string, number int) error {
	_, r, err := judge.Interruptible(ctx, func() (*history.Packed, *judge.Result, error) { return judge.PackedFile(path) })
	if err != nil {
		return orUsage(err)
	}
	v, all := reports.Violation(r, number)
	switch {
	case all == 0:
		fmt.Println("Nothing was violated: there is no story to tell.")
		return nil
	case v == nil:
		return usageError{fmt.Errorf("--violation %d: the report lists %d violations, from 1 to %d", number, all, all)}
	}
	width, _ := terminal()
	width = max(cmp.Or(width, 100), 60)
	_, err = fmt.Print(story.Prose(v, width), "\n", story.Diagram(v, width))
	return err
}

// showAs writes a run, or a violation of it, in a format of other tools.
func showAs(ctx context.Context, path string, flags showFlags) error {
	format, err := formatOf(flags.as, flags.file)
	if err != nil {
		return usageError{err}
	}
	h, r, err := judge.Interruptible(ctx, func() (*history.History, *judge.Result, error) { return judge.File(path) })
	if err != nil {
		return orUsage(err)
	}
	x := &reports.Export{History: h, Result: r, Key: flags.key}
	var all int
	if x.Violation, all = reports.Violation(r, flags.number); flags.number != 0 && x.Violation == nil {
		return usageError{fmt.Errorf("--violation %d: the run has %d listed violations", flags.number, all)}
	}
	return writeOutput(cmp.Or(flags.file, "-"), func(w io.Writer, _ string) error {
		err := format.Write(&untilDone{ctx, w}, x)
		if errors.Is(err, reports.ErrNothingToShow) {
			return usageError{err}
		}
		return err
	})
}

// formatOf returns the format of this name, or else that of the file's ending.
func formatOf(name, file string) (reports.ExportFormat, error) {
	if name != "" {
		if format, ok := reports.ExportFormatNamed(name); ok {
			return format, nil
		}
		return reports.ExportFormat{}, fmt.Errorf("--as: %q is unknown: use one of %s", name, strings.Join(formatNames(), ", "))
	}
	var found reports.ExportFormat // that with the longest ending: .itf.json is more than .json
	for _, format := range reports.ExportFormats {
		if strings.HasSuffix(strings.ToLower(file), format.Extension) && len(format.Extension) > len(found.Extension) {
			found = format
		}
	}
	if found.Name != "" {
		return found, nil
	}
	return reports.ExportFormat{}, fmt.Errorf("-o %s: its ending names no format: add --as with one of %s", file, strings.Join(formatNames(), ", "))
}
