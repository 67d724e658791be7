package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/clients"
	"lockpick/reports"
)

// scoreboardFlags holds the flags of lockpick scoreboard.
type scoreboardFlags struct {
	audit.ScoreboardOptions
	only                  []string
	html, markdown, store string
	asJSON                bool
}

// ownOnScoreboard is the entry of Lockpick's own lock on the scoreboard.
var ownOnScoreboard = audit.Entrant{
	Name: "redlock", Language: "Go", Summary: "Lockpick's own lock, over all masters",
	Promise: "One valid lease for a key at a time, as long as masters do not forget what they granted and clocks run at nearly the same rate.", Source: "docs/guide.md",
}

func scoreboardCommand() *cobra.Command {
	flags := scoreboardFlags{}
	cmd := &cobra.Command{
		Use:   "scoreboard",
		Short: "Audit the clients that come with Lockpick, and compare them",
		Long: `Scoreboard audits each client that comes with Lockpick (lockpick list clients), and Lockpick's own
redlock, on redis-server processes. It replays what is broken: only what came back every time is called
broken. It writes one page that compares them, by level and by situation, with the story of each
violation and a command that repeats it.

All of them take about two hours. With --reuse, finished audits of the store are not repeated, so that
an interrupted scoreboard goes on where it was. Clients whose library is not installed are named.

Exit codes: 0 it was made, whatever it says, 2 interrupted, 64 bad usage, 70 an error of the harness.`,
		Example: `  lockpick scoreboard                                      all of them
  lockpick scoreboard --client redis-py,go-redsync         these two
  lockpick scoreboard --reuse --markdown scoreboard.md     go on, and write Markdown too
  lockpick scoreboard --only quiet,cut-off-holder          two situations of the battery`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runScoreboard(cmd, flags) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	names := scoreboardNames()
	f.StringSliceVar(&flags.only, "client", nil, "which: "+strings.Join(names, ", ")+" (default: all)")
	f.StringVar(&flags.Audit.Budget, "budget", audit.Quick, "how much to try: "+strings.Join(audit.Budgets, ", "))
	f.StringSliceVar(&flags.Audit.Only, "only", nil, "ids of situations (lockpick list situations; default: all)")
	f.Uint64Var(&flags.Audit.Seed, "seed", 1, "seed of all random choices")
	f.IntVar(&flags.Audit.Workers, "workers", 0, "runs at a time (default: one more than processors, at most 4)")
	f.IntVar(&flags.Confirm.Times, "replays", 3, "how often in a row what is broken has to come back")
	f.IntVar(&flags.Confirm.Attempts, "attempts", 5, "runs of each replay, at most")
	f.BoolVar(&flags.Reuse, "reuse", false, "take finished audits of the store instead of new ones")
	outputFlag(cmd, &flags.markdown, "markdown", "", "write Markdown to this file")
	outputFlag(cmd, &flags.html, "html", "", "write the page to this file too")
	storeFlag(cmd, &flags.store)
	jsonFlag(cmd, &flags.asJSON)
	return cmd
}

func scoreboardNames() []string {
	names := []string{ownOnScoreboard.Name}
	for _, c := range clients.All {
		names = append(names, c.Name)
	}
	return names
}

// entrants returns the locks to audit: those in only, or all if it is empty. Missing is set where a package
// is not installed.
func entrants(only []string) ([]audit.Entrant, error) {
	names := scoreboardNames()
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, flagProblem(scenario.UnknownValue("client", name, names))
		}
	}
	var all []audit.Entrant
	wanted := func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }
	if wanted(ownOnScoreboard.Name) {
		all = append(all, ownOnScoreboard)
	}
	for _, c := range clients.All {
		if !wanted(c.Name) {
			continue
		}
		e := audit.Entrant{Name: c.Name, Language: c.Language, Summary: c.Summary, Promise: c.Promise, Source: c.Source, Packages: c.Installed(), Client: []string{c.Name}}
		if _, err := c.Command(); errors.Is(err, clients.ErrMissing) {
			e.Missing = "needs " + c.Package
		} else if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// statements returns the published statements about libraries, each with what a test showed, for the
// scoreboard.
func statements() (all []audit.Statement) {
	for _, f := range clients.Findings {
		all = append(all, audit.Statement{Library: f.Library + " " + f.Version, Said: f.Said, Confirmed: f.Confirmed, Shows: f.Shows, Date: f.Date, Command: f.Command()})
	}
	return all
}

func runScoreboard(cmd *cobra.Command, flags scoreboardFlags) error {
	if flags.Confirm.Times < 1 || flags.Confirm.Attempts < 1 {
		return usageError{errors.New("--replays and --attempts are at least 1")}
	}
	var err error
	if flags.Entrants, err = entrants(flags.only); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := newAuditProgress()
	flags.Audit.Driver, flags.Audit.Store = scenario.Process, campaign.Store{Dir: flags.store}
	flags.Audit.Progress, flags.Audit.Live, flags.Audit.Report = func(string, ...any) {}, show.live, writeReport
	flags.Confirm.Progress, flags.Confirm.Run = show.line, campaign.Options{Client: []string{self, "client"}}
	flags.Begin = func(e audit.Entrant, i int) {
		if e.Missing != "" {
			show.line("%d of %d, %s: not tried: %s", i+1, len(flags.Entrants), e.Name, e.Missing)
			return
		}
		show.line("%d of %d, %s: the audit", i+1, len(flags.Entrants), e.Name)
	}
	flags.Card = func(r *audit.Result) error {
		page := filepath.Join(r.Folder, "index.html")
		return writeStored(page, func(w io.Writer, dir string) error { return reports.AuditPage(w, dir, r) })
	}
	flags.Done = func(e audit.Entry, took time.Duration) error {
		show.done()
		if e.Card != nil {
			show.line("%s: done in %v", e.Name, took.Round(time.Second))
		}
		return nil
	}
	b, err := audit.Compare(cmd.Context(), flags.ScoreboardOptions)
	show.done()
	if err != nil {
		return flagProblem(err)
	}
	b.Statements = statements()
	return reportScoreboard(cmd.OutOrStdout(), b, flags)
}

// reportScoreboard writes the requested outputs, prints the scoreboard to out, and returns the command's outcome.
func reportScoreboard(out io.Writer, b *audit.Scoreboard, flags scoreboardFlags) error {
	page := filepath.Join(flags.store, reports.ScoreboardFile)
	if len(b.Entries) > 0 {
		if err := os.MkdirAll(flags.store, 0o755); err != nil {
			return err
		}
		writePage := func(w io.Writer, dir string) error { return reports.ScoreboardPage(w, dir, b) }
		if err := writeStored(page, writePage); err != nil {
			return err
		}
		if flags.html != "" {
			if err := writeOutput(flags.html, writePage); err != nil {
				return err
			}
		}
		if flags.markdown != "" {
			if err := writeOutput(flags.markdown, func(w io.Writer, _ string) error { return reports.ScoreboardMarkdown(w, b) }); err != nil {
				return err
			}
		}
	}
	switch {
	case flags.asJSON:
		if err := reports.WriteJSON(out, struct {
			*audit.Scoreboard
			Page string `json:"page"`
		}{b, page}); err != nil {
			return err
		}
	case len(b.Entries) > 0:
		if err := reports.Scoreboard(out, b, terminalOptions()); err != nil {
			return err
		}
		fmt.Fprintf(out, "The page with all stories: %s\n", page)
	}
	if b.Interrupted {
		return undecidedError{Verdict: checker.Unknown, Why: fmt.Sprintf("interrupted after %d of %d locks: lockpick scoreboard --reuse goes on", len(b.Entries), len(flags.Entrants))}
	}
	return nil
}
