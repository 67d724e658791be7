package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/claims"
	"lockpick/internal/plural"
	"lockpick/search"
)

// shardFlags are the flags of a command whose work can be split into shards.
type shardFlags struct{ shard, out string }

// register adds the flags.
func (f *shardFlags) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.shard, "shard", "", "do one shard of many: its index from 1 and their number, as in 3/64 (default with --out: what the environment of a job array says)")
	outputFlag(cmd, &f.out, "out", "", "write what the shard found of the "+what+" to this file; lockpick "+cmd.Name()+" with all such files says what they found together")
}

// given reports whether the command does one shard.
func (f *shardFlags) given() bool { return f.shard != "" || f.out != "" }

// which returns the shard, and where it was named: in --shard, or in the environment of a job array.
func (f *shardFlags) which() (s search.Shard, from string, err error) {
	if f.out == "" {
		return s, "", usageError{errors.New("--shard: a shard alone says little: add --out with the file for what it finds")}
	}
	if f.shard != "" {
		s, err = search.ParseShard(f.shard)
		from = "--shard"
	} else {
		s, from, err = search.ShardFrom(os.Getenv)
		from = cmp.Or(from, "--out alone")
	}
	if err != nil {
		return s, from, usageError{fmt.Errorf("--shard: %w", err)}
	}
	return s, from, nil
}

// runShard does the units of a shard that its file does not have, and appends their results to it. newPart makes the part
// of the job without results; run does what is left.
func runShard[R any](f shardFlags, newPart func(search.Shard) (*search.Part[R], error), run func(search.Shard, *search.Part[R]) error) (err error) {
	s, from, err := f.which()
	if err != nil {
		return err
	}
	p, err := newPart(s)
	if err != nil {
		return usageError{err}
	}
	path := f.out
	if isStdout(path) {
		path = "/dev/stdout"
	}
	closeFile, err := p.Open(path)
	if err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	fmt.Fprintf(os.Stderr, "shard %v (%s): %d of its %s to do\n", s, from, len(p.Left(s)), p.Kind)
	if err := run(s, p); err != nil {
		return flagProblem(err)
	}
	fmt.Fprintf(os.Stderr, "written to %s\n", outputName(f.out))
	if n := len(p.Left(s)); n > 0 {
		return undecidedError{Verdict: checker.Unknown, Why: fmt.Sprintf("%d of the shard's %s are left: the same command goes on", n, p.Kind)}
	}
	return nil
}

// hasParts reports whether one of the arguments is a file of a part: then all must be.
func hasParts(args []string) bool { return slices.ContainsFunc(args, search.IsPart) }

// onlyFlags returns an error if a flag is given that is not among these.
func onlyFlags(cmd *cobra.Command, these []string, why string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(these, f.Name) {
			err = usageError{fmt.Errorf("--%s %s", f.Name, why)}
		}
	})
	return err
}

// saidByParts is why a command that reads parts does not take a flag.
const saidByParts = "cannot be combined with parts: they say what was tried"

// withParts lists the flags of a command that reads parts: those that say where the result goes, and some more.
func withParts(more ...string) []string {
	return append(more, "store", "json", "html", "junit", "markdown", "baseline", "update-baseline")
}

// readParts reads parts, and prints what is to be known about them.
func readParts[R any](kind string, files []string) (*search.Part[R], error) {
	p, notes, err := search.ReadParts[R](kind, files...)
	if err != nil {
		return nil, usageError{err}
	}
	for _, n := range append(notes, p.Missing()...) {
		fmt.Fprintln(os.Stderr, n)
	}
	return p, nil
}

// noteElsewhere prints how many findings have their runs on other machines.
func noteElsewhere(elsewhere int) {
	if elsewhere > 0 {
		fmt.Fprintf(os.Stderr, "the runs of %s are not on this machine: they stay where the shards have them\n", plural.Count(elsewhere, "finding", "findings"))
	}
}

// searchParts shows what the shards of an exploration found together.
func searchParts(cmd *cobra.Command, files []string, store string, shrink, asJSON bool) error {
	if err := onlyFlags(cmd, withParts("no-shrink"), saidByParts); err != nil {
		return err
	}
	p, err := readParts[search.Share](search.ExploreKind, files)
	if err != nil {
		return err
	}
	x, base, err := search.Explored(p)
	if err != nil {
		return usageError{err}
	}
	return reportExplored(cmd, base, x, campaign.Store{Dir: store}, shrink, asJSON)
}

// claimsParts shows what the shards of a verification found together.
func claimsParts(cmd *cobra.Command, files []string, flags claimsFlags) error {
	if err := onlyFlags(cmd, withParts("catalogue", "mutants"), saidByParts); err != nil {
		return err
	}
	p, err := readParts[claims.Sharded](claims.ShardKind, files)
	if err != nil {
		return err
	}
	all, err := claims.Load(flags.catalogue...)
	if err != nil {
		return usageError{err}
	}
	before, err := baselineAt(flags.baseline, claims.ReadResult)
	if err != nil {
		return err
	}
	r, elsewhere, err := claims.Merged(p, all, campaign.Store{Dir: flags.store})
	if err != nil {
		return usageError{err}
	}
	noteElsewhere(elsewhere)
	return reportClaims(cmd.OutOrStdout(), all, r, before, flags)
}

// auditParts shows what the shards of an audit found together.
func auditParts(cmd *cobra.Command, files []string, flags auditFlags) error {
	if err := onlyFlags(cmd, withParts("strict"), saidByParts); err != nil {
		return err
	}
	p, err := readParts[audit.Sharded](audit.ShardKind, files)
	if err != nil {
		return err
	}
	before, err := baselineAt(flags.baseline, audit.ReadResult)
	if err != nil {
		return err
	}
	r, elsewhere, err := audit.Merged(p, campaign.Store{Dir: flags.store})
	if err != nil {
		return usageError{err}
	}
	noteElsewhere(elsewhere)
	judged, err := audit.Judge(r, before, flags.strict)
	if err != nil {
		return usageError{fmt.Errorf("--baseline %s: %w", flags.baseline, err)}
	}
	return reportAudit(cmd.OutOrStdout(), judged, flags)
}
