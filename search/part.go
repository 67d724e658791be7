package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
)

// partFormat is the version of the format of parts.
const partFormat = 1

// Part is the result of some shards of an exploration. Each shard writes one, and Merge merges parts of the
// same exploration. The order, the grouping and repetitions do not matter, because a part stores the result
// of each shard and counts a shard once.
type Part struct {
	Format     int            `json:"lockpick_part"`
	Kind       string         `json:"kind"`       // always "explore"
	Lockpick   string         `json:"lockpick"`   // the version that simulated it
	Scenario   string         `json:"scenario"`   // the base, as YAML, with the exploration's seed
	Properties []string       `json:"properties"` // the levels and properties that were asked for
	Schedules  int            `json:"schedules"`  // in the whole exploration
	Shards     int            `json:"shards"`
	Shares     map[int]*Share `json:"shares"` // results by the shard's index, from 1
}

// Share is the result of one shard for the schedules that it has tried, which are the first Done of its
// schedules.
type Share struct {
	Done       int                    `json:"done"` // number of schedules tried
	Simulated  time.Duration          `json:"simulated"`
	Counts     judge.Counts           `json:"counts"`
	Kinds      map[string]*FaultCount `json:"faults"`
	Coverage   Coverage               `json:"coverage"`
	Shapes     map[string]int         `json:"shapes"`
	Properties []ShareProperty        `json:"properties"`
	Found      []ShareFound           `json:"violations"`
}

// ShareProperty is the result of a shard for one property: see PropertyCount.
type ShareProperty struct {
	Name       string         `json:"property"`
	Tested     int            `json:"tested"`
	Conclusive int            `json:"conclusive"`
	Violated   int            `json:"violated"`
	First      int            `json:"first"`
	Lacking    map[string]int `json:"proved_nothing"`
}

// ShareFound is a distinct violation that a shard found: see Found.
type ShareFound struct {
	Number    int                 `json:"schedule"`
	Property  string              `json:"property"`
	Scenario  string              `json:"scenario"` // YAML
	Faults    []string            `json:"faults"`
	Reason    string              `json:"reason"`
	Violation narrative.Violation `json:"violation"`
	Count     int                 `json:"count"`
}

// ErrParts reports that parts cannot be merged, or that a file is not a part.
var ErrParts = errors.New("these parts do not belong together")

// NewPart returns an empty part of an exploration: no shard has tried anything.
func NewPart(e ExploreOptions) (*Part, error) {
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties
	yaml, err := e.Base.YAML()
	if err != nil {
		return nil, err
	}
	return &Part{
		Format: partFormat, Kind: "explore", Lockpick: campaign.Version(), Scenario: string(yaml), Properties: e.Properties,
		Schedules: e.Schedules, Shards: max(1, e.Shard.Count), Shares: map[int]*Share{},
	}, nil
}

// Add adds the result of a shard.
func (p *Part) Add(s Shard, x *ExploreResult) error {
	share, err := shareOf(x)
	if err != nil {
		return err
	}
	p.Shares[max(1, s.Index)] = share
	return nil
}

// shareOf converts the result of one shard to the form in which a part stores it.
func shareOf(x *ExploreResult) (*Share, error) {
	s := &Share{Done: x.Schedules, Simulated: x.Simulated, Counts: x.Counts, Kinds: x.Kinds, Coverage: x.Coverage, Shapes: x.Shapes}
	for _, l := range x.all {
		s.Properties = append(s.Properties, ShareProperty{l.Name, l.Tested, l.Conclusive, l.Violated, l.First, l.Lacking})
	}
	for _, f := range x.Found {
		yaml, err := f.Scenario.YAML()
		if err != nil {
			return nil, fmt.Errorf("schedule %d: %w", f.Number, err)
		}
		s.Found = append(s.Found, ShareFound{f.Number, f.Property.Name, string(yaml), f.Faults, f.Reason, f.Violation, f.Count})
	}
	return s, nil
}

