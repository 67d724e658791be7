package search

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of an exploration for a process of its own: the schedules whose number has
// the remainder Index-1 when divided by Count. Every shard is a fair sample of the whole,
// because the numbers of schedules do not depend on their content.
type Shard struct {
	Index int // from 1
	Count int
}

// String formats the shard for ParseShard: 3/64.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Whole says whether the shard is all of the exploration.
func (s Shard) Whole() bool { return s.Count <= 1 }

// maxShards bounds the number of shards, because a merge keeps the result of each.
const maxShards = 100_000

// ParseShard parses a shard: its index, from 1, and the number of shards, as in 3/64.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(strings.TrimSpace(text), "/")
	i, err := strconv.Atoi(index)
	n, problem := strconv.Atoi(count)
	if !ok || err != nil || problem != nil {
		return Shard{}, fmt.Errorf("%q is no shard: write its index, from 1, and their number, as in 3/64", text)
	}
	return newShard(i, n)
}

func newShard(index, count int) (Shard, error) {
	if count < 1 || count > maxShards || index < 1 || index > count {
		return Shard{}, fmt.Errorf("there is no shard %d of %d: want an index from 1 to the number of shards, and at most %d of them", index, count, maxShards)
	}
	return Shard{index, count}, nil
}

// ShardsVariable is the environment variable with the number of shards, for engines that tell a
// job only its index.
const ShardsVariable = "LOCKPICK_SHARDS"

// arrayJob describes how an engine tells a process the index of its job.
type arrayJob struct {
	engine string
	index  string // variable
	first  int    // the index of the first job
	least  string // variable with it, if the user can choose it
	count  string // variable; empty: only ShardsVariable has it
}

// arrayJobs are the engines that ShardFrom knows. The variables are those of their manuals:
// Kubernetes "Indexed Job", Slurm "Job Array Support", AWS Batch "Array jobs", GitLab CI/CD
// "parallel", GNU parallel. GitHub Actions has no variables for a matrix: examples/cluster shows
// how its job-index and job-total get here.
var arrayJobs = []arrayJob{
	{"Slurm", "SLURM_ARRAY_TASK_ID", 0, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", 0, "", ""},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", 0, "", "AWS_BATCH_JOB_ARRAY_SIZE"},
	{"GitLab", "CI_NODE_INDEX", 1, "", "CI_NODE_TOTAL"},
	{"GNU parallel", "PARALLEL_SEQ", 1, "", ""},
}

// ShardFrom determines from the environment which shard this process is, and by which engine.
// Without a known engine it returns the whole and no name. It fails if an engine gives the
// index and nothing gives the number of shards, and if a Slurm array has gaps between its
// indices.
func ShardFrom(getenv func(string) string) (s Shard, engine string, err error) {
	for _, a := range arrayJobs {
		if getenv(a.index) == "" {
			continue
		}
		number := func(variable string, otherwise int) int {
			text := getenv(variable)
			if variable == "" || text == "" || err != nil {
				return otherwise
			}
			var n int
			if n, err = strconv.Atoi(text); err != nil {
				err = fmt.Errorf("%s: %s is %q, which is no number", a.engine, variable, text)
			}
			return n
		}
		index, first := number(a.index, 0), number(a.least, a.first)
		count := number(ShardsVariable, number(a.count, 0))
		switch {
		case err != nil:
			return Shard{}, a.engine, err
		case count == 0:
			return Shard{}, a.engine, fmt.Errorf("%s says with %s that this is job %d, and nothing says of how many: set %s, or give --shard", a.engine, a.index, index, ShardsVariable)
		}
		if s, err = newShard(index-first+1, count); err != nil {
			return s, a.engine, fmt.Errorf("%s: %s=%d and %d jobs: %w", a.engine, a.index, index, count, err)
		}
		return s, a.engine, nil
	}
	return Shard{1, 1}, "", nil
}

// schedules returns how many of the schedules of an exploration the shard has.
func (s Shard) schedules(all int) int {
	if s.Whole() {
		return all
	}
	return max(0, (all-s.Index+s.Count)/s.Count)
}

// number returns the number, in the whole exploration, of the shard's i-th schedule, from 0.
func (s Shard) number(i int) int {
	if s.Whole() {
		return i
	}
	return s.Index - 1 + i*s.Count
}
