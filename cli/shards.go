package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/claims"
	"lockpick/internal/otherfile"
	"lockpick/reports"
	"lockpick/search"
)

// exploreShard searches one shard of an exploration and writes its part. If the file already contains the
// shard, the search resumes where it ended.
func exploreShard(cmd *cobra.Command, e search.ExploreOptions, shard, out string) (err error) {
	if e.Schedules == 0 {
		return usageError{errors.New("--schedules: say how many all shards have together; --time-limit then limits each of them")}
	}
	var from string
	if e.Shard, from, err = shardOf(shard); err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") && cmd.Flags().NArg() == 0 && !e.Shard.Whole() {
		return usageError{errors.New("--seed: shards need the same seed: choose one, for all of them")}
	}
	part, err := search.NewPart(e)
	if err != nil {
		return usageError{err}
	}
	if e.Resume, err = earlier(part, e.Shard, out); err != nil {
		return usageError{err}
	}
	fmt.Fprintf(os.Stderr, "shard %v (%s), seed %d\n", e.Shard, from, e.Base.Seed)
	if e.Resume != nil {
		fmt.Fprintf(os.Stderr, "%s has %d of its schedules: going on from there\n", out, e.Resume.Done)
	}
	collectLessOften()
	show := newProgress()
	e.Live = show.exploring
	x, err := search.Explore(cmd.Context(), e)
	show.done()
	if err != nil {
		return err
	}
	if err := part.Add(e.Shard, x); err != nil {
		return err
	}
	if err := writeOutput(out, alone(part.Write)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d schedules, %d distinct violations: written to %s\n", x.Schedules, len(x.Found), outputName(out))
	if x.Interrupted || x.OutOfTime {
		return verdictError(checker.Unknown)
	}
	return nil
}

// shardFlags adds the flags of a command whose work can be split into shards.
func shardFlags(cmd *cobra.Command, shard, out *string, what string) {
	cmd.Flags().StringVar(shard, "shard", "", "do one shard of many: its index from 1 and their number, as in 3/64 (default with --out: what the environment of a job array says)")
	outputFlag(cmd, out, "out", "", "write what the shard found of the "+what+" to this file, for lockpick merge")
}

