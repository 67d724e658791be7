package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/reports"
	"lockpick/search"
)

// exploreShard searches one shard of an exploration and writes its part. If the file has the
// shard's part already, the search goes on where that ends.
func exploreShard(cmd *cobra.Command, e search.ExploreOptions, shard, out string) (err error) {
	if e.Schedules == 0 {
		return usageError{errors.New("--schedules: say how many all shards have together; --time-limit then limits each of them")}
	}
	engine := ""
	if shard != "" {
		e.Shard, err = search.ParseShard(shard)
	} else {
		e.Shard, engine, err = search.ShardFrom(os.Getenv)
	}
	if err != nil {
		return usageError{fmt.Errorf("--shard: %w", err)}
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
	from := "--shard"
	if engine != "" {
		from = engine
	}
	fmt.Fprintf(os.Stderr, "shard %v (%s), seed %d\n", e.Shard, from, e.Base.Seed)
	if e.Resume != nil {
		fmt.Fprintf(os.Stderr, "%s has %d of its schedules: going on from there\n", out, e.Resume.Done)
	}
	roomy()
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
	if err := writeWhole(out, part.Write); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d schedules, %d distinct violations: written to %s\n", x.Schedules, len(x.Found), out)
	if x.Interrupted || x.OutOfTime {
		return verdictError(checker.Unknown)
	}
	return nil
}

// earlier is what the file has of the shard already; nil: there is no such file. It fails if the
// file is not of this exploration: it is not overwritten.
func earlier(part *search.Part, s search.Shard, file string) (*search.Share, error) {
	before, err := readPart(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		_, _, err = search.Merge(part, before)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: %s is there and cannot be resumed: %w", file, err)
	}
	return before.Shares[s.Index], nil
}

func readPart(file string) (*search.Part, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return search.ReadPart(f)
}

func mergeCommand() *cobra.Command {
	var store, out string
	var noShrink, asJSON bool
	cmd := &cobra.Command{
		Use:   "merge PART.json ...",
		Short: "Unite what the shards of an exploration found",
		Long: `Merge reads the files that explore --shard … --out wrote, or that merge itself wrote, and judges
them as if one machine had done it all: the counts and bounds are those of the whole. The order of
the files does not matter, and a shard that occurs twice counts once. Distinct violations are united;
the counterexample of each is shrunk and kept as a run in the store.

Files of other versions, scenarios or seeds are refused. Missing shards are named, and nothing holds
while one is missing.

Exit codes: 0 none violates the property, 1 one does, 2 shards are missing, or the schedules prove
nothing.`,
		Example: `  lockpick merge part-*.json
  lockpick merge part-*.json --out merged.json --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
				if err := writeWhole(out, whole.Write); err != nil {
					return err
				}
			}
			x, base, err := whole.Explored()
			if err != nil {
				return usageError{err}
			}
			if !asJSON {
				if err := reports.Explored(os.Stdout, base, x, terminalOptions()); err != nil {
					return err
				}
			}
			return tellFound(cmd.Context(), x, campaign.Store{Dir: store}, !noShrink, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&out, "out", "", "also write the merged part to this file")
	f.BoolVar(&noShrink, "no-shrink", false, "keep violations as they were found")
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}
