package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"lockpick/campaign/scenario"
	"lockpick/internal/inputs"
	"lockpick/internal/sampletest"
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
		t, err := e.try(context.Background(), nil, i)
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

// begun is a part that writes to memory, after its job.
func begun[R any](t interface{ Fatal(...any) }, p *Part[R]) *bytes.Buffer {
	out := &bytes.Buffer{}
	p.out = out
	if err := p.write(line{Job: &p.Job}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPartsOfAnyShardsAreTheWhole: however units are shared among shards, shards are repeated, killed at any byte, and
// their files joined, what is read is all that was written, in any order and any number of times.
func TestPartsOfAnyShardsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var units []string
		for i := range rapid.IntRange(1, 20).Draw(t, "units") {
			units = append(units, fmt.Sprint("u", i))
		}
		n := rapid.IntRange(1, 8).Draw(t, "shards")
		of := map[string]string{"seed": "1"}
		want := map[string]int{}
		var files [][]byte
		for i := range n {
			s := Shard{i + 1, n}
			for range rapid.IntRange(0, 2).Draw(t, "times") {
				p := NewPart[int]("test", of, units, s)
				out := begun(t, p)
				header := out.Len()
				for _, u := range p.Left(s) {
					if err := p.Add(u, slices.Index(units, u)); err != nil {
						t.Fatal(err)
					}
				}
				killed := out.Bytes()[:rapid.IntRange(header, out.Len()).Draw(t, "killed after")]
				complete := killed[:bytes.LastIndexByte(killed, '\n')+1]
				for j, u := range NewPart[int]("test", of, units, s).Left(s) {
					if j < bytes.Count(complete, []byte("\n"))-1 {
						want[u] = slices.Index(units, u)
					}
				}
				files = append(files, killed)
				if rapid.Bool().Draw(t, "joined") && len(files) > 1 { // only complete lines can be joined
					files = append(files[:len(files)-2], slices.Concat(complete, files[len(files)-2]))
				}
			}
		}
		if len(files) == 0 {
			return
		}
		got := &Part[int]{Job: Job{Kind: "test"}, Done: map[string]int{}, from: map[string]string{}}
		for i, f := range rapid.Permutation(files).Draw(t, "order") {
			if _, err := got.read(fmt.Sprint(i), f); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got.Done); diff != "" {
			t.Fatal(diff)
		}
		if complete := len(want) == len(units); complete != (len(got.Missing()) == 0) {
			t.Fatalf("%d of %d are done, missing: %v", len(want), len(units), got.Missing())
		}
	})
}

