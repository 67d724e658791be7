package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// Batch records what shards did of a job that consists of named units: the claims of a verification, the
// situations of an audit. The i-th unit, from 0, belongs to shard i mod
// Shards + 1, so every shard is a fair sample. R is the result of one unit.
type Batch[R any] struct {
	Format   int               `json:"lockpick_part"`
	Kind     string            `json:"kind"`
	Lockpick string            `json:"lockpick"` // the version that did the work
	Of       map[string]string `json:"of"`       // everything that the results depend on, by name
	Units    []string          `json:"units"`    // of the whole job, in order
	Shards   int               `json:"shards"`
	Done     map[string]R      `json:"done"` // results by unit
}

// Agreeing is implemented by results of units that may differ in what says nothing, such as times.
type Agreeing[R any] interface {
	Agrees(with R) bool
}

// agree reports whether two results of the same unit say the same.
func agree[R any](a, b R) bool {
	if x, ok := any(a).(Agreeing[R]); ok {
		return x.Agrees(b)
	}
	return bytes.Equal(text(a), text(b))
}

// Kept names the folder in which a shard keeps the evidence of a unit, and how long the shard took for all
// units of that folder.
type Kept struct {
	Folder string        `json:"folder"` // absolute
	Took   time.Duration `json:"took"`   // ns
}

// KeptIn returns the Kept of a folder, with its absolute path. An error is a *judge.HarnessError.
func KeptIn(folder string, took time.Duration) (Kept, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Kept{}, &judge.HarnessError{Err: err}
	}
	return Kept{folder, took}, nil
}

// CopyRun copies a run that is evidence of a unit into a store, and returns its name there, or "" if the run
// is not on this machine. The new name begins with the unit's, because two shards may have begun runs in the
// same second. An error is a *judge.HarnessError.
func (k Kept) CopyRun(run, unit string, to campaign.Store) (string, error) {
	name := filepath.Base(unit) + "-" + filepath.Base(run)
	here, err := to.CopyRun(filepath.Join(k.Folder, filepath.Base(run)), name)
	if err != nil {
		return "", &judge.HarnessError{Err: err}
	}
	if !here {
		return "", nil
	}
	return name, nil
}

// Together returns how long the shards took in all. Each folder counts once.
func Together(all []Kept) time.Duration {
	folders := map[string]time.Duration{}
	for _, k := range all {
		folders[k.Folder] = k.Took
	}
	var sum time.Duration
	for _, t := range folders {
		sum += t
	}
	return sum
}

// CheckShardDriver rejects the driver auto, because each machine would choose its own.
func CheckShardDriver(driver string) error {
	if driver == scenario.Auto {
		return errors.New("driver auto: shards need the same driver, and each machine would choose for itself: name one")
	}
	return nil
}

// NewBatch returns a batch without results. of names everything that the results depend on.
func NewBatch[R any](kind string, of map[string]string, units []string, s Shard) *Batch[R] {
	return &Batch[R]{
		Format: partFormat, Kind: kind, Lockpick: campaign.Version(), Of: of, Units: units, Shards: max(1, s.Count), Done: map[string]R{},
	}
}

// Left returns the units of a shard that are not done.
func (b *Batch[R]) Left(s Shard) []string {
	var left []string
	for i, unit := range b.Units {
		if _, done := b.Done[unit]; !done && b.shardOf(i) == max(1, s.Index) {
			left = append(left, unit)
		}
	}
	return left
}

// shardOf returns the index, from 1, of the shard that a unit belongs to.
func (b *Batch[R]) shardOf(unit int) int { return unit%b.Shards + 1 }

// Missing names the shards with units that are not done.
func (b *Batch[R]) Missing() []string {
	var none []int
	var all []string
	for i := 1; i <= b.Shards; i++ {
		s := Shard{i, b.Shards}
		switch left := b.Left(s); len(left) {
		case 0:
		case s.schedules(len(b.Units)):
			none = append(none, i)
		default:
			all = append(all, fmt.Sprintf("shard %d lacks %s", i, strings.Join(left, ", ")))
		}
	}
	if len(none) > 0 {
		all = append([]string{fmt.Sprintf("%s of %d: %s", Counted(len(none), "shard is missing", "shards are missing"), b.Shards, ranges(none))}, all...)
	}
	return all
}

