package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/search"
)

func replayCommand() *cobra.Command {
	how := search.ReplayOptions{}
	var store string
	var asJSON bool
	var programs trust
	cmd := &cobra.Command{
		Use:   "replay RUN|SCENARIO.yaml",
		Short: "Re-enact a counterexample, on real masters too",
		Long: `Replay runs the scenario of a run (its folder, its name in the store, or latest), or that of a file.

On simulated masters the same scenario makes the same history, and replay says whether it is the very
one that is stored. On real masters the steps of the schedule strike after the same events, and
everything else depends on real timing: replay tries until the property is violated, up to
--attempts times, and prints the rate. Each attempt is a run in the store.

A run may come from somebody else, and name programs to start: the command of its clients, a Docker image.
Replay asks before it starts one that does not come with Lockpick; without a terminal, it starts one only
with --trust.

Exit codes: 1 reproduced, 0 not in any attempt, 2 an attempt proved nothing or was interrupted.`,
		Example: `  lockpick replay latest --driver sim                       the identical history
  lockpick replay latest --driver process --attempts 20     on redis-server processes
  lockpick replay latest --driver docker --all              the rate of 10 attempts`,
		Args: one("one run (its folder, its name in the store, or latest) or one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := campaign.Store{Dir: store}.Open(args[0])
			if err != nil {
				return usageError{err}
			}
			if how.Attempts < 1 {
				return usageError{fmt.Errorf("--attempts: %d is out of range: at least 1", how.Attempts)}
			}
			if how.Driver == scenario.Sim && !cmd.Flags().Changed("attempts") {
				how.Attempts = 1 // more attempts would differ only in their seeds
			}
			how.Scenario = s
			s.Driver = how.Driver
			if err := programs.ask(cmd.Context(), args[0], campaign.Programs(&s)); err != nil {
				return err
			}
			return replay(cmd.Context(), how, dir, campaign.Store{Dir: store}, &programs, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&how.Driver, "driver", scenario.Auto, "driver of the masters: "+strings.Join(scenario.Drivers, ", "))
	f.IntVar(&how.Attempts, "attempts", 10, "how often to try, at most (with --driver sim: 1)")
	f.BoolVar(&how.All, "all", false, "go on after the first attempt that reproduces it, for the rate")
	propertyFlag(cmd, &how.Properties, "the scenario's, else all that are judged")
	storeFlag(cmd, &store)
	programs.flag(cmd, "the run or the scenario")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// replay runs a scenario again; recorded is the folder of the run that it comes from, or "".
func replay(ctx context.Context, how search.ReplayOptions, recorded string, store campaign.Store, programs *trust, asJSON bool) error {
	show := newProgress()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var firstReproduced *history.History
	tried := 0
	how.Each = func(dir string, h *history.History, r *judge.Result, reproduced bool) error {
		show.done()
		tried++
		outcome := "not violated"
		if reproduced {
			outcome = "reproduced"
		}
		show.line("attempt %d of at most %d: %s (%s)", tried, how.Attempts, outcome, dir)
		if reproduced && firstReproduced == nil {
			firstReproduced = h
		}
		if tried == 1 && r.Driver == scenario.Sim && recorded != "" {
			if err := compare(show, recorded, dir); err != nil {
				return err
			}
		}
		return writeReport(dir, h, r)
	}
	out, err := search.Replay(ctx, how, campaign.Options{Drivers: drivers(), Store: store, Progress: show.line, Live: show.live, Client: []string{self, "client"}, Trust: programs.allow})
	show.done()
	if err != nil {
		return err
	}
	if asJSON {
		err = reports.ReplayedJSON(os.Stdout, out)
	} else {
		if out.First != nil {
			if err := (output{to: os.Stdout}).print(firstReproduced, out.First); err != nil {
				return err
			}
			fmt.Println()
		}
		err = reports.Replayed(os.Stdout, out)
	}
	if err != nil {
		return err
	}
	return concluded(out.Conclude())
}

// compare shows whether a simulated run recorded the same history as the run before.
func compare(show *progress, before, after string) error {
	h, err := history.ReadFile(before + "/" + judge.HistoryFile)
	if err != nil {
		return err
	}
	if h.Header.Driver != scenario.Sim {
		show.line("the history of %s is of the driver %s, so it is another one", before, h.Header.Driver)
		return nil
	}
	difference, err := search.SameHistory(before, after)
	switch {
	case err != nil:
		return err
	case difference != "":
		show.line("the history is NOT that of %s: %s\n(another version of Lockpick, or a scenario that was changed, makes another one)", before, difference)
	default:
		show.line("the history is that of %s, byte by byte", before)
	}
	return nil
}
