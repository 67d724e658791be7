package exhaust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/search"
)

// said is what a result says of the search: verdict and counterexample, and how many states
// there are if all were visited.
func said(t interface{ Fatal(...any) }, x *Result) string {
	out := map[string]any{"verdict": x.Verdict, "why": x.Why, "faults": x.Faults, "at": x.At, "violation": x.Violation, "judged": x.Judged.Name}
	if x.Verdict == checker.Holds {
		out["states"] = x.States
	}
	if x.History != nil {
		out["history"] = x.History.Ops
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// searched is the part of a shard, as it is written and read again.
func searched(t *testing.T, e Options, earlier *Part) *Part {
	t.Helper()
	p, err := NewPart(e)
	if err != nil {
		t.Fatal(err)
	}
	if earlier != nil {
		p.Done = earlier.Done
	}
	if err := RunShard(t.Context(), e, p); err != nil {
		t.Fatal(err)
	}
	return reread(t, p)
}

func reread(t interface{ Fatal(...any) }, p *Part) *Part {
	var b bytes.Buffer
	err := p.Write(&b)
	if err != nil {
		t.Fatal(err)
	}
	p, err = search.ParseBatch[Share](ShardKind, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func merged(t interface{ Fatal(...any) }, parts ...*Part) *Result {
	whole, _, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Merged(reread(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestShardsFindWhatOneSearchFinds searches the bounds of docs/exhaustive.md whole and in
// shards: verdict, counterexample and number of states are the same, and no shard does all the
// work.
func TestShardsFindWhatOneSearchFinds(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for _, c := range []struct {
		name    string
		change  func(*Bounds)
		verdict checker.Verdict
	}{
		{"restart without persistence", func(*Bounds) {}, checker.Violated},
		{"persistence always", func(b *Bounds) { b.Persistence = "always" }, checker.Holds},
		{"restart delay", func(b *Bounds) { b.Restart = 17 }, checker.Holds},
		{"clock", func(b *Bounds) { b.Persistence, b.Faults = "always", []string{"clock"} }, checker.Violated},
		{"client pause, L3", func(b *Bounds) { b.Property, b.Faults, b.For, b.Horizon = "L3", []string{"client-pause"}, 20, 24 }, checker.Violated},
		{"one token", func(b *Bounds) {
			b.Faults, b.MaxFaults, b.Lock, b.Masters = []string{"late"}, 2, "redlock-one-token", 1
		}, checker.Holds},
		{"no fault", func(b *Bounds) { b.Faults = nil }, checker.Holds},
		{"late and lost", func(b *Bounds) { b.Faults = []string{"late", "lost"} }, checker.Holds},
		{"two kills", func(b *Bounds) { b.Masters, b.MaxFaults, b.Horizon, b.Persistence, b.Stagger = 2, 2, 10, "always", 0 }, checker.Holds},
		{"two cuts", func(b *Bounds) {
			b.Lock, b.Persistence, b.Faults, b.MaxFaults, b.Stagger, b.Horizon = "redlock-reachable-quorum", "always", []string{"partition"}, 2, 0, 5
		}, checker.Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Options{Bounds: DefaultBounds(), Prefixes: 100}
			c.change(&e.Bounds)
			whole, err := Run(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if whole.Verdict != c.verdict {
				t.Fatalf("%s: %s", whole.Verdict, whole.Why)
			}
			const n = 3
			var parts []*Part
			for i := range n {
				e.Shard = search.Shard{Index: i + 1, Count: n}
				p := searched(t, e, nil)
				parts = append(parts, p)
				s := p.Done[strconv.Itoa(i+1)]
				if whole.Verdict == checker.Holds && s.Before.States < whole.States && s.Before.States+s.Own.States >= whole.States {
					t.Errorf("shard %d visited %d of all %d states", i+1, s.Before.States+s.Own.States, whole.States)
				}
			}
			x := merged(t, parts...)
			if got, want := said(t, x), said(t, whole); got != want {
				t.Errorf("merged:\n%s\nwhole:\n%s", got, want)
			}
			t.Logf("%s: %d states, %d simulations; %d in shards, %d states visited again", whole.Verdict, whole.States, whole.Runs, x.Runs, x.Shards.Again)
		})
	}
}

// sample is a search that is cheap enough to be made many times.
type sample struct {
	Options
	whole func(t *testing.T) *Result
	mu    sync.Mutex
	parts map[string]*Part
}

// samples are searches that find violations by many paths, and that find none.
func samples() []*sample {
	var all []*sample
	for _, change := range []func(*Bounds){
		func(b *Bounds) { b.Masters, b.Lock = 1, "single" },
		func(b *Bounds) { b.Masters, b.Lock, b.Persistence, b.Horizon = 1, "single", "always", 8 },
		func(b *Bounds) { b.Masters, b.Lock, b.MaxFaults = 2, "redlock-quorum-half", 0 },
		func(b *Bounds) { b.Masters, b.Lock, b.MaxFaults = 2, "textbook", 0 },
		func(b *Bounds) { b.Masters, b.Faults, b.Horizon, b.TTL = 2, []string{"clock"}, 8, 8 },
	} {
		s := &sample{Options: Options{Bounds: DefaultBounds(), Prefixes: 16, Workers: 1}, parts: map[string]*Part{}}
		change(&s.Bounds)
		var once sync.Once
		var x *Result
		s.whole = func(t *testing.T) *Result {
			once.Do(func() {
				var err error
				if x, err = Run(t.Context(), s.Options); err != nil {
					t.Fatal(err)
				}
			})
			return x
		}
		all = append(all, s)
	}
	return all
}

// part is that of a shard, which was cut short at so many states (0: it was not).
func (s *sample) part(t *testing.T, shard search.Shard, states int) *Part {
	key := fmt.Sprint(shard, states)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[key] == nil {
		e := s.Options
		e.Shard, e.MaxStates = shard, states
		s.parts[key] = searched(t, e, nil)
	}
	return s.parts[key]
}

// TestMergeOfAnySplitIsTheWholeSearch splits searches into any number of shards, each of which
// may be repeated and cut short, and merges their parts in any order and grouping.
func TestMergeOfAnySplitIsTheWholeSearch(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	all := samples()
	verdicts := map[checker.Verdict]int{}
	for _, s := range all {
		verdicts[s.whole(t).Verdict]++
	}
	if verdicts[checker.Holds] < 2 || verdicts[checker.Violated] < 2 {
		t.Fatalf("%v: the test would say little", verdicts)
	}
	rapid.Check(t, func(r *rapid.T) {
		s := all[rapid.IntRange(0, len(all)-1).Draw(r, "search")]
		n := rapid.SampledFrom([]int{1, 2, 3, 5, 16}).Draw(r, "shards")
		lacks := rapid.IntRange(0, 2*n).Draw(r, "missing") // above n: none
		var parts []*Part
		complete := true
		for index := 1; index <= n; index++ {
			shard := search.Shard{Index: index, Count: n}
			for range rapid.IntRange(0, 2).Draw(r, "cut short") {
				parts = append(parts, s.part(t, shard, rapid.SampledFrom([]int{1, 20, 60}).Draw(r, "at")))
			}
			if index == lacks {
				complete = false
				continue
			}
			for range rapid.IntRange(1, 2).Draw(r, "times") {
				parts = append(parts, s.part(t, shard, 0))
			}
		}
		if len(parts) == 0 {
			return
		}
		parts = rapid.Permutation(parts).Draw(r, "order")
		at := slices.Clone(parts)
		for len(parts) > 1 { // two neighbours at a time, in any grouping
			i := rapid.IntRange(0, len(parts)-2).Draw(r, "group")
			two, _, err := Merge(parts[i], parts[i+1])
			if err != nil {
				r.Fatal(err)
			}
			parts = slices.Replace(parts, i, i+2, two)
		}
		x := merged(r, parts[0])
		if got, want := counted(merged(r, at...)), counted(x); got != want {
			r.Fatalf("at once: %s, by twos: %s", got, want)
		}
		want := s.whole(t)
		switch {
		case complete && said(r, x) != said(r, want):
			r.Fatalf("merged:\n%s\nwhole:\n%s", said(r, x), said(r, want))
		case !complete && len(x.Shards.Missing) > 0 && x.Verdict == checker.Holds:
			r.Fatalf("it holds, and %v", x.Shards.Missing)
		case x.States > want.States && want.Verdict == checker.Holds:
			r.Fatalf("%d states of %d", x.States, want.States)
		}
	})
}

// counted is all that a merged result says, with its counts.
func counted(x *Result) string {
	return fmt.Sprint(x.Verdict, x.Why, x.States, x.Runs, x.Steps, *x.Shards, x.Faults, x.At)
}

// TestShardThatIsResumedIsAsIfItHadNeverStopped cuts a shard short again and again.
func TestShardThatIsResumedIsAsIfItHadNeverStopped(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for _, s := range samples() {
		shard := search.Shard{Index: 2, Count: 2}
		want := s.part(t, shard, 0)
		var p *Part
		cuts := 0
		for states := 10; p == nil || p.Done["2"].Cut != ""; states += 30 {
			e := s.Options
			e.Shard, e.MaxStates = shard, states
			p = searched(t, e, p)
			cuts++
		}
		if !p.Done["2"].agrees(want.Done["2"]) {
			t.Errorf("%s: resumed %d times:\n%+v\nnever:\n%+v", s.Bounds.Command(), cuts, p.Done["2"].outcome, want.Done["2"].outcome)
		}
	}
}

func TestIncompleteSearchNeverHolds(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s := samples()[3]
	shard := func(i int) search.Shard { return search.Shard{Index: i, Count: 4} }
	cut := s.part(t, shard(2), 1)
	for _, c := range []struct {
		parts []*Part
		says  string
	}{
		{[]*Part{s.part(t, shard(1), 0)}, "3 shards are missing of 4: 2-4: no violation"},
		{[]*Part{s.part(t, shard(1), 0), cut, s.part(t, shard(3), 0), s.part(t, shard(4), 0)}, "shard 2 was cut short: the limit of 1 states: no violation"},
	} {
		x := merged(t, c.parts...)
		if x.Verdict != checker.Unknown || !strings.Contains(x.Why, c.says) || len(x.Shards.Missing) == 0 {
			t.Errorf("%s: %s", x.Verdict, x.Why)
		}
	}
	violated := samples()[0]
	if x := merged(t, violated.part(t, search.Shard{Index: 2, Count: 3}, 0)); x.Verdict != checker.Violated || !strings.Contains(x.Why, "there may be a shorter counterexample") {
		t.Errorf("%s: %s", x.Verdict, x.Why)
	}
}

func TestPartsOfOtherSearchesAreRefused(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s := samples()[3]
	one := search.Shard{Index: 1, Count: 2}
	changed := func(change func(*Options, *Part)) *Part {
		e := s.Options
		e.Shard = one
		p, err := NewPart(e)
		if err != nil {
			t.Fatal(err)
		}
		p.Done["1"] = s.part(t, one, 0).Done["1"]
		change(&e, p)
		return p
	}
	anew := func(change func(*Options)) *Part {
		e := s.Options
		e.Shard = one
		change(&e)
		p, err := NewPart(e)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for says, p := range map[string]*Part{
		`another command: "lockpick exhaust --lock=textbook --masters=2 --max-faults=0 --stagger=1"`: anew(func(e *Options) { e.Bounds.Stagger = 1 }),
		"another number of prefixes":  anew(func(e *Options) { e.Prefixes = 17 }),
		"the number of shards 3":      anew(func(e *Options) { e.Shard.Count = 3 }),
		"the version of Lockpick v0":  changed(func(_ *Options, p *Part) { p.Lockpick = "v0" }),
		"not those of the command":    changed(func(_ *Options, p *Part) { p.Of["command"] = "lockpick exhaust" }),
		"the bounds":                  changed(func(_ *Options, p *Part) { p.Of["details"] = "{}" }),
		"not every shard":             changed(func(_ *Options, p *Part) { p.Units = []string{"1"} }),
		"different results":           changed(func(_ *Options, p *Part) { x := p.Done["1"]; x.Own.Runs++; p.Done["1"] = x }),
		"counts states in a way that": changed(func(_ *Options, p *Part) { x := p.Done["1"]; x.States.Level = 99; p.Done["1"] = x }),
	} {
		if _, _, err := Merge(s.part(t, one, 0), p); !errors.Is(err, search.ErrParts) || !strings.Contains(err.Error(), says) {
			t.Errorf("want %s, got %v", says, err)
		}
	}
	cut := reread(t, s.part(t, one, 1))
	damaged := cut.Done["1"]
	damaged.Resume = slices.Clone(damaged.Resume)
	damaged.Resume[len(damaged.Resume)/2] ^= 1
	cut.Done["1"] = damaged
	e := s.Options
	e.Shard = one
	if err := RunShard(t.Context(), e, cut); !errors.Is(err, search.ErrParts) {
		t.Errorf("a damaged part is resumed: %v", err)
	}
}

// TestPathThatDoesNotExist: a part with a counterexample that nobody can have found is an error,
// and convicts no lock.
func TestPathThatDoesNotExist(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s := samples()[2]
	for _, path := range [][]uint8{nil, {0}, {200}, bytes.Repeat([]byte{1}, 1000)} {
		p := reread(t, s.part(t, search.Shard{Index: 1, Count: 1}, 0))
		share := p.Done["1"]
		share.Found.Path = path
		p.Done["1"] = share
		x, err := Merged(p)
		var harness *judge.HarnessError
		if !errors.As(err, &harness) || x.Verdict == checker.Violated {
			t.Errorf("%v: %v", path, err)
		}
	}
}

func TestMoreShardsThanPrefixesAreRefused(t *testing.T) {
	_, err := NewPart(Options{Bounds: DefaultBounds(), Shard: search.Shard{Index: 1, Count: DefaultPrefixes + 1}})
	var p *scenario.Problem
	if !errors.As(err, &p) || p.Field != "shard" {
		t.Error(err)
	}
}

// TestDistinctStatesOfAnyUnion: whatever shards have visited, in whatever order and grouping it
// is united, each state counts once, and an estimate is near.
func TestDistinctStatesOfAnyUnion(t *testing.T) {
	most := maxDistinct
	t.Cleanup(func() { maxDistinct = most })
	rapid.Check(t, func(t *rapid.T) {
		maxDistinct = rapid.IntRange(1, 300).Draw(t, "kept")
		of := func(numbers []int) Distinct {
			g := newGraph()
			for _, i := range numbers {
				g.add(state{byte(i), byte(i >> 8)}, 2)
			}
			return g.distinct()
		}
		sets := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, 999), 0, 400, rapid.ID), 1, 6).Draw(t, "shards")
		var parts []Distinct
		var all []int
		for _, s := range sets {
			parts = append(parts, of(s))
			all = append(all, s...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		want := of(all)
		parts = append(parts, rapid.SampledFrom(parts).Draw(t, "again"))
		for len(parts) > 1 {
			i := rapid.IntRange(0, len(parts)-2).Draw(t, "group")
			parts = slices.Replace(parts, i, i+2, unite(parts[i+1], parts[i]))
		}
		got := parts[0]
		if got.Level != want.Level || !slices.Equal(got.Hashes, want.Hashes) {
			t.Fatalf("united %v, at once %v", got, want)
		}
		if n, exact := got.Count(); exact != (len(all) <= maxDistinct) || exact && n != len(all) {
			t.Fatalf("%d states of %d, exactly: %v", n, len(all), exact)
		}
		text, err := json.Marshal(got)
		var back Distinct
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || !slices.Equal(back.Hashes, got.Hashes) {
			t.Fatalf("read back: %v", err)
		}
	})
	maxDistinct = 1 << 12
	g := newGraph()
	for i := range 200_000 {
		g.add(state{byte(i), byte(i >> 8), byte(i >> 16)}, 2)
	}
	if n, exact := g.distinct().Count(); exact || n < 190_000 || n > 210_000 {
		t.Errorf("200000 states are estimated as %d", n)
	}
}
