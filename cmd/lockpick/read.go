package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/cluster"
	"lockpick/nemesis"
	"lockpick/reports"
	"lockpick/workload"
)

func checkCommand() *cobra.Command {
	var store string
	var levels []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check RUN|FILE",
		Short: "Judge a recorded history again",
		Long: `Check judges the history of a run (its folder, its name in the store, or latest) or in a
file. It needs nothing else, so it also judges what a harness that was killed left behind.`,
		Example: `  lockpick check latest
  lockpick check store/latest/history.jsonl --json`,
		Args: one("one run (its folder, its name in the store, or latest) or one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := historyOf(campaign.Store{Dir: store}, args[0])
			if err != nil {
				return err
			}
			h, r, err := campaign.CheckFile(path)
			if err != nil {
				return orUsage(err)
			}
			if _, err := os.Stat(r.Report); err != nil {
				r.Report = ""
			}
			if len(levels) > 0 {
				r.Ask(levels)
			}
			if err := printResult(&h.History, r, asJSON); err != nil {
				return err
			}
			return exitOf(r, r.Properties)
		},
	}
	storeFlag(cmd, &store)
	propertyFlag(cmd, &levels, "the scenario's, else all that are judged")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func reportCommand() *cobra.Command {
	var store string
	var tells bool
	var number int
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run's HTML report anew, or tell the story of a violation",
		Long: `Report writes the HTML report of a run anew. With --story it tells in the terminal how a
violation came about: step by step, and as a diagram with a column for each client and
master that took part. For a story RUN may also be a history file.`,
		Example: `  lockpick report latest
  lockpick report latest --story
  lockpick report latest --story --violation 3      the third in order of time`,
		Args: one("one run: its folder, its name in the store, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tells {
				path, err := historyOf(campaign.Store{Dir: store}, args[0])
				if err != nil {
					return err
				}
				return tellStory(path, number)
			}
			if number != 0 {
				return usageError{errors.New("--violation is about stories: add --story")}
			}
			dir, err := campaign.Store{Dir: store}.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			h, r, err := campaign.JudgeFile(filepath.Join(dir, campaign.HistoryFile))
			if err != nil {
				return orUsage(err)
			}
			if before, err := campaign.ReadResult(dir); err == nil {
				r.Notes = before.Notes // says more: whether the run was interrupted
			}
			if err := writeReport(dir, h, r); err != nil {
				return err
			}
			fmt.Println(r.Report)
			return nil
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&tells, "story", false, "tell how a violation came about, and draw it, instead of writing the report")
	cmd.Flags().IntVar(&number, "violation", 0, "which violation, in order of time (default: the one that the report explains)")
	return cmd
}

// tellStory prints the story of a violation and its diagram.
func tellStory(path string, number int) error {
	_, r, err := campaign.CheckFile(path)
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
	opt := reports.StoryOptions{Width: width}
	if err := reports.Story(os.Stdout, v, opt); err != nil {
		return err
	}
	fmt.Println()
	return reports.SpaceTime(os.Stdout, v, opt)
}

// historyOf finds the history that the user means: a file, or a run's.
func historyOf(store campaign.Store, name string) (string, error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return name, nil
	}
	dir, err := store.Find(name)
	if err != nil {
		return "", usageError{err}
	}
	return filepath.Join(dir, campaign.HistoryFile), nil
}

// orUsage blames the input, unless the harness is known to be at fault.
func orUsage(err error) error {
	var harness *campaign.HarnessError
	if errors.As(err, &harness) {
		return err
	}
	return usageError{err}
}

func listCommand() *cobra.Command {
	var store string
	var markdown bool
	cmd := &cobra.Command{
		Use:       "list runs|locks|faults|claims",
		Short:     "List the runs in the store, the locks under test, the faults, or the claims",
		Example:   "  lockpick list faults\n  lockpick list claims --markdown > docs/claims.md",
		ValidArgs: []string{"runs", "locks", "faults", "claims"},
		Args:      one("runs, locks, faults or claims", "runs", "locks", "faults", "claims"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			switch args[0] {
			case "locks":
				listLocks(w)
			case "faults":
				shim, why := cluster.ShimAvailable(cmd.Context())
				for _, k := range nemesis.Kinds {
					needs := ""
					switch {
					case k.Needs == "shim" && !shim:
						needs = "  NOT AVAILABLE: " + why
					case k.Needs != "":
						needs = "  (needs " + k.Needs + ")"
					}
					fmt.Fprintf(w, "%s\t%s\t%s%s\n", k.Name, k.Hits, k.Summary, needs)
				}
			case "claims":
				if markdown {
					return reports.ClaimsMarkdown(os.Stdout, campaign.Catalogue())
				}
				for _, c := range campaign.Catalogue() {
					fmt.Fprintf(w, "%s\t%s\t%s\n", c.ID, c.Slug, c.Claim)
				}
			case "runs":
				if err := listRuns(w, campaign.Store{Dir: store}); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&markdown, "markdown", false, "of claims: with their cases and verdicts, as a page of documentation")
	return cmd
}

// listLocks lists the locks that are meant to be right, and then those that are wrong on
// purpose with the twin that is not.
func listLocks(w io.Writer) {
	fmt.Fprintln(w, "Locks that are meant to be right")
	wrong := false
	for _, k := range workload.Locks {
		if k.Twin == "" {
			fmt.Fprintf(w, "  %s\t%s\n", k.Name, k.Summary)
			continue
		}
		if !wrong {
			fmt.Fprintln(w, "\nLocks that are wrong on purpose\n  \tit shows\twhat is wrong\tright without it")
			wrong = true
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.Name, k.Shows(), k.Summary, k.Twin)
	}
}

func listRuns(w *tabwriter.Writer, store campaign.Store) error {
	runs, err := store.Runs()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintf(os.Stderr, "no runs in %s yet: lockpick run makes one\n", store.Dir)
	}
	for _, run := range runs {
		r, err := campaign.ReadResult(filepath.Join(store.Dir, run))
		if err != nil {
			fmt.Fprintf(w, "%s\tnot judged (lockpick check %s)\n", run, run)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d leases\t%d faults\n", run, cmp.Or(r.Overall, r.Verdict()), r.Lock, r.Driver, r.Counts.Granted, r.Counts.Faults)
	}
	return nil
}
