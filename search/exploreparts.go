package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
)

// ExploreKind is the kind of a job whose shards explore: its units are runs of schedules, as in 40-59.
const ExploreKind = "schedules"

// Share is the result of some schedules of an exploration, as a part stores it.
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

// ShareProperty is the result of some schedules for one property: see PropertyCount.
type ShareProperty struct {
	Name       string         `json:"property"`
	Tested     int            `json:"tested"`
	Conclusive int            `json:"conclusive"`
	Violated   int            `json:"violated"`
	First      int            `json:"first"`
	Lacking    map[string]int `json:"proved_nothing"`
}

// ShareFound is a distinct violation: see Found.
type ShareFound struct {
	Number    int                 `json:"schedule"`
	Property  string              `json:"property"`
	Scenario  string              `json:"scenario"` // YAML
	Faults    []string            `json:"faults"`
	Reason    string              `json:"reason"`
	Violation narrative.Violation `json:"violation"`
	Count     int                 `json:"count"`
}

// What an exploration's job depends on (Job.Of), besides the version.
const (
	ofScenario   = "scenario" // the base, as YAML, with the exploration's seed
	ofProperties = "properties"
	ofSchedules  = "number of schedules" // in the whole exploration
)

// The schedules of a unit: so many that the unit takes a second, and fewer where shards would otherwise have less than
// unitsPerShard, because a killed shard repeats the unit that it was at.
const (
	unitSchedules = 500
	unitsPerShard = 16
	mostUnits     = 16_384 // of a large job
)

// NewExplorePart returns an empty part of an exploration.
func NewExplorePart(e ExploreOptions, s Shard) (*Part[Share], error) {
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties
	yaml, err := e.Base.YAML()
	if err != nil {
		return nil, err
	}
	size := max(1, min(max(unitSchedules, e.Schedules/mostUnits), e.Schedules/(unitsPerShard*max(1, s.Count))))
	var units []string
	for first := 0; first < e.Schedules; first += size {
		units = append(units, fmt.Sprintf("%d-%d", first, min(first+size, e.Schedules)-1))
	}
	identity := map[string]string{ofScenario: string(yaml), ofProperties: strings.Join(e.Properties, ","), ofSchedules: strconv.Itoa(e.Schedules)}
	return NewPart[Share](ExploreKind, identity, units, s), nil
}

// ExploreShard tries the schedules of a shard that its part does not have, and adds them. It collects all distinct
// violations, since otherwise the shards together would not be the whole. The shard is complete if no unit is left.
func ExploreShard(ctx context.Context, e ExploreOptions, s Shard, p *Part[Share]) error {
	began, done, most := time.Now(), 0, 0
	left := p.Left(s)
	for _, unit := range left {
		_, n, err := schedulesOf(unit)
		if err != nil {
			return err
		}
		most += n
	}
	limit, live := e.TimeLimit, e.Live
	e.Collect = true
	for _, unit := range left {
		e.First, e.Schedules, _ = schedulesOf(unit)
		if limit > 0 {
			if e.TimeLimit = limit - time.Since(began); e.TimeLimit <= 0 {
				return nil
			}
		}
		if live != nil {
			e.Live = func(n, _ int, text func() string) {
				live(done+n, most, func() string {
					return fmt.Sprintf("%d of %d schedules done; now %s, %s", done, most, unit, strings.TrimSpace(text()))
				})
			}
		}
		x, err := Explore(ctx, e)
		if err != nil || x.Schedules < e.Schedules {
			return err
		}
		share, err := shareOf(x)
		if err == nil {
			err = p.Add(unit, *share)
		}
		if err != nil {
			return err
		}
		done += x.Schedules
	}
	return nil
}

// schedulesOf returns the schedules that a unit names: the first and their number.
func schedulesOf(unit string) (first, count int, err error) {
	a, b, _ := strings.Cut(unit, "-")
	first, err = strconv.Atoi(a)
	if err == nil {
		count, err = strconv.Atoi(b)
		count += 1 - first
	}
	if err != nil || first < 0 || count < 1 {
		return 0, 0, fmt.Errorf("%w: %q does not name schedules", ErrParts, unit)
	}
	return first, count, nil
}

// shareOf converts the result of some schedules to the form in which a part stores it.
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

// add adds the result of a unit to the total.
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

// Explored returns the combined result of the parts of an exploration, and the base scenario. If a unit is missing, no
// property holds.
func Explored(p *Part[Share]) (*ExploreResult, scenario.Scenario, error) {
	base, err := scenario.Parse([]byte(p.Of[ofScenario]))
	if err != nil {
		return nil, base, fmt.Errorf("%w: the scenario: %w", ErrParts, err)
	}
	e := ExploreOptions{Base: base, Properties: strings.Split(p.Of[ofProperties], ","), Collect: true}
	x := newExploreResult(&e)
	for _, unit := range p.Units {
		s, done := p.Done[unit]
		if !done {
			continue
		}
		if _, count, err := schedulesOf(unit); err != nil || s.Done != count {
			return nil, base, fmt.Errorf("%w: schedules %s: %d are done", ErrParts, unit, s.Done)
		}
		if err := x.add(&s); err != nil {
			return nil, base, fmt.Errorf("schedules %s: %w", unit, err)
		}
	}
	slices.SortStableFunc(x.Found, func(a, b Found) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Reason, b.Reason)) })
	x.Missing = p.Missing()
	x.conclude(e)
	return x, base, nil
}
