package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lockpick/campaign/scenario"
	"lockpick/internal/inputs"
)

// sampleExploration is one whose schedules find violations of several kinds, and some that prove
// nothing.
func sampleExploration(schedules int) ExploreOptions {
	base := scenario.Defaults()
	base.Driver, base.Seed, base.Faults, base.Persistence = scenario.Sim, 11, []string{"kill", "partition", "client-pause"}, "none"
	base.Properties = []string{"L2", "L3", "AV"}
	return ExploreOptions{Base: base, Schedules: schedules, Properties: base.Properties, Collect: true}
}

// sampleSchedules are its schedules, simulated once for all tests.
var sampleSchedules = sync.OnceValues(func() ([]*trial, error) {
	e := sampleExploration(48)
	var all []*trial
	for i := range e.Schedules {
		t, err := e.try(context.Background(), nil, i, Schedule(e.Base, i))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
})

// found is all that a report of an exploration says, but the time that it took.
func foundIn(t interface{ Fatal(...any) }, x *ExploreResult) string {
	plain := *x
	plain.Elapsed = 0
	b, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMergeOfAnySplitIsTheWhole splits an exploration into any number of shards, each of which
// may be cut short and repeated, and merges their files in any order and grouping.
func TestMergeOfAnySplitIsTheWhole(t *testing.T) {
	all, err := sampleSchedules()
	if err != nil {
		t.Fatal(err)
	}
	e := sampleExploration(len(all))
	whole := newExploreResult(&e)
	for _, s := range all {
		whole.fold(s)
	}
	whole.conclude(e)
	want := foundIn(t, whole)
	if len(whole.Found) < 3 {
		t.Fatalf("only %d distinct violations: the test would say little", len(whole.Found))
	}
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 60).Draw(t, "shards")
		var files [][]byte
		write := func(index, done int) {
			e := e
			e.Shard = Shard{index, count}
			x := newExploreResult(&e)
			for i := range done {
				x.fold(all[e.Shard.number(i)])
			}
			x.conclude(e)
			p, err := NewPart(e)
			if err == nil {
				err = p.Add(e.Shard, x)
			}
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			files = append(files, b.Bytes())
		}
		for index := 1; index <= count; index++ {
			of := Shard{index, count}.schedules(len(all))
			write(index, of)
			for range rapid.IntRange(0, 2).Draw(t, "repetitions") {
				write(index, rapid.IntRange(0, of).Draw(t, "done"))
			}
		}
		files = rapid.Permutation(files).Draw(t, "order")
		var parts []*Part
		for _, f := range files {
			p, err := ReadPart(bytes.NewReader(f))
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		for len(parts) > 1 { // two neighbours at a time, in any grouping
			i := rapid.IntRange(0, len(parts)-2).Draw(t, "group")
			merged, _, err := Merge(parts[i], parts[i+1])
			if err != nil {
				t.Fatal(err)
			}
			parts = slices.Replace(parts, i, i+2, merged)
		}
		x, _, err := parts[0].Explored()
		if err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, x); got != want {
			t.Fatalf("merged:\n%s\nwhole:\n%s", got, want)
		}
	})
}

