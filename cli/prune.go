package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/serve"
)

func pruneCommand() *cobra.Command {
	var older, larger string
	var verdicts []string
	var rule serve.Prune
	var yes bool
	store := campaign.Store{Dir: "store"}
	cmd := &cobra.Command{
		Use:   "prune [STORE]",
		Short: "Delete old, large or uninteresting runs",
		Long: `Prune lists the runs, claims, audits and estimates of a store that match all rules which are given,
with their sizes, and deletes them with --yes. It never deletes a run that may be going on, nor, unless
--labelled says so, what somebody gave a label (lockpick serve --write).`,
		Example: `  lockpick prune --older-than 30d                        what is older than 30 days
  lockpick prune --larger-than 100MB --verdict holds     large, and nothing was found
  lockpick prune --keep-newest 20 --yes                  delete all but the newest 20`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				store.Dir = args[0]
			}
			if older == "" && larger == "" && len(verdicts) == 0 && !cmd.Flags().Changed("keep-newest") {
				return usageError{errors.New("which runs? Give --older-than, --larger-than, --verdict or --keep")}
			}
			var err error
			if rule.OlderThan, err = age(older); err != nil {
				return usageError{fmt.Errorf("--older-than: %w", err)}
			}
			if larger != "" {
				if rule.LargerThan, err = units.FromHumanSize(larger); err != nil || rule.LargerThan < 0 {
					return usageError{fmt.Errorf("--larger-than: %q is not a size: 500kB, 100MB, 2GB", larger)}
				}
			}
			if rule.Keep < 0 {
				return usageError{fmt.Errorf("--keep: %d is negative", rule.Keep)}
			}
			for _, v := range verdicts {
				verdict, ok := verdictNamed[v]
				if !ok {
					return usageError{fmt.Errorf("--verdict: %q is none of violated, holds, unknown, inconclusive", v)}
				}
				rule.Verdicts = append(rule.Verdicts, verdict)
			}
			return prune(store, rule, yes)
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "only what began longer ago: 12h, 30d")
	cmd.Flags().StringVar(&larger, "larger-than", "", "only what takes more space: 500kB, 100MB")
	cmd.Flags().StringSliceVar(&verdicts, "verdict", nil, "only runs with this verdict: violated, holds, unknown, inconclusive")
	cmd.Flags().IntVar(&rule.Keep, "keep-newest", 0, "keep so many of the newest")
	cmd.Flags().BoolVar(&rule.Labelled, "labelled", false, "also what has a label")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete them")
	return cmd
}

// verdictNamed maps the values of --verdict to verdicts.
var verdictNamed = map[string]checker.Verdict{
	"violated": checker.Violated, "holds": checker.Holds, "unknown": checker.Unknown, "inconclusive": checker.Invalid,
}

// age parses a duration, which may also be in days, as in 30d.
func age(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(n * 24 * float64(time.Hour))
	}
	if err != nil || d < 0 || d > 100*365*24*time.Hour {
		return 0, fmt.Errorf("%q is not an age: 90m, 12h, 30d", text)
	}
	return d, nil
}

func prune(store campaign.Store, rule serve.Prune, yes bool) error {
	if info, err := os.Stat(store.Dir); err != nil || !info.IsDir() {
		return usageError{fmt.Errorf("there is no store %s: name its folder", store.Dir)}
	}
	entries, err := serve.Pruned(store, rule)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	var sum int64
	var failed []error
	for _, e := range entries {
		if yes {
			if err := serve.Delete(store, e); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		sum += e.Bytes
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", term.PrintableLines(e.Name), e.Kind, term.PrintableLines(cmp.Or(e.Word(), "no verdict")), units.HumanSize(float64(e.Bytes)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch n := len(entries) - len(failed); {
	case yes:
		fmt.Printf("%d deleted, %s\n", n, units.HumanSize(float64(sum)))
	case n == 0:
		fmt.Println("nothing matches")
	default:
		fmt.Printf("%d would be deleted, %s: add --yes\n", n, units.HumanSize(float64(sum)))
	}
	return errors.Join(failed...)
}
