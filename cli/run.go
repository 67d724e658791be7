package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/reports/term"
)

func runCommand() *cobra.Command {
	var flags scenarioFlags
	var store string
	var out output
	var programs trust
	var remote bool
	cmd := &cobra.Command{
		Use:   "run [SCENARIO.yaml]",
		Short: "Run a campaign: clients, faults, a verdict and a report",
		Long: `Run starts Redis masters, lets clients take and use a lock while faults strike, and
judges what was recorded. Flags change what the scenario file says, or the defaults.

A scenario file may name programs to start: the command of its clients, a server, a Docker image. Run asks before it
starts one that does not come with Lockpick; without a terminal, it starts one only with --trust.`,
		Example: `  lockpick run --persistence none --faults kill,partition --nemesis guided --time-limit 60s
  lockpick run --faults kill --restart-delay 3s            restarts delayed beyond the TTL
  lockpick run --faults client-pause --fencing --driver process
  lockpick run --lock single --faults kill --stop-on-violation
  lockpick run --at 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 --faults partition
  lockpick run store/latest/scenario.yaml --seed 7`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.ofRun(cmd, args, &programs)
			if err != nil {
				return err
			}
			out.to = cmd.OutOrStdout()
			return runScenario(cmd.Context(), s, campaign.Options{Drivers: drivers(), Store: campaign.Store{Dir: store}, Trust: programs.allow, AllowRemote: remote}, out)
		},
	}
	cmd.Flags().SortFlags = false
	flags.register(cmd, func(*scenario.Field) bool { return true })
	storeFlag(cmd, &store)
	programs.flag(cmd, "the scenario")
	cmd.Flags().BoolVar(&remote, "allow-remote", false, "allow servers of other machines in --at")
	out.flags(cmd)
	return cmd
}

func storeFlag(cmd *cobra.Command, store *string) {
	cmd.Flags().StringVar(store, "store", "store", "folder that runs are kept in")
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON object on stdout instead of the report")
}

func runScenario(ctx context.Context, s scenario.Scenario, opt campaign.Options, out output) error {
	show := newProgress()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if s.Driver == scenario.Sim {
		collectLessOften()
	}
	opt.Progress, opt.Live, opt.Client = show.line, show.live, []string{self, "client"}
	dir, h, r, err := campaign.Run(ctx, s, opt)
	show.done()
	if err != nil {
		if _, gone := os.Stat(dir); dir != "" && gone == nil {
			err = fmt.Errorf("%w\n(what there is of the run is in %s)", err, dir)
		}
		return err
	}
	if err := campaign.CompressLong(ctx, dir, r); err != nil { // before the page, which links the history
		fmt.Fprintf(os.Stderr, "lockpick: the history stays as it was written: %v\n", err)
	}
	if err := writeReport(dir, h, r); err != nil {
		return err
	}
	if out.judged != nil {
		out.judged(r)
	}
	if err := out.print(h, r); err != nil {
		return err
	}
	return exitOf(r, r.Properties)
}

// writeReport writes report.html into a run's folder, with the answer of lockpick why if the folder has one.
func writeReport(dir string, h *history.History, r *judge.Result) error {
	defer judge.CollectMoreFor(len(h.Ops))()
	why, err := keptWhy(dir)
	if err != nil {
		return err
	}
	if before, err := judge.ReadResult(dir); err == nil && r.Since == nil {
		r.Since = before.Since
	}
	return writeStored(filepath.Join(dir, judge.ReportFile), func(w io.Writer, _ string) error { return reports.HTML(w, h, r, why) })
}

// output holds the flags that select how a result is printed, and where; to is set when the command runs.
type output struct {
	json, verbose bool
	junit         string
	to            io.Writer
	judged        func(*judge.Result) // called before the result is printed; may be nil
}

// flags adds the flags of a command that prints a result.
func (o *output) flags(cmd *cobra.Command) {
	jsonFlag(cmd, &o.json)
	outputFlag(cmd, &o.junit, "junit", "", "write JUnit XML to this file, for CI")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "also say what each verdict rests on, and why properties were not tested")
}

func (o output) print(h *history.History, r *judge.Result) error {
	if o.junit != "" {
		format, _ := reports.ExportFormatNamed("junit")
		if err := writeOutput(o.junit, func(w io.Writer, _ string) error { return format.Write(w, &reports.Export{History: h, Result: r}) }); err != nil {
			return err
		}
	}
	if o.json {
		return reports.JSON(o.to, r)
	}
	opt := terminalOptions()
	opt.Verbose = o.verbose
	return reports.Terminal(o.to, h, r, opt)
}

func terminalOptions() term.Options {
	width, color := terminal()
	return term.Options{Width: width, Color: color}
}

// terminal returns the width of the output in columns, and whether it may have colours. It respects COLUMNS,
// TERM=dumb and NO_COLOR.
func terminal() (width int, color bool) {
	width = 100
	fd := int(os.Stdout.Fd())
	if xterm.IsTerminal(fd) {
		color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if columns, _, err := xterm.GetSize(fd); err == nil {
			width = min(columns, 120)
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		width = columns
	}
	return width, color
}

// exitOf turns the verdicts into the command's outcome. asked, if not empty, lists the levels and properties
// that count.
func exitOf(r *judge.Result, asked []string) error {
	return concluded(r.Conclude(asked))
}