// TestShardsOfAnExplorationAreResumedAndMerged runs the real thing: one shard is interrupted and
// resumed, and the parts are merged.
func TestShardsOfAnExplorationAreResumedAndMerged(t *testing.T) {
	e := sampleExploration(30)
	e.Workers = 2
	whole, err := Explore(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var parts []*Part
	for index := 1; index <= 3; index++ {
		e := e
		e.Collect = false // a shard implies it
		e.Shard = Shard{index, 3}
		p, err := NewPart(e)
		if err != nil {
			t.Fatal(err)
		}
		if index == 2 {
			first := e
			first.Schedules = 12 // the first four of its ten
			x, err := Explore(t.Context(), first)
			if err != nil || x.Schedules != 4 {
				t.Fatalf("%d schedules, %v", x.Schedules, err)
			}
			if err := p.Add(e.Shard, x); err != nil {
				t.Fatal(err)
			}
			cut, _, err := p.Explored()
			if err != nil || cut.Verdict() == "holds" || !strings.Contains(strings.Join(cut.Missing, " "), "2 shards are missing of 3: 1, 3 shard 2 has tried 4 of its 10 schedules") {
				t.Fatalf("%v: %v, %v", cut.Verdict(), cut.Missing, err)
			}
			e.Resume = p.Shares[2]
		}
		x, err := Explore(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(e.Shard, x); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	merged, notes, err := Merge(parts...)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	x, _, err := merged.Explored()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := foundIn(t, x), foundIn(t, whole); got != want {
		t.Errorf("merged:\n%s\nwhole:\n%s", got, want)
	}
}

func TestMergeRefusesWhatDoesNotBelongTogether(t *testing.T) {
	part := func(change func(*ExploreOptions, *Part)) *Part {
		e := sampleExploration(6)
		e.Shard = Shard{1, 2}
		p, err := NewPart(e)
		if err != nil {
			t.Fatal(err)
		}
		p.Shares[1] = &Share{Done: 3}
		change(&e, p)
		return p
	}
	for want, change := range map[string]func(*ExploreOptions, *Part){
		"another scenario: \"seed: 12\" where the first one has \"seed: 11\"": func(e *ExploreOptions, p *Part) {
			p.Scenario = strings.Replace(p.Scenario, "seed: 11", "seed: 12", 1)
		},
		"the version of Lockpick v2":                      func(_ *ExploreOptions, p *Part) { p.Lockpick = "v2" },
		"the number of shards 3, the first one 2":         func(_ *ExploreOptions, p *Part) { p.Shards = 3 },
		"the number of schedules 7, the first one 6":      func(_ *ExploreOptions, p *Part) { p.Schedules = 7 },
		"the properties L2, the first one L2,L3,AV":       func(_ *ExploreOptions, p *Part) { p.Properties = []string{"L2"} },
		"shard 1 occurs twice, with different results of": func(_ *ExploreOptions, p *Part) { p.Shares[1] = &Share{Done: 3, Simulated: 1} },
	} {
		_, _, err := Merge(part(func(*ExploreOptions, *Part) {}), part(change))
		if !errors.Is(err, ErrParts) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, notes, err := Merge(part(func(*ExploreOptions, *Part) {}), part(func(*ExploreOptions, *Part) {}))
	if err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0], ": 1") {
		t.Errorf("the same part twice: %v, %v", notes, err)
	}
}

func TestShardFromTheEnvironmentOfEngines(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", "1/1"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=64", "1/64 Slurm"},
		{"SLURM_ARRAY_TASK_ID=64 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=64", "64/64 Slurm"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=5", "Slurm: SLURM_ARRAY_TASK_ID=9 and 5 jobs: there is no shard 9 of 5"},
		{"JOB_COMPLETION_INDEX=0 LOCKPICK_SHARDS=8", "1/8 Kubernetes"},
		{"JOB_COMPLETION_INDEX=7 LOCKPICK_SHARDS=8", "8/8 Kubernetes"},
		{"JOB_COMPLETION_INDEX=7", "nothing says of how many: set LOCKPICK_SHARDS"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=3 AWS_BATCH_JOB_ARRAY_SIZE=4", "4/4 AWS Batch"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=3", "1/3 GitLab"},
		{"PARALLEL_SEQ=2 LOCKPICK_SHARDS=3", "2/3 GNU parallel"},
		{"PARALLEL_SEQ=x LOCKPICK_SHARDS=3", "PARALLEL_SEQ is \"x\", which is no number"},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		s, engine, err := ShardFrom(func(name string) string { return env[name] })
		got := strings.TrimSpace(s.String() + " " + engine)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.env, got, c.want)
		}
	}
}

// TestShardsShareAllSchedules: each schedule belongs to exactly one shard.
func TestShardsShareAllSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, count := rapid.IntRange(0, 300).Draw(t, "schedules"), rapid.IntRange(1, 70).Draw(t, "shards")
		seen := make([]int, all)
		for index := 1; index <= count; index++ {
			s := Shard{index, count}
			if again, err := ParseShard(s.String()); err != nil || again != s {
				t.Fatalf("%v is read as %v: %v", s, again, err)
			}
			for i := range s.schedules(all) {
				seen[s.number(i)]++
			}
		}
		for number, n := range seen {
			if n != 1 {
				t.Fatalf("schedule %d belongs to %d shards", number, n)
			}
		}
	})
}

// partSeed is a part with a share.
func partSeed(t testing.TB) []byte {
	p, err := NewPart(sampleExploration(6))
	if err != nil {
		t.Fatal(err)
	}
	p.Shares[1] = &Share{Done: 6, Kinds: map[string]*FaultCount{"kill": nil}}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzReadPart: no input panics, and what is read can be judged.
func FuzzReadPart(f *testing.F) {
	f.Add(partSeed(f))
	f.Fuzz(checkReadPart)
}

func checkReadPart(t *testing.T, text []byte) {
	p, err := ReadPart(bytes.NewReader(text))
	if err != nil {
		return
	}
	if p.Shards > 1000 || len(p.Shares) > 100 {
		return // only slow
	}
	if x, _, err := p.Explored(); err == nil {
		_ = x.Verdict()
	}
}

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzReadPart", func(t *testing.T) {
		inputs.Try(t, "FuzzReadPart", [][]byte{partSeed(t)}, checkReadPart)
	})
}
