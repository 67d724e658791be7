package search

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lockpick/campaign/scenario"
)

// Shard is the part of a job that one process does (see Job).
type Shard struct {
	Index int // from 1
	Count int
}

// String renders the shard for ParseShard, as in 3/64.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Whole reports whether the shard is all of the job.
func (s Shard) Whole() bool { return s.Count <= 1 }

// maxShards limits the number of shards. It is what AWS Batch starts at most.
const maxShards = 10_000

// checkShardDriver rejects the driver auto, because each machine would choose its own.
func checkShardDriver(driver string) error {
	if driver == scenario.Auto {
		return errors.New("driver auto: shards need the same driver, and each machine would choose for itself: name one")
	}
	return nil
}

// ParseShard parses a shard: its index, from 1, and the number of shards, as in 3/64.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(strings.TrimSpace(text), "/")
	i, err := strconv.Atoi(index)
	n, problem := strconv.Atoi(count)
	if !ok || err != nil || problem != nil {
		return Shard{}, fmt.Errorf("%q is not a shard: write its index, from 1, and their number, as in 3/64", text)
	}
	return newShard(i, n)
}

func newShard(index, count int) (Shard, error) {
	if count < 1 || count > maxShards || index < 1 || index > count {
		return Shard{}, fmt.Errorf("there is no shard %d of %d: want an index from 1 to the number of shards, and at most %d of them", index, count, maxShards)
	}
	return Shard{index, count}, nil
}

// ShardsVariable names the environment variable with the number of shards, for engines that give a job only
// its index.
const ShardsVariable = "LOCKPICK_SHARDS"

// arrayJob describes the environment variables in which an engine gives a process the index of its job.
type arrayJob struct {
	engine string
	index  string // variable with the index
	first  int    // the index of the first job
	least  string // variable with the index of the first job, if the user can choose it
	count  string // variable with the number of jobs; empty: only ShardsVariable has it
}

// arrayJobs lists the engines that ShardFrom knows. The variables are those of their manuals: Kubernetes
// "Indexed Job", Slurm "Job Array Support", AWS Batch "Array jobs", GitLab CI/CD "parallel", GNU parallel.
// GitHub Actions has no variables for a matrix: examples/cluster shows how to pass its job-index and
// job-total.
var arrayJobs = []arrayJob{
	{"Slurm", "SLURM_ARRAY_TASK_ID", 0, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", 0, "", ""},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", 0, "", "AWS_BATCH_JOB_ARRAY_SIZE"},
	{"GitLab", "CI_NODE_INDEX", 1, "", "CI_NODE_TOTAL"},
	{"GNU parallel", "PARALLEL_SEQ", 1, "", ""},
}

// ShardFrom reads from the environment which shard this process is, and names the engine. Without a known
// engine it returns the whole and no name. It fails if an engine gives the index but nothing gives the number
// of shards, or if the index is out of range, as in a Slurm array with gaps.
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
				err = fmt.Errorf("%s: %s is %q, which is not a number", a.engine, variable, text)
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