// add adds the result of a shard to the total.
func (x *ExploreResult) add(s *Share) error {
	x.Schedules += s.Done
	x.Simulated += s.Simulated
	x.Counts.Add(s.Counts)
	x.Coverage.merge(s.Coverage)
	for name, n := range s.Shapes {
		x.Shapes[name] += n
	}
	for kind, b := range s.Kinds {
		if b == nil {
			continue
		}
		if x.Kinds[kind] == nil {
			x.Kinds[kind] = &FaultCount{}
		}
		sum := x.Kinds[kind]
		sum.Installed, sum.TookEffect, sum.Skipped = sum.Installed+b.Installed, sum.TookEffect+b.TookEffect, sum.Skipped+b.Skipped
	}
	for _, p := range s.Properties {
		i := slices.IndexFunc(x.Properties, func(l PropertyCount) bool { return l.Name == p.Name })
		if i < 0 {
			return fmt.Errorf("%w: nobody asked for the property %q", ErrParts, p.Name)
		}
		l := &x.Properties[i]
		l.Tested, l.Conclusive, l.Violated = l.Tested+p.Tested, l.Conclusive+p.Conclusive, l.Violated+p.Violated
		if p.First >= 0 && (l.First < 0 || p.First < l.First) {
			l.First = p.First
		}
		for why, n := range p.Lacking {
			l.Lacking[why] += n
		}
	}
	for _, f := range s.Found {
		if err := x.addFound(f); err != nil {
			return err
		}
	}
	return nil
}

// addFound adds a violation. Of violations with the same reason, it keeps the schedule with the lowest
// number.
func (x *ExploreResult) addFound(f ShareFound) error {
	scenario, err := scenario.Parse([]byte(f.Scenario))
	if err != nil {
		return fmt.Errorf("%w: the scenario of schedule %d: %w", ErrParts, f.Number, err)
	}
	named := checker.PropertiesOf([]string{f.Property})
	if len(named) != 1 {
		return fmt.Errorf("%w: there is no property %q", ErrParts, f.Property)
	}
	found := Found{
		Number: f.Number, Seed: scenario.Seed, Scenario: scenario, Property: named[0],
		Faults: f.Faults, Reason: f.Reason, Violation: f.Violation, Count: f.Count,
	}
	for i := range x.Found {
		known := &x.Found[i]
		if known.Reason != f.Reason {
			continue
		}
		found.Count += known.Count
		if known.Number < found.Number {
			known.Count = found.Count
		} else {
			*known = found
		}
		return nil
	}
	x.Found = append(x.Found, found)
	return nil
}

// Explored returns the combined result of the part's shards, and the base scenario. If a shard is missing, no
// property holds.
func (p *Part) Explored() (*ExploreResult, scenario.Scenario, error) {
	base, err := scenario.Parse([]byte(p.Scenario))
	if err != nil {
		return nil, base, fmt.Errorf("%w: the scenario: %w", ErrParts, err)
	}
	e := ExploreOptions{Base: base, Schedules: p.Schedules, Properties: p.Properties, Collect: true}
	x := newExploreResult(&e)
	for _, index := range slices.Sorted(maps.Keys(p.Shares)) {
		if err := x.add(p.Shares[index]); err != nil {
			return nil, base, fmt.Errorf("shard %d: %w", index, err)
		}
	}
	slices.SortStableFunc(x.Found, func(a, b Found) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Reason, b.Reason)) })
	x.Missing = p.missing()
	x.conclude(e)
	return x, base, nil
}

// missing names the shards that the part lacks wholly or partly.
func (p *Part) missing() []string {
	var none []int
	var all []string
	for i := 1; i <= p.Shards; i++ {
		of := Shard{i, p.Shards}.schedules(p.Schedules)
		switch s := p.Shares[i]; {
		case s == nil:
			none = append(none, i)
		case s.Done < of:
			all = append(all, fmt.Sprintf("shard %d has tried %d of its %s", i, s.Done, Counted(of, "schedule", "schedules")))
		}
	}
	if len(none) > 0 {
		all = append([]string{fmt.Sprintf("%s of %d: %s", Counted(len(none), "shard is missing", "shards are missing"), p.Shards, ranges(none))}, all...)
	}
	return all
}