// MergeBatches merges parts of the same job. The order and the grouping of the parts do not matter: of two results
// of a unit, which must agree, the one whose JSON sorts first counts. The notes name the shards that occur more than
// once. It fails with ErrParts if the parts are of different jobs or versions, or contradict each other.
func MergeBatches[R any](parts ...*Batch[R]) (whole *Batch[R], notes []string, err error) {
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("%w: there are none", ErrParts)
	}
	first := parts[0]
	whole = &Batch[R]{
		Format: first.Format, Kind: first.Kind, Lockpick: first.Lockpick, Of: first.Of, Units: first.Units, Shards: first.Shards, Done: map[string]R{},
	}
	twice := map[int]bool{}
	for n, p := range parts {
		if why := whole.differs(p); why != "" {
			return nil, nil, fmt.Errorf("%w: part %d has %s", ErrParts, n+1, why)
		}
		for i, unit := range p.Units {
			r, done := p.Done[unit]
			if !done {
				continue
			}
			known, again := whole.Done[unit]
			if again {
				twice[p.shardOf(i)] = true
				if !agree(known, r) {
					return nil, nil, fmt.Errorf("%w: shard %d occurs twice, with different results of %s", ErrParts, p.shardOf(i), unit)
				}
			}
			if !again || bytes.Compare(text(r), text(known)) < 0 {
				whole.Done[unit] = r
			}
		}
	}
	if len(twice) > 0 {
		notes = append(notes, "these shards occur more than once, and count once: "+ranges(slices.Sorted(maps.Keys(twice))))
	}
	return whole, notes, nil
}

func text(x any) []byte {
	b, _ := json.Marshal(x) // cannot fail: results are stored as JSON anyway
	return b
}

// differs returns why another part is not of the same job, or "".
func (b *Batch[R]) differs(other *Batch[R]) string {
	for _, f := range []struct {
		what       string
		mine, that any
	}{
		{"the kind", b.Kind, other.Kind}, {"the version of Lockpick", b.Lockpick, other.Lockpick}, {"the number of shards", b.Shards, other.Shards},
		{"the units", strings.Join(b.Units, ","), strings.Join(other.Units, ",")},
	} {
		if f.mine != f.that {
			return fmt.Sprintf("%s %v, the first one %v", f.what, f.that, f.mine)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Of)) {
		if b.Of[name] != other.Of[name] {
			return fmt.Sprintf("another %s: %q where the first one has %q", name, other.Of[name], b.Of[name])
		}
	}
	if len(b.Of) != len(other.Of) {
		return "more options than the first one"
	}
	return ""
}

// Write writes the part as JSON.
func (b *Batch[R]) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

// KindOf returns the kind of a part that Write wrote, or "" if it has none.
func KindOf(part []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(part, &head)
	return head.Kind
}

// ParseBatch parses the JSON that Write writes. Its errors wrap ErrParts.
func ParseBatch[R any](kind string, part []byte) (*Batch[R], error) {
	b := &Batch[R]{}
	if err := json.Unmarshal(part, b); err != nil {
		return nil, fmt.Errorf("%w: it is not the JSON that --out writes: %w", ErrParts, err)
	}
	switch {
	case b.Format != partFormat:
		return nil, fmt.Errorf("%w: the format is %d, and this version reads %d", ErrParts, b.Format, partFormat)
	case b.Kind != kind || b.Shards < 1 || b.Shards > maxShards || len(b.Units) == 0:
		return nil, fmt.Errorf("%w: it lacks its kind, its units or the number of shards", ErrParts)
	}
	for unit := range b.Done {
		if !slices.Contains(b.Units, unit) {
			return nil, fmt.Errorf("%w: there is no %q in it", ErrParts, unit)
		}
	}
	return b, nil
}