// TestPartsThatDoNotBelongTogether are refused, each with what differs.
func TestPartsThatDoNotBelongTogether(t *testing.T) {
	dir := t.TempDir()
	written := 0
	file := func(text string) string {
		written++
		path := filepath.Join(dir, fmt.Sprintf("%d.json", written))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	part := func(change func(*Part[int])) string {
		p := NewPart[int]("test", map[string]string{"seed": "1", "scenario": "a: 1\nb: 2\n"}, []string{"a", "b", "c"}, Shard{1, 3})
		p.Lockpick = "v1"
		change(p)
		out := begun(t, p)
		for u, r := range p.Done {
			if err := p.Add(u, r); err != nil {
				t.Fatal(err)
			}
		}
		return file(out.String())
	}
	first := part(func(p *Part[int]) { p.Done["b"] = 1 })
	for want, change := range map[string]func(*Part[int]){
		`another seed: "2" where the first one has "1"`:                                          func(p *Part[int]) { p.Of["seed"] = "2" },
		`another scenario: "b: 3" where the first one has "b: 2"`:                                func(p *Part[int]) { p.Of["scenario"] = "a: 1\nb: 3\n" },
		"the version of Lockpick v0, the first one v1":                                           func(p *Part[int]) { p.Lockpick = "v0" },
		"other test than the first one":                                                          func(p *Part[int]) { p.Units = []string{"a", "b"} },
		"the number of shards 2, the first one 3":                                                func(p *Part[int]) { p.Shards = 2 },
		`its units are "claims", not test`:                                                       func(p *Part[int]) { p.Kind = "claims" },
		"more options":                                                                           func(p *Part[int]) { p.Of["driver"] = "sim" },
		"shard 2 occurs twice, with different results of b: it is 1 in " + first + ", and 2 in ": func(p *Part[int]) { p.Done["b"] = 2 },
	} {
		if _, _, err := ReadParts[int]("test", first, part(change)); !errors.Is(err, ErrParts) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, text := range []string{"", "[]\n", "{}\n", `{"lockpick_part":2,"kind":"other"}` + "\n", `{"lockpick_part":1,"kind":"test","units":["a"],"shards":1}` + "\n",
		`{"lockpick_part":2,"kind":"test","units":["a"],"shards":1}` + "\n" + `{"unit":"b","result":1}` + "\n", `{"lockpick_part":2,"kind":"test","units":["a"],"shards":9999999}` + "\n"} {
		path := file(text)
		if _, _, err := ReadParts[int]("test", path); !errors.Is(err, ErrParts) {
			t.Errorf("%s: %v", text, err)
		}
		if text == "" {
			continue // nothing is lost
		}
		if _, err := NewPart[int]("test", nil, []string{"a"}, Shard{1, 1}).Open(path); !errors.Is(err, ErrParts) {
			t.Errorf("resume %s: %v", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("what cannot be resumed was changed to %q, %v", b, err)
		}
	}
	if _, notes, err := ReadParts[int]("test", first, first); err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0], ": 2") {
		t.Errorf("%q, %v", notes, err)
	}
}

// TestWhereResultsDiffer: a conflict names the place and both values.
func TestWhereResultsDiffer(t *testing.T) {
	type result struct {
		Cases []map[string]string
		N     int
	}
	a := result{[]map[string]string{{"found": "holds"}}, 1}
	for want, b := range map[string]result{
		"":                                    a,
		`.Cases[0].found. "holds" "violated"`: {[]map[string]string{{"found": "violated"}}, 1},
		`.Cases[0].why. null "x"`:             {[]map[string]string{{"found": "holds", "why": "x"}}, 1},
		".N. 1 2":                             {a.Cases, 2},
		`.Cases. [{"found":"holds"}] null`:    {nil, 1},
	} {
		where, x, y := difference(compared(a), compared(b))
		if got := strings.TrimSpace(where + " " + x + " " + y); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestAnySplitOfAnExplorationIsTheWhole splits an exploration into any number of shards, some of which are repeated, and
// reads their files in any order.
func TestAnySplitOfAnExplorationIsTheWhole(t *testing.T) {
	sampletest.Checks(t, 5, 2)
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
		count := rapid.IntRange(1, 20).Draw(t, "shards")
		var files [][]byte
		for index := 1; index <= count; index++ {
			s := Shard{index, count}
			p, err := NewExplorePart(e, s)
			if err != nil {
				t.Fatal(err)
			}
			out := begun(t, p)
			for _, unit := range p.Left(s) {
				first, n, err := schedulesOf(unit)
				if err != nil {
					t.Fatal(err)
				}
				x := newExploreResult(&e)
				for _, s := range all[first : first+n] {
					x.fold(s)
				}
				x.conclude(e)
				share, err := shareOf(x)
				if err == nil {
					err = p.Add(unit, *share)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				files = append(files, out.Bytes())
			}
		}
		p := &Part[Share]{Job: Job{Kind: ExploreKind}, Done: map[string]Share{}, from: map[string]string{}}
		for i, f := range rapid.Permutation(files).Draw(t, "order") {
			if _, err := p.read(fmt.Sprint(i), f); err != nil {
				t.Fatal(err)
			}
		}
		x, _, err := Explored(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, x); got != want {
			t.Fatalf("merged:\n%s\nwhole:\n%s", got, want)
		}
	})
}

// TestAKilledShardGoesOn runs the real thing: one shard is killed while it writes, and started again. Its file is then,
// byte by byte, that of a shard that was not killed, and together they are what one process finds.
func TestAKilledShardGoesOn(t *testing.T) {
	e := sampleExploration(30)
	e.Workers = 2
	whole, err := Explore(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	e.Collect = false // a shard implies it
	dir := t.TempDir()
	do := func(s Shard, file string, left int) {
		t.Helper()
		p, err := NewExplorePart(e, s)
		if err != nil {
			t.Fatal(err)
		}
		end, err := p.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Left(s)); n != left {
			t.Errorf("%s: %d are left, want %d", file, n, left)
		}
		if err := errors.Join(ExploreShard(t.Context(), e, s, p), end()); err != nil || len(p.Left(s)) > 0 {
			t.Fatal(err)
		}
	}
	var files []string
	for index := 1; index <= 3; index++ {
		file := filepath.Join(dir, fmt.Sprint(index))
		files = append(files, file)
		do(Shard{index, 3}, file, 10)
	}
	complete, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(complete, []byte("\n"))
	for _, killed := range []struct{ length, left int }{{len(lines[0]) - 3, 10}, {len(lines[0]), 10}, {len(complete) - 3, 1}, {len(complete), 0}} {
		if err := os.WriteFile(files[1], complete[:killed.length], 0o600); err != nil {
			t.Fatal(err)
		}
		if killed.left == 1 { // what is there counts, and what is missing is named
			p, _, err := ReadParts[Share](ExploreKind, files[1])
			if err != nil {
				t.Fatal(err)
			}
			cut, _, err := Explored(p)
			if err != nil || cut.Verdict() == "holds" || strings.Join(cut.Missing, "; ") != "2 shards are missing of 3: 1, 3; shard 2 lacks schedules 28-28" {
				t.Fatalf("%v: %q, %v", cut.Verdict(), cut.Missing, err)
			}
		}
		do(Shard{2, 3}, files[1], killed.left)
		if again, err := os.ReadFile(files[1]); err != nil || !bytes.Equal(again, complete) {
			t.Errorf("killed after %d bytes, the shard wrote\n%s\nwant\n%s", killed.length, again, complete)
		}
	}
	p, notes, err := ReadParts[Share](ExploreKind, files...)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	x, _, err := Explored(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := foundIn(t, x), foundIn(t, whole); got != want {
		t.Errorf("merged:\n%s\nwhole:\n%s", got, want)
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
		{"PARALLEL_SEQ=x LOCKPICK_SHARDS=3", "PARALLEL_SEQ is \"x\", which is not a number"},
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

// TestShardsShareAllUnits: each unit belongs to exactly one shard, and each schedule to one unit.
func TestShardsShareAllUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := sampleExploration(rapid.IntRange(1, 3000).Draw(t, "schedules"))
		count := rapid.IntRange(1, 70).Draw(t, "shards")
		seen := make([]int, e.Schedules)
		p, err := NewExplorePart(e, Shard{1, count})
		if err != nil {
			t.Fatal(err)
		}
		for index := 1; index <= count; index++ {
			s := Shard{index, count}
			if again, err := ParseShard(s.String()); err != nil || again != s {
				t.Fatalf("%v is read as %v: %v", s, again, err)
			}
			for _, unit := range p.Left(s) {
				first, n, err := schedulesOf(unit)
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					seen[first+i]++
				}
			}
		}
		for number, n := range seen {
			if n != 1 {
				t.Fatalf("schedule %d belongs to %d units of %v", number, n, p.Units)
			}
		}
	})
}

// partSeed is a part with a result.
func partSeed(t testing.TB) []byte {
	p, err := NewExplorePart(sampleExploration(6), Shard{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	out := begun(t, p)
	if err := p.Add(p.Units[0], Share{Done: 1, Kinds: map[string]*FaultCount{"kill": nil}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzReadPart: no input panics, and what is read can be judged.
func FuzzReadPart(f *testing.F) {
	f.Add(partSeed(f))
	f.Fuzz(checkReadPart)
}

func checkReadPart(t *testing.T, text []byte) {
	p := &Part[Share]{Job: Job{Kind: ExploreKind}, Done: map[string]Share{}, from: map[string]string{}}
	if _, err := p.read("", text); err != nil {
		return
	}
	if p.Shards > 1000 || len(p.Done) > 100 {
		return // only slow
	}
	if x, _, err := Explored(p); err == nil {
		_ = x.Verdict()
	}
}

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzReadPart", func(t *testing.T) {
		inputs.Try(t, "FuzzReadPart", [][]byte{partSeed(t)}, checkReadPart)
	})
}