// shardOf returns the shard, and where it was named: in --shard, or in the environment of a job array.
func shardOf(flag string) (s search.Shard, from string, err error) {
	if flag != "" {
		s, err = search.ParseShard(flag)
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

// batchShard does the remaining units of one shard, and writes the part. part describes the whole batch, with
// nothing done; run does some units and adds their results to it.
func batchShard[R any](part *search.Batch[R], s search.Shard, from, out string, run func(units []string) (interrupted bool, err error)) error {
	if out == "" {
		return usageError{errors.New("--shard: a shard alone says little: add --out with the file that lockpick merge will read")}
	}
	before, err := earlierBatch(part, out)
	if err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	if before != nil {
		part.Done = before.Done
	}
	left := part.Left(s)
	fmt.Fprintf(os.Stderr, "shard %v (%s): %d to do\n", s, from, len(left))
	interrupted := false
	if len(left) > 0 {
		var err error
		if interrupted, err = run(left); err != nil {
			return err
		}
	}
	if err := writeOutput(out, alone(part.Write)); err != nil {
		return err
	}
	left = part.Left(s)
	fmt.Fprintf(os.Stderr, "written to %s\n", outputName(out))
	if interrupted || len(left) > 0 {
		return verdictError(checker.Unknown)
	}
	return nil
}

// resumable reports whether the file of a part exists: stdout, devices and pipes are only written.
func resumable(file string) bool {
	info, err := os.Stat(file)
	return !isStdout(file) && (err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular())
}

// earlierBatch returns what the file already contains of a batch, or nil if there is no such file. It fails if the
// file belongs to another batch, so that the caller does not overwrite it.
func earlierBatch[R any](part *search.Batch[R], file string) (before *search.Batch[R], err error) {
	if !resumable(file) {
		return nil, nil
	}
	text, err := otherfile.Read(file, otherfile.MaxPart)
	if err != nil {
		return nil, err
	}
	if before, err = search.ParseBatch[R](part.Kind, text); err == nil {
		_, _, err = search.MergeBatches(part, before)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is there and cannot be resumed: %w", file, err)
	}
	return before, nil
}

// claimsShard verifies one shard of the claims.
func claimsShard(ctx context.Context, all []claims.Claim, opt claims.Options, flags claimsFlags, show *claimsProgress) error {
	s, from, err := shardOf(flags.shard)
	if err != nil {
		return err
	}
	part, err := claims.NewShard(all, opt, s)
	if err != nil {
		return usageError{err}
	}
	return batchShard(part, s, from, flags.out, func(units []string) (bool, error) {
		mine := slices.DeleteFunc(slices.Clone(all), func(c claims.Claim) bool { return !slices.Contains(units, c.ID) })
		r, err := claims.Verify(ctx, mine, opt)
		show.done()
		if err != nil {
			return false, err
		}
		return r.Interrupted, claims.AddShard(part, r)
	})
}

// auditShard audits one shard of the situations.
func auditShard(ctx context.Context, flags auditFlags, show *auditProgress) error {
	s, from, err := shardOf(flags.shard)
	if err != nil {
		return err
	}
	part, err := audit.NewShard(flags.Options, s)
	if err != nil {
		return usageError{err}
	}
	return batchShard(part, s, from, flags.out, func(units []string) (bool, error) {
		opt := flags.Options
		opt.Only = units
		r, err := audit.Run(ctx, opt)
		show.done()
		if err != nil {
			return false, flagProblem(err)
		}
		return r.Interrupted, audit.AddShard(part, r)
	})
}

// readBatches reads the parts of one kind, merges them, prints what is missing, and writes the merged part to
// the file out unless that is empty.
func readBatches[R any](kind string, files []string, merge func(...*search.Batch[R]) (*search.Batch[R], []string, error), out string) (whole *search.Batch[R], err error) {
	var parts []*search.Batch[R]
	for _, file := range files {
		text, err := otherfile.Read(file, otherfile.MaxPart)
		if err != nil {
			return nil, usageError{err}
		}
		p, err := search.ParseBatch[R](kind, text)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
		parts = append(parts, p)
	}
	whole, notes, err := merge(parts...)
	if err != nil {
		return nil, usageError{err}
	}
	for _, n := range append(notes, whole.Missing()...) {
		fmt.Fprintln(os.Stderr, n)
	}
	if out != "" {
		return whole, writeOutput(out, alone(whole.Write))
	}
	return whole, nil
}

// noteAway prints how many findings have their runs on other machines.
func noteAway(away int) {
	if away > 0 {
		fmt.Fprintf(os.Stderr, "the runs of %s are not on this machine: they stay where the shards have them\n", search.Counted(away, "finding", "findings"))
	}
}

// mergeClaims merges the parts of a verification and prints the result to screen.
func mergeClaims(screen io.Writer, files, catalogues []string, store, out string, asJSON bool) error {
	whole, err := readBatches[claims.Sharded](claims.ShardKind, files, search.MergeBatches, out)
	if err != nil {
		return err
	}
	all, err := claims.Load(catalogues...)
	if err != nil {
		return usageError{err}
	}
	r, away, err := claims.Merged(whole, all, campaign.Store{Dir: store})
	if err != nil {
		return usageError{err}
	}
	noteAway(away)
	return reportClaims(screen, all, r, nil, claimsFlags{store: store, asJSON: asJSON, evidence: claims.KeepAll})
}

// mergeAudit merges the parts of an audit and prints the result to screen.
func mergeAudit(screen io.Writer, files []string, store, out string, asJSON bool) error {
	whole, err := readBatches[audit.Sharded](audit.ShardKind, files, search.MergeBatches, out)
	if err != nil {
		return err
	}
	r, away, err := audit.Merged(whole, campaign.Store{Dir: store})
	if err != nil {
		return usageError{err}
	}
	noteAway(away)
	return reportAudit(screen, &audit.Judged{Result: r}, auditFlags{store: store, asJSON: asJSON})
}

// earlier returns what the file already contains of the shard, or nil if there is no such file. It fails if
// the file belongs to another exploration, so that the caller does not overwrite it.
func earlier(part *search.Part, s search.Shard, file string) (*search.Share, error) {
	if !resumable(file) {
		return nil, nil
	}
	before, err := readPart(file)
	if err == nil {
		_, _, err = search.Merge(part, before)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: %s is there and cannot be resumed: %w", file, err)
	}
	return before.Shares[s.Index], nil
}

func readPart(file string) (*search.Part, error) {
	text, err := otherfile.Read(file, otherfile.MaxPart)
	if err != nil {
		return nil, err
	}
	return search.ReadPart(bytes.NewReader(text))
}

func mergeCommand() *cobra.Command {
	var store, out string
	var noShrink, asJSON bool
	var catalogues []string
	cmd := &cobra.Command{
		Use:   "merge PART.json ...",
		Short: "Unite what the shards of search, claims or audit found",
		Long: `Merge reads the files that search, claims or audit --shard … --out wrote, or that merge
itself wrote, and judges them as if one machine had done it all: the counts and bounds are those of the
whole. The order of the files does not matter, and a shard that occurs twice counts once. Of an
exploration distinct violations are united; the counterexample of each is shrunk and kept as a run in
the store. Of claims and audits the evidence is copied from the shards' stores where they are
on this machine.

Files of other versions, scenarios, bounds or seeds are refused. Missing shards are named, and nothing
holds while one is missing.

Exit codes: those of the command whose shards they are; 2 also if shards are missing.`,
		Example: `  lockpick merge part-*.json
  lockpick merge part-*.json --out merged.json --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			screen := cmd.OutOrStdout()
			first, err := otherfile.Read(args[0], otherfile.MaxPart)
			if err != nil {
				return usageError{err}
			}
			switch search.KindOf(first) {
			case claims.ShardKind:
				return mergeClaims(screen, args, catalogues, store, out, asJSON)
			case audit.ShardKind:
				return mergeAudit(screen, args, store, out, asJSON)
			}
			var parts []*search.Part
			for _, file := range args {
				p, err := readPart(file)
				if err != nil {
					return usageError{fmt.Errorf("%s: %w", file, err)}
				}
				parts = append(parts, p)
			}
			whole, notes, err := search.Merge(parts...)
			if err != nil {
				return usageError{err}
			}
			for _, n := range notes {
				fmt.Fprintln(os.Stderr, n)
			}
			if out != "" {
				if err := writeOutput(out, alone(whole.Write)); err != nil {
					return err
				}
			}
			x, base, err := whole.Explored()
			if err != nil {
				return usageError{err}
			}
			if !asJSON {
				if err := reports.Explored(screen, base, x, terminalOptions()); err != nil {
					return err
				}
			}
			return reportFound(cmd.Context(), screen, x, campaign.Store{Dir: store}, !noShrink, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	outputFlag(cmd, &out, "out", "", "also write the merged part to this file")
	f.BoolVar(&noShrink, "no-shrink", false, "keep violations as they were found")
	f.StringSliceVar(&catalogues, "catalogue", []string{claims.BuiltIn}, "files of claims, if those that were sharded are not the built-in ones")
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}
