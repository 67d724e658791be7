package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/claims"
	"lockpick/history/fault"
	"lockpick/reports/term"
	"lockpick/search"
	"lockpick/workload"
)

// claimsFlags holds the flags of lockpick claims.
type claimsFlags struct {
	only, catalogue []string
	search.JobOptions
	lock, client          string
	evidence              string
	mutants, asJSON       bool
	junit, html, baseline string
	updateBaseline        bool
	store                 string
	shard                 shardFlags
	timeLimit             time.Duration
	programs              trust
}

func claimsCommand() *cobra.Command {
	var flags claimsFlags
	cmd := &cobra.Command{
		Use:   "claims [PART …]",
		Short: "Put what people say about Redis locks to the test, claim by claim",
		Long: `Claims verifies a catalogue of claims: each is a sentence about a lock, the scenarios that
test it, and the verdict to expect. It prints what was expected and what was found, keeps a
run with a report as evidence for each finding, and fails if a verdict is not the expected one.
A violation counts only if it has the claimed property and reason.

On simulated masters (the default) the same seed gives the same result.

With --shard and --out it verifies one shard of the claims, as search does; with the files of all
shards as arguments it prints the whole table. Runs are copied from the shards' stores where they are
on this machine. A claim whose shard is missing is undecided.

Exit codes: 0 all as expected, 1 a claim is not (or differs from the baseline), 2 undecided
(unknown, invalid or interrupted), 64 bad usage or catalogue, 70 an error of the harness.`,
		Example: `  lockpick claims                                  every built-in claim, simulated
  lockpick claims --only 35,39,46                  these three
  lockpick claims --driver process --budget quick  on real redis-server processes
  lockpick claims --lock redlock-one-start         another lock in place of redlock: which claims fail?
  lockpick claims --client redis-py --only 3,29    a lock behind a command, on redis-server processes
  lockpick claims --mutants                        are all planted bugs caught?
  lockpick claims --catalogue my-claims.yaml       claims about your own lock
  lockpick claims --baseline claims-baseline.json  what changed since then? (written if missing)
  lockpick claims --shard 1/2 --out part-1.json    half of them; then: lockpick claims part-*.json
  lockpick claims --junit claims.xml --html claims.html --evidence unexpected`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return claimsParts(cmd, args, flags)
			}
			return runClaims(cmd, flags)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&flags.only, "only", nil, "ids or slugs of claims, such as 35,39 (default: all)")
	f.StringVar(&flags.lock, "lock", "", "verify the claims about redlock (of a lock on one master: those about single) with this lock instead; each that fails is a diagnosis")
	f.StringVar(&flags.client, "client", "", "the same with the lock behind a command, or a client that comes with Lockpick (needs real masters)")
	f.StringVar(&flags.Driver, "driver", scenario.Sim, "driver of the masters: "+strings.Join(scenario.Drivers, ", "))
	f.StringVar(&flags.Budget, "budget", search.Quick, "how much to try: "+strings.Join(search.Budgets, ", "))
	f.IntVar(&flags.Most, "most", 0, "schedules to try of each case, at most (default: what the budget allows)")
	f.Uint64Var(&flags.Seed, "seed", 1, "seed of all random choices")
	f.BoolVar(&flags.mutants, "mutants", false, "the planted bugs instead of the claims: is each caught, and the lock without it acquitted?")
	f.StringSliceVar(&flags.catalogue, "catalogue", []string{claims.BuiltIn}, "files of claims; "+claims.BuiltIn+" stands for the built-in ones")
	f.StringVar(&flags.baseline, "baseline", "", "file with an earlier result to compare with; written if it does not exist")
	f.BoolVar(&flags.updateBaseline, "update-baseline", false, "replace the baseline with this result")
	outputFlag(cmd, &flags.junit, "junit", "", "write JUnit XML to this file")
	outputFlag(cmd, &flags.html, "html", "", "write the page of all claims to this file too")
	f.StringVar(&flags.evidence, "evidence", claims.KeepAll, "which findings keep their run, 2 MB each: "+strings.Join(claims.Keeps, ", ")+" (undecided counts as unexpected)")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON object on stdout instead of the table")
	f.IntVar(&flags.Workers, "workers", 0, "schedules at a time (default: as many as processors; on real masters more while the processors are idle)")
	softwareFlags(cmd, &flags.Masters)
	f.DurationVar(&flags.timeLimit, "time-limit", 0, "end after this time; what was not tried by then is undecided (default: no limit)")
	flags.programs.flag(cmd, "a catalogue")
	flags.shard.register(cmd, "claims")
	storeFlag(cmd, &flags.store)
	return cmd
}

