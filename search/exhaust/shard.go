package exhaust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/search"
)

// ShardKind is the Kind of the parts of an exhaustive search.
const ShardKind = "exhaust"

// Part is the result of some shards of an exhaustive search. Its units are the shards' indices.
type Part = search.Batch[Share]

// Share is the result of one shard.
type Share struct {
	outcome
	States Distinct `json:"states"`           // the visited states
	Resume []byte   `json:"resume,omitempty"` // a checkpoint, if the shard was cut short
}

// CutBy returns why the shard ended early, or "" if it is complete.
func (s Share) CutBy() string { return s.Cut }

// Reached returns the number of runs, and the largest integer if the shard is complete. The numbers are
// comparable, because a shard makes the same runs in the same order each time.
func (s Share) Reached() int64 {
	if s.Cut == "" {
		return math.MaxInt64
	}
	return int64(s.Before.Runs + s.Own.Runs)
}

// Visited returns how many states the shard has visited, including the common ones.
func (s Share) Visited() int { return s.Before.States + s.Own.States }

// Summary describes the shard's result.
func (s Share) Summary(b Bounds) string {
	switch {
	case s.Failed != nil:
		return "a call of the lock failed (" + s.Failed.Property + ")"
	case s.Found != nil:
		return fmt.Sprintf("the shortest violation has %s and is at tick %d", search.Counted(s.Found.Faults, "fault", "faults"), s.Found.At/b.Tick)
	}
	return "no violation"
}

// ShardCounts counts the shards of a merged result.
type ShardCounts struct {
	Shards  int
	Found   int      // shards with a result
	Again   int      // visits of states that another shard visited, too
	Exact   bool     // whether Again and the number of states are exact
	Missing []string // shards that are missing or were cut short
}

// NewPart returns a part of a search without results. It fails with a *scenario.Problem if the options are
// invalid.
func NewPart(e Options) (*Part, error) {
	s, err := e.begin()
	if err != nil {
		return nil, err
	}
	if e.Shard.Count > s.Prefixes {
		return nil, &scenario.Problem{Field: "shard", Says: fmt.Sprintf("%d shards are too many: a search is divided among at most %d", e.Shard.Count, s.Prefixes)}
	}
	bounds, err := json.Marshal(e.Bounds)
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	of := map[string]string{"command": e.Bounds.Command(), "details": string(bounds), "number of prefixes": strconv.Itoa(s.Prefixes)}
	var units []string
	for i := range max(1, e.Shard.Count) {
		units = append(units, strconv.Itoa(i+1))
	}
	return search.NewBatch[Share](ShardKind, of, units, e.Shard), nil
}

// boundsIn returns the bounds of a part, and checks that the part is consistent. Its errors wrap
// search.ErrParts.
func boundsIn(p *Part) (b Bounds, err error) {
	if err = json.Unmarshal([]byte(p.Of["details"]), &b); err == nil {
		err = b.Check()
	}
	if err == nil && b.Command() != p.Of["command"] {
		err = errors.New("they are not those of the command")
	}
	if err == nil && len(p.Units) != p.Shards {
		err = errors.New("not every shard is in it")
	}
	if err != nil {
		return b, fmt.Errorf("%w: the bounds: %w", search.ErrParts, err)
	}
	return b, nil
}

// RunShard searches the shard of the options, and replaces its result in the part. A shard that was cut short
// continues where it ended.
func RunShard(ctx context.Context, e Options, part *Part) error {
	s, err := e.begin()
	if err != nil {
		return err
	}
	unit := strconv.Itoa(e.Shard.Index)
	if before, ok := part.Done[unit]; ok {
		if err := s.resume(before.Resume); err != nil {
			return err
		}
	}
	cut, err := s.search(ctx)
	if err != nil {
		return &judge.HarnessError{Err: err}
	}
	share := Share{outcome: s.outcome(cut), States: s.distinct()}
	if cut != "" {
		if share.Resume, err = s.checkpoint(); err != nil {
			return &judge.HarnessError{Err: err}
		}
	}
	part.Done[unit] = share
	return nil
}

// Merge merges parts of one search, whatever their order and grouping. The notes name the shards that occur
// more than once. It fails with search.ErrParts if parts are of different searches or versions, or contradict
// each other. No shard can be resumed from the merged part.
func Merge(parts ...*Part) (whole *Part, notes []string, err error) {
	for _, p := range parts {
		if _, err := boundsIn(p); err != nil {
			return nil, nil, err
		}
		for unit, s := range p.Done {
			if s.States.Level < 0 || s.States.Level > maxLevel {
				return nil, nil, fmt.Errorf("%w: shard %s counts states in a way that this version does not know", search.ErrParts, unit)
			}
		}
	}
	if whole, notes, err = search.MergeBatches(parts...); err != nil {
		return nil, nil, err
	}
	for _, p := range parts {
		for unit, s := range p.Done {
			if known := whole.Done[unit]; s.Cut == "" && !known.agrees(s) {
				return nil, nil, fmt.Errorf("%w: shard %s occurs twice, with different results", search.ErrParts, unit)
			}
		}
	}
	level := united(whole).Level
	for unit, s := range whole.Done {
		s.Resume, s.States = nil, s.States.atLevel(level)
		whole.Done[unit] = s
	}
	return whole, notes, nil
}

// agrees reports whether another result of the same shard is equal, except for the time. Two failed calls
// always agree: one that stopped virtual time may be another call each time.
func (s Share) agrees(with Share) bool {
	if s.Failed != nil && with.Failed != nil {
		return true
	}
	level := max(s.States.Level, with.States.Level)
	var text [2]string
	for i, x := range []Share{s, with} {
		x.Elapsed, x.Resume, x.States = 0, nil, x.States.atLevel(level)
		b, _ := json.Marshal(x) // the stored form
		text[i] = string(b)
	}
	return text[0] == text[1]
}

// united returns all states that the shards of a part have visited.
func united(p *Part) Distinct {
	var all []Distinct
	for _, s := range p.Done {
		all = append(all, s.States)
	}
	return unite(all...)
}

// Merged returns the result of the whole search. If a shard is missing or was cut short, the property does
// not hold.
func Merged(p *Part) (*Result, error) {
	b, err := boundsIn(p)
	if err != nil {
		return nil, err
	}
	missing := p.Missing()
	all := outcome{Cut: strings.Join(missing, "; ")}
	for _, unit := range p.Units {
		s, ok := p.Done[unit]
		if !ok {
			continue
		}
		all.Elapsed += s.Elapsed
		all.Own = all.Own.plus(s.Own)
		if s.Before.Runs > all.Before.Runs { // fewer: cut short before the division
			all.Before = s.Before
		}
		if s.Found.shorter(all.Found) {
			all.Found = s.Found
		}
		if s.Failed.earlier(all.Failed) {
			all.Failed = s.Failed
		}
	}
	r := &Result{Bounds: b, Judged: b.judged(), Elapsed: all.Elapsed}
	r.count(all.Before.plus(all.Own))
	states, exact := united(p).Count()
	r.Shards = &ShardCounts{Shards: p.Shards, Found: len(p.Done), Again: max(0, r.States-states), Exact: exact, Missing: missing}
	r.States = states
	return r, r.conclude(&all)
}

// earlier reports whether a failed call was found with fewer faults than another one, or at an earlier time,
// or has the lesser path.
func (f *FailedCall) earlier(than *FailedCall) bool {
	if f == nil || than == nil {
		return f != nil
	}
	a, b := Found{f.At, f.Faults, f.Path}, Found{than.At, than.Faults, than.Path}
	return a.shorter(&b)
}
