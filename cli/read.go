package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/claims"
	"lockpick/clients"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/history/logs"
	"lockpick/reports"
	"lockpick/reports/term"
	"lockpick/workload"
)

func checkCommand() *cobra.Command {
	var store string
	var levels []string
	var out output
	var ofLogs logFlags
	cmd := &cobra.Command{
		Use:   "check RUN|FILE|LOG...",
		Short: "Judge a recorded history again, or logs of your own lock",
		Long: `Check judges the history of a run (its folder, its name in the store, or latest) or in a
file. It needs nothing else, so it also judges what a harness that was killed left behind.

With --format it judges logs of a lock that Lockpick did not run: did two clients ever hold
it at once (L2), or work at once (L3)? It reads several files, standard input (-), and files
compressed with gzip or zstd. A line tells of an event (acquired, extended, releasing,
released; its time, key, token, client and, where one was granted, valid_until) or of a whole
hold (acquired, releasing or released, key, token or client). Fields with other names are
mapped; --pattern takes lines of any form apart. Clocks convict nobody: only what is certain
within --clock-error is a violation, what would be one if all times were right is listed as
possible, and the verdict is then unknown. What redis-cli printed of MONITOR (--format
monitor) is linted as lockpick watch lints live commands. What to log,
with examples in five languages: docs/logging.md.`,
		Example: `  lockpick check latest
  lockpick check store/latest/history.jsonl --json
  lockpick check --format jsonl --clock-error 50ms web-1.log web-2.log.gz
  lockpick check --format jsonl --map 'time=ts,key=lock.name,token=lock.token,host=@file' \
      --event 'acquired=got the lock' --event 'releasing=giving it back' --ttl 30s \
      --call-time 200ms --clock-error 50ms --clock-error db-1.log=200ms *.log
  lockpick check --format otlp --map key=redis.key,token=redis.token,host=host.name \
      --event acquire=lock --event release=unlock --ttl 30s --clock-error 20ms spans.jsonl.zst
  lockpick check --pattern '^\[(?P<time>\S+ \S+): .* (?P<event>Acquired|Extending) lock' \
      --map key=@beat,client=@file --event acquired=Acquired --event extended=Extending \
      --ttl 60s --zone UTC --call-time 1s --clock-error 50ms worker-a.log worker-b.log
  lockpick check --format monitor redis-1.txt redis-2.txt redis-3.txt
  zcat holds.csv.gz | lockpick check --format csv --map acquired=start,releasing=end \
      --ttl none --clock-error 0 -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if ofLogs.pattern != "" && ofLogs.format == "" {
				ofLogs.format = string(logs.Lines)
			}
			if ofLogs.format == "" {
				return one("one run (its folder, its name in the store, or latest) or one file; or with --format logs of your own lock")(cmd, args)
			}
			if len(args) == 0 {
				return errors.New("check what? It takes log files, or - for the standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out.to = cmd.OutOrStdout()
			if ofLogs.format != "" {
				return checkLogs(cmd.Context(), &ofLogs, args, campaign.Store{Dir: store}, levels, out)
			}
			if err := onlyWithFormat(cmd); err != nil {
				return err
			}
			path, err := historyOf(campaign.Store{Dir: store}, args[0])
			if err != nil {
				return err
			}
			h, r, err := judge.Interruptible(cmd.Context(), func() (*history.Packed, *judge.Result, error) { return judge.PackedFile(path) })
			if errors.Is(err, history.ErrNotHistory) {
				err = fmt.Errorf("%w; logs of your own lock need --format (see: lockpick check --help)", err)
			}
			if err != nil {
				return orUsage(err)
			}
			if _, err := os.Stat(r.Report); err != nil {
				r.Report = ""
			}
			if len(levels) > 0 {
				r.SetProperties(levels)
			}
			if err := out.print(&h.History, r); err != nil {
				return err
			}
			return exitOf(r, r.Properties)
		},
	}
	storeFlag(cmd, &store)
	propertyFlag(cmd, &levels, "the scenario's, else all that are judged")
	out.flags(cmd)
	ofLogs.add(cmd)
	return cmd
}

// historyOf returns the path of the history that an argument names: a file, or a run.
func historyOf(store campaign.Store, name string) (string, error) {
	if found, err := history.Find(name); err == nil {
		if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() {
			return found, nil
		}
	}
	dir, err := store.Find(name)
	if err != nil {
		return "", usageError{err}
	}
	return filepath.Join(dir, judge.HistoryFile), nil
}

// orUsage returns a usage error, unless the error is a judge.HarnessError.
func orUsage(err error) error {
	var harness *judge.HarnessError
	if errors.As(err, &harness) {
		return err
	}
	return usageError{err}
}

// lists are what lockpick list lists.
var lists = []string{"runs", "locks", "clients", "faults", "fields", "claims", "situations", "findings"}

func listCommand() *cobra.Command {
	var store string
	var as string
	cmd := &cobra.Command{
		Use:       "list " + strings.Join(lists, "|"),
		Short:     "List runs, locks, clients, faults, fields of a scenario, claims, situations of an audit, or findings in libraries",
		Example:   "  lockpick list faults\n  lockpick list claims --as markdown > docs/claims.md",
		ValidArgs: lists,
		Args:      one(strings.Join(lists[:len(lists)-1], ", ")+" or "+lists[len(lists)-1], lists...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != "" && (as != "markdown" || args[0] != "claims" && args[0] != "findings") {
				return usageError{fmt.Errorf("--as %s: only claims and findings have another format, markdown", as)}
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			switch args[0] {
			case "locks":
				listLocks(w)
			case "clients":
				listClients(cmd.Context(), w)
			case "faults":
				shim, why := here.shim(cmd.Context())
				for _, k := range fault.Kinds {
					needs := ""
					switch {
					case k.Needs == fault.Shim && !shim:
						needs = "  NOT AVAILABLE: " + why
					case k.Needs != "":
						needs = "  (needs " + k.Needs + ")"
					}
					fmt.Fprintf(w, "%s\t%s\t%s%s\n", k.Name, k.Hits, k.Summary, needs)
				}
			case "fields":
				listFields(w)
			case "claims":
				if as == "markdown" {
					return claims.Markdown(os.Stdout, claims.Catalogue())
				}
				for _, c := range claims.Catalogue() {
					fmt.Fprintf(w, "%s\t%s\t%s\n", c.ID, c.Slug, c.Claim)
				}
			case "findings":
				if as == "markdown" {
					return reports.FindingsMarkdown(os.Stdout)
				}
				for _, f := range clients.Findings {
					fmt.Fprintf(w, "%s %s\t%s\t%s\n", f.Library, f.Version, f.Level, f.Said)
				}
			case "situations":
				listSituations(w)
			case "runs":
				if err := listRuns(w, campaign.Store{Dir: store}); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().StringVar(&as, "as", "", "of claims and findings: markdown, a page of them")
	return cmd
}

// listLocks lists the locks of the caller's program, the built-in locks that are meant to be correct, and
// those that are wrong on purpose, each with its correct twin.
func listLocks(w io.Writer) {
	if own := workload.Registered(); len(own) > 0 {
		fmt.Fprintln(w, "Locks of this program")
		for _, k := range own {
			fmt.Fprintf(w, "  %s\t%s\n", k.Name, k.Summary)
		}
		fmt.Fprintln(w)
	}
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
		size := units.HumanSize(float64(campaign.SizeOf(os.DirFS(store.Dir), run)))
		r, err := judge.ReadResult(filepath.Join(store.Dir, run))
		run = term.PrintableLines(run)
		if err != nil {
			fmt.Fprintf(w, "%s\tnot judged, %s (lockpick check %s)\n", run, size, run)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", run, term.PrintableLines(cmp.Or(r.Overall, r.Verdict()).Word()), term.PrintableLines(r.Lock), term.PrintableLines(r.Driver), term.Plural(r.Counts.Granted, "lease"), term.Plural(r.Counts.Faults, "fault"), size)
	}
	return nil
}