func runClaims(cmd *cobra.Command, flags claimsFlags) error {
	if flags.updateBaseline && flags.baseline == "" {
		return usageError{errors.New("--update-baseline needs --baseline FILE: which one?")}
	}
	all, err := claims.Load(flags.catalogue...)
	if err != nil {
		return usageError{err}
	}
	whole := all
	if all, err = inPlace(cmd, all, &flags); err != nil {
		return err
	}
	chosen, err := choose(all, whole, flags)
	if err != nil {
		return usageError{err}
	}
	before, err := baselineAt(flags.baseline, claims.ReadResult)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if flags.Driver == scenario.Sim {
		collectLessOften()
	}
	show := newProgress()
	flags.Drivers, flags.Store, flags.Progress, flags.Live, flags.Report = drivers(), campaign.Store{Dir: flags.store}, show.line, show.steps, writeReport
	opt := claims.Options{
		JobOptions: flags.JobOptions, Keep: flags.evidence, Client: []string{self, "client"}, Trust: flags.programs.allow,
		Done: func(c *claims.ClaimResult, _ search.ShardFolder) {
			if c.Outcome == claims.Unexpected || c.Outcome == claims.Undecided {
				show.line("claim %s is %s: %s", c.ID, c.Outcome, firstWhy(c))
			}
		},
	}
	ctx := cmd.Context()
	named := scenario.Scenario{Driver: scenario.Auto}
	named.UseSoftware(flags.Masters)
	flags.programs.grant(campaign.Programs(&named)...)
	if err := flags.programs.ask(ctx, strings.Join(flags.catalogue, ", "), claims.Programs(chosen, opt)); err != nil {
		return err
	}
	if flags.timeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flags.timeLimit)
		defer cancel()
	}
	if flags.shard.given() {
		return runShard(flags.shard, func(s search.Shard) (*search.Part[claims.Sharded], error) { return claims.NewPart(chosen, opt, s) },
			func(s search.Shard, p *search.Part[claims.Sharded]) error {
				defer show.done()
				return claims.Shard(ctx, chosen, opt, s, p)
			})
	}
	r, err := claims.Verify(ctx, chosen, opt)
	show.done()
	if err != nil {
		return err
	}
	return reportClaims(cmd.OutOrStdout(), all, r, before, flags)
}

// inPlace substitutes the lock of --lock or --client for the lock that the catalogue's claims are about:
// redlock, or single if the new lock lives on one master.
func inPlace(cmd *cobra.Command, all []claims.Claim, flags *claimsFlags) ([]claims.Claim, error) {
	if flags.Masters.Server != "" && !cmd.Flags().Changed("driver") {
		flags.Driver = scenario.Process
	}
	if flags.lock == "" && flags.client == "" {
		return all, nil
	}
	r := claims.Replacement{Lock: flags.lock, For: scenario.Defaults().Lock}
	kind, known := workload.LockNamed(flags.lock)
	can := workload.Hello{Can: workload.Abilities}
	if flags.client != "" {
		if !cmd.Flags().Changed("driver") {
			flags.Driver = scenario.Process
		}
		words, err := clientCommandOf(flags.client)
		if err != nil {
			return nil, usageError{fmt.Errorf("--client: %w", err)}
		}
		s := scenario.Defaults()
		s.Client, s.Driver, s.Lock = words, flags.Driver, cmp.Or(flags.lock, s.Lock)
		s.UseSoftware(flags.Masters)
		flags.programs.grant(campaign.Programs(&s)...)
		if r.Lock, can, err = campaign.Meet(cmd.Context(), s, campaign.Options{Drivers: drivers(), Trust: flags.programs.allow}); err != nil {
			return nil, err
		}
		r.Client, kind.Masters, kind.Fencing = words, can.Masters, can.Has(workload.CanFence)
	} else if !known {
		return nil, usageError{fmt.Errorf("--lock: there is no lock %q (see: lockpick list locks)", flags.lock)}
	}
	if kind.Masters == workload.OneMaster {
		r.For = "single"
	}
	r.Lacks = func(s *scenario.Scenario) string { return lacks(s, kind, &can, flags.client != "") }
	return claims.InPlace(all, r), nil
}

// lacks names the first feature that a scenario needs and a lock does not have, or returns "".
func lacks(s *scenario.Scenario, kind workload.Implementation, can *workload.Hello, foreign bool) string {
	switch {
	case s.Fencing && !kind.Fencing:
		return "the lock gives no fencing tokens"
	case kind.Masters == workload.OneMaster && s.Masters > 1:
		return "the lock lives on one master"
	case s.Extend > 0 && !can.Has(workload.CanExtend):
		return "its leases cannot be extended"
	case s.Wait > 0 && foreign:
		return "it does not wait for replicas"
	case slices.ContainsFunc(s.FaultNames(), fault.SkewsClients) && (kind.Connects || !can.Skews()):
		return "the clocks of its clients cannot be changed"
	}
	for _, step := range s.Schedule {
		if inside := step.Point == workload.AfterQuorum || step.Point == workload.BetweenCommands; inside && !can.Has(workload.CanPoints) {
			return "its clients do not tell at which step they are"
		}
	}
	if err := can.Lifespan.Fits(s.TTL); err != nil {
		return err.Error()
	}
	return ""
}

