package locktest

import (
	"encoding/binary"
	"errors"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/search"
)

// seedSchedules is the number of schedules that the fuzzer starts from, and bytesOfSchedule their length: two
// bytes for each choice.
const (
	seedSchedules   = 8
	bytesOfSchedule = 64
)

// Fuzz lets Go's fuzzer choose the schedules (go test -fuzz): it mutates them, and continues with those that
// reach new code of the lock and its client library. Each input stands for one schedule of faults. The fuzzer
// stores an input that fails, and go test without -fuzz runs it up to 10 times, because two runs of a
// schedule differ. It does not take the options Schedules, For and RealRedis.
func Fuzz(f *testing.F, make func(Env) (Lock, error), options ...Option) {
	f.Helper()
	c := prepare(f, "Fuzz", usedByFuzz, make, options)
	given := map[string]bool{}
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(zeros[:24:24], c.base.Seed)))
	for range seedSchedules {
		var b [bytesOfSchedule]byte
		_, _ = random.Read(b[:]) // never fails
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
			h, err := campaign.Record(t.Context(), s.WithRequirements(), bubble.In(t), campaign.Options{})
			if err != nil && !errors.Is(err, bubble.ErrLeaked) {
				t.Fatalf("locktest: %v", err)
			}
			if crash := panicked(h); crash != nil {
				t.Fatalf("locktest: %v", crash)
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

// isFuzzing reports whether this program mutates inputs, or is a worker process of a program that does.
func isFuzzing() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// scheduleOf returns the scenario that an input stands for. seed varies its seed.
func scheduleOf(base scenario.Scenario, input []byte, seed uint64) scenario.Scenario {
	sum := fnv.New64a()
	_, _ = sum.Write(input) // never fails
	choices := &choices{input: input, rest: rand.NewPCG(sum.Sum64(), 0)}
	return search.Draw(base, sum.Sum64()+seed, choices)
}

// choices is a random source that takes each number from the next two bytes of the input, so that one changed
// byte changes one choice. After the end of the input, a generator makes the numbers.
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