// ranges renders numbers in ascending order, as in 1, 3-5, 8.
func ranges(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		} else {
			out = append(out, fmt.Sprint(numbers[i]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// Merge merges parts of one exploration. The notes name the shards that occur more than once. It fails with
// ErrParts if parts are of different explorations or versions, or contradict each other.
func Merge(parts ...*Part) (whole *Part, notes []string, err error) {
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("%w: there are none", ErrParts)
	}
	first := parts[0]
	whole = &Part{
		Format: first.Format, Kind: first.Kind, Lockpick: first.Lockpick, Scenario: first.Scenario, Properties: first.Properties,
		Schedules: first.Schedules, Shards: first.Shards, Shares: map[int]*Share{},
	}
	var twice []int
	for i, p := range parts {
		if why := whole.differs(p); why != "" {
			return nil, nil, fmt.Errorf("%w: part %d has %s", ErrParts, i+1, why)
		}
		for index, share := range p.Shares {
			known := whole.Shares[index]
			if known != nil && !slices.Contains(twice, index) {
				twice = append(twice, index)
			}
			switch {
			case known == nil || known.Done < share.Done:
				whole.Shares[index] = share
			case known.Done == share.Done && !same(known, share):
				return nil, nil, fmt.Errorf("%w: shard %d occurs twice, with different results of the same schedules", ErrParts, index)
			}
		}
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		notes = append(notes, fmt.Sprintf("these shards occur more than once, and count once: %s", ranges(twice)))
	}
	return whole, notes, nil
}

// differs returns why another part is not of the same exploration, or "".
func (p *Part) differs(other *Part) string {
	for _, f := range []struct {
		what       string
		mine, that any
	}{
		{"the kind", p.Kind, other.Kind}, {"the version of Lockpick", p.Lockpick, other.Lockpick}, {"the number of schedules", p.Schedules, other.Schedules},
		{"the number of shards", p.Shards, other.Shards}, {"the properties", strings.Join(p.Properties, ","), strings.Join(other.Properties, ",")},
	} {
		if f.mine != f.that {
			return fmt.Sprintf("%s %v, the first one %v", f.what, f.that, f.mine)
		}
	}
	if p.Scenario == other.Scenario {
		return ""
	}
	mine, that := strings.Split(p.Scenario, "\n"), strings.Split(other.Scenario, "\n")
	for i := range min(len(mine), len(that)) {
		if mine[i] != that[i] {
			return fmt.Sprintf("another scenario: %q where the first one has %q", that[i], mine[i])
		}
	}
	return "another scenario"
}

func same(a, b *Share) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// Write writes the part as JSON.
func (p *Part) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(p)
}

// maxPart is the size in bytes of the largest part that ReadPart reads: 100,000 shards without violations
// take 60 MB.
const maxPart = 256 << 20

// ReadPart decodes the JSON that Write writes. Its errors wrap ErrParts.
func ReadPart(r io.Reader) (*Part, error) {
	p := &Part{}
	d := json.NewDecoder(io.LimitReader(r, maxPart))
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: it is not the JSON that explore --out writes: %w", ErrParts, err)
	}
	switch {
	case p.Format != partFormat:
		return nil, fmt.Errorf("%w: the format is %d, and this version reads %d", ErrParts, p.Format, partFormat)
	case p.Kind != "explore" || p.Shards < 1 || p.Shards > maxShards || p.Schedules < 1 || len(p.Properties) == 0:
		return nil, fmt.Errorf("%w: it lacks its kind, its schedules, its properties or the number of shards", ErrParts)
	}
	for index, s := range p.Shares {
		shard, err := newShard(index, p.Shards)
		if err != nil || s == nil {
			return nil, fmt.Errorf("%w: there is no shard %d of %d", ErrParts, index, p.Shards)
		}
		if of := shard.schedules(p.Schedules); s.Done < 0 || s.Done > of {
			return nil, fmt.Errorf("%w: shard %d says that it tried %d of its %d schedules", ErrParts, index, s.Done, of)
		}
	}
	return p, nil
}