// choose selects the claims to verify: those that --only names; otherwise, with --mutants, the claims about
// planted bugs, and without it all others. whole is the catalogue before another lock was substituted. It
// distinguishes a claim about other locks from a name that does not exist.
func choose(all, whole []claims.Claim, flags claimsFlags) ([]claims.Claim, error) {
	var chosen []claims.Claim
	found := map[string]bool{}
	for _, c := range all {
		named := slices.ContainsFunc(flags.only, func(name string) bool {
			name = strings.TrimPrefix(strings.TrimSpace(name), "#")
			if name != c.ID && name != c.Slug {
				return false
			}
			found[name] = true
			return true
		})
		if len(flags.only) == 0 && c.Bug != flags.mutants || len(flags.only) > 0 && !named {
			continue
		}
		chosen = append(chosen, c)
	}
	for _, name := range flags.only {
		if name = strings.TrimPrefix(strings.TrimSpace(name), "#"); found[name] {
			continue
		}
		if slices.ContainsFunc(whole, func(c claims.Claim) bool { return name == c.ID || name == c.Slug }) {
			var ids []string
			for _, c := range all {
				ids = append(ids, c.ID)
			}
			return nil, fmt.Errorf("--only: claim %s is about other locks than this one. About it are %s", name, strings.Join(ids, ", "))
		}
		return nil, fmt.Errorf("--only: there is no claim %q (see: lockpick list claims)", name)
	}
	if len(chosen) == 0 {
		return nil, errors.New("the catalogue has no such claims")
	}
	return chosen, nil
}

// reportClaims writes the requested outputs and the baseline, prints the result to out, and returns the
// command's outcome.
func reportClaims(out io.Writer, all []claims.Claim, r, before *claims.Result, flags claimsFlags) error {
	others := claims.Latest(campaign.Store{Dir: flags.store}, r.Folder)
	delete(others, r.Driver)
	writePage := func(w io.Writer, dir string) error { return claims.WritePage(w, dir, all, r, others) }
	page := filepath.Join(r.Folder, "index.html")
	if err := writeStored(page, writePage); err != nil {
		return err
	}
	if err := (outputs{{flags.html, writePage}, {flags.junit, func(w io.Writer, _ string) error { return claims.JUnit(w, r) }}}).write(); err != nil {
		return err
	}
	if flags.html != "" && !isStdout(flags.html) {
		page = flags.html
	}
	var changes []claims.Change
	if before != nil {
		changes = r.Compare(before)
	}
	if err := keepBaseline(flags.baseline, before == nil || flags.updateBaseline, r.Interrupted, r.WriteBaseline, "later runs say what changed"); err != nil {
		return err
	}
	if err := printClaims(out, r, before, changes, page, flags); err != nil {
		return err
	}
	return claimsExit(r, changes)
}

func printClaims(out io.Writer, r, before *claims.Result, changes []claims.Change, page string, flags claimsFlags) error {
	if flags.asJSON {
		return term.WriteJSON(out, struct {
			*claims.Result
			Changes []claims.Change `json:"changes"`
			Page    string          `json:"page"`
		}{r, append([]claims.Change{}, changes...), page})
	}
	width, color := terminal()
	opt := term.Options{Width: width, Color: color}
	table := claims.Terminal
	if flags.mutants {
		table = claims.PlantedBugs
	}
	if err := table(out, r, opt); err != nil {
		return err
	}
	if before != nil {
		if err := claims.WriteChanges(out, changes, flags.baseline, opt); err != nil {
			return err
		}
	}
	what := map[string]string{
		claims.KeepAll: "Evidence for every finding", claims.KeepViolated: "Evidence for violations and what was not expected",
		claims.KeepUnexpected: "Evidence for what was not expected", claims.KeepNone: "All findings",
	}[flags.evidence]
	if n := r.Count(); flags.evidence == claims.KeepUnexpected && n[claims.Unexpected]+n[claims.Undecided] == 0 {
		what = "All findings (nothing was unexpected: no evidence is kept)"
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", what, page)
	return err
}

// claimsExit turns the outcomes, and the verdicts that differ from the baseline, into the command's outcome.
func claimsExit(r *claims.Result, changes []claims.Change) error {
	n := r.Count()
	switch {
	case n[claims.Unexpected] > 0 || slices.ContainsFunc(changes, func(c claims.Change) bool { return c.Verdict }):
		return verdictError(checker.Violated)
	case n[claims.Undecided] > 0 || r.Interrupted || n[claims.NotHere] == len(r.Claims):
		return verdictError(checker.Unknown)
	}
	return nil
}

func firstWhy(c *claims.ClaimResult) string {
	for _, k := range c.Cases {
		findings := slices.Clone(k.Findings)
		if k.Twin != nil {
			findings = append(findings, k.Twin.Findings...)
		}
		for _, f := range findings {
			if f.Outcome == c.Outcome {
				return cmp.Or(f.Why, f.Summary)
			}
		}
	}
	return ""
}
