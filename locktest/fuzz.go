package locktest

import (
	"encoding/binary"
	"errors"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"lockpick/campaign/bubble"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/search"
)

// seedSchedules is how many schedules the fuzzer starts from, and bytesOfSchedule how long they are:
// two bytes for each choice.
const (
	seedSchedules   = 8
	bytesOfSchedule = 64
)

// Fuzz has Go's fuzzer choose the schedules: it mutates them, and goes on with those that reach new
// code of the lock and its client library (go test -fuzz). Each input stands for one schedule of
// faults. An input that fails is kept by the fuzzer, and go test without -fuzz runs it up to 10
// times: two runs of a schedule differ. Schedules, For and RealRedis are without effect.
func Fuzz(f *testing.F, make func(Env) (Lock, error), options ...Option) {
	f.Helper()
	c := prepare(f, make, append(slices.Clone(options), func(c *config) { c.real = false }))
	given := map[string]bool{}
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(zeros[:24:24], c.base.Seed)))
	for range seedSchedules {
		var b [bytesOfSchedule]byte
		_, _ = random.Read(b[:]) // it never fails
		given[string(b[:])] = true
		f.Add(b[:])
	}
	fuzzing := isFuzzing()
	f.Fuzz(func(t *testing.T, schedule []byte) {
		tries := 1
		if !fuzzing && !given[string(schedule)] {
			tries = attempts
		}
		for i := range tries {
			s := scheduleOf(c.base, schedule, uint64(i))
			h, err := bubble.Enact(t.Context(), t, s.WithRequirements())
			if err != nil && !errors.Is(err, bubble.ErrLeaked) {
				t.Fatalf("locktest: %v", err)
			}
			result, judged := judge.History(h)
			if judged != nil {
				t.Fatalf("locktest: %v", judged)
			}
			if v, _ := result.FirstViolation(s.Properties); v != nil {
				t.Fatal(story(v, s) + keepRun(h))
			}
			if err != nil {
				t.Fatalf("locktest: %v", err)
			}
		}
	})
}

var zeros [32]byte

// isFuzzing reports whether this program mutates inputs, or is a worker of one that does.
func isFuzzing() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// scheduleOf is the scenario that an input stands for, with one of its seeds.
func scheduleOf(base scenario.Scenario, input []byte, seed uint64) scenario.Scenario {
	sum := fnv.New64a()
	_, _ = sum.Write(input) // it never fails
	choices := &choices{input: input, rest: rand.NewPCG(sum.Sum64(), 0)}
	return search.Draw(base, sum.Sum64()+seed, choices)
}

// choices makes each choice from the next two bytes of the input, so that a byte that changes
// changes one choice, and from a generator once they are used up.
type choices struct {
	input []byte
	rest  *rand.PCG
}

func (c *choices) Uint64() uint64 {
	low := c.rest.Uint64()
	if len(c.input) < 2 {
		return low
	}
	high := binary.BigEndian.Uint16(c.input)
	c.input = c.input[2:]
	return uint64(high)<<48 | low>>16
}
