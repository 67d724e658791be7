package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/audit/card"

	"github.com/spf13/cobra"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/clients"
	"lockpick/reports/term"
)

// everyClient is the name of all clients that come with Lockpick.
const everyClient = "all"

// onScoreboard are the flags of an audit that a scoreboard has, too.
var onScoreboard = []string{"budget", "only", "seed", "workers", "resume", "replays", "attempts", "markdown", "html", "store", "json"}

// scoreboardFlags holds what a scoreboard is made of, and where it goes.
type scoreboardFlags struct {
	audit.ScoreboardOptions
	html, markdown, store string
	asJSON                bool
}

// ownOnScoreboard is the entry of Lockpick's own lock on the scoreboard.
var ownOnScoreboard = audit.Entrant{
	Name: "redlock", Language: "Go", Summary: "Lockpick's own lock, over all masters",
	Promise: "One valid lease for a key at a time, as long as masters do not forget what they granted and clocks run at nearly the same rate.", Source: "docs/guide.md",
}

// compareLocks makes the scoreboard of some locks.
func compareLocks(cmd *cobra.Command, names []string, a auditFlags) error {
	if err := onlyFlags(cmd, onScoreboard, "is about one lock: a scoreboard has none"); err != nil {
		return err
	}
	flags := scoreboardFlags{html: a.html, markdown: a.markdown, store: a.store, asJSON: a.asJSON}
	flags.Audit.Budget, flags.Audit.Only, flags.Audit.Seed, flags.Audit.Workers = a.Budget, a.Only, a.Seed, a.Workers
	flags.Confirm.Times, flags.Confirm.Attempts, flags.Reuse = a.confirm.Times, a.confirm.Attempts, a.Resume
	if slices.Equal(names, []string{everyClient}) {
		names = nil
	}
	return runScoreboard(cmd, names, flags)
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
			return nil, flagProblem(scenario.UnknownValue("lock", name, append(names, everyClient)))
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
			e.Missing = "needs " + c.Needs()
		} else if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func runScoreboard(cmd *cobra.Command, only []string, flags scoreboardFlags) error {
	if flags.Confirm.Times < 1 || flags.Confirm.Attempts < 1 {
		return usageError{errors.New("--replays and --attempts are at least 1")}
	}
	var err error
	if flags.Entrants, err = entrants(only); err != nil {
		return err
	}
	flags.Command = judge.Program + " audit " + cmp.Or(strings.Join(only, " "), everyClient)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := newProgress()
	flags.Audit.Drivers, flags.Audit.Driver, flags.Audit.Store = drivers(), scenario.Process, campaign.Store{Dir: flags.store}
	flags.Audit.Progress, flags.Audit.Live, flags.Audit.Report = func(string, ...any) {}, show.steps, writeReport
	flags.Confirm.Progress, flags.Confirm.Run = show.line, campaign.Options{Drivers: drivers(), Client: []string{self, "client"}}
	flags.Begin = func(e audit.Entrant, i int) {
		if e.Missing != "" {
			show.line("%d of %d, %s: not tried: %s", i+1, len(flags.Entrants), e.Name, e.Missing)
			return
		}
		show.line("%d of %d, %s: the audit", i+1, len(flags.Entrants), e.Name)
	}
	flags.Card = func(r *audit.Result) error {
		page := filepath.Join(r.Folder, "index.html")
		return writeStored(page, func(w io.Writer, dir string) error { return card.WritePage(w, dir, r) })
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
	return reportScoreboard(cmd.OutOrStdout(), b, flags)
}

// reportScoreboard writes the requested outputs, prints the scoreboard to out, and returns the command's outcome.
func reportScoreboard(out io.Writer, b *audit.Scoreboard, flags scoreboardFlags) error {
	page := filepath.Join(flags.store, card.ScoreboardFile)
	if len(b.Entries) > 0 {
		if err := os.MkdirAll(flags.store, 0o755); err != nil {
			return err
		}
		writePage := func(w io.Writer, dir string) error { return card.ScoreboardPage(w, dir, b) }
		if err := writeStored(page, writePage); err != nil {
			return err
		}
		if err := (outputs{{flags.html, writePage}, {flags.markdown, func(w io.Writer, _ string) error { return card.ScoreboardMarkdown(w, b) }}}).write(); err != nil {
			return err
		}
	}
	switch {
	case flags.asJSON:
		if err := term.WriteJSON(out, struct {
			*audit.Scoreboard
			Page string `json:"page"`
		}{b, page}); err != nil {
			return err
		}
	case len(b.Entries) > 0:
		if err := card.ScoreboardTerminal(out, b, terminalOptions()); err != nil {
			return err
		}
		fmt.Fprintf(out, "The page with all stories: %s\n", page)
	}
	if b.Interrupted {
		return undecidedError{Verdict: checker.Unknown, Why: fmt.Sprintf("interrupted after %d of %d locks: %s --resume goes on", len(b.Entries), len(flags.Entrants), b.Command)}
	}
	return nil
}
