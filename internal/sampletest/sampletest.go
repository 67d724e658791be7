// Package sampletest lets a test with many long cases try a share of them: a small one in `make test`, a larger one
// with the tag real, in `make test-real`, and all of them with SAMPLE=all, in `make nightly`. Which cases belong to
// the share is random in each run. SAMPLE=SEED, with the number that the test logs, tries the same cases again.
package sampletest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that chooses the cases: all, or the seed of the share.
const variable = "SAMPLE"

// all is true if every case is tried. seed decides which ones are otherwise.
var all, seed = chosen(os.Getenv(variable))

// chosen reads the environment variable.
func chosen(value string) (all bool, seed uint64) {
	if value == "" || value == "all" {
		return value == "all", uint64(rand.Uint32())
	}
	seed, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s=%s: it is neither all nor the seed of a share", variable, value))
	}
	return false, seed
}

// Of returns a function that reports whether the test tries its case number i: one of every few cases, beginning with
// a random one. few is inTest without the tag real, and inReal with it. It logs which cases are tried, and how to try all.
func Of(t testing.TB, inTest, inReal int) func(i int) bool {
	t.Helper()
	few := every(inTest, inReal)
	if few == 1 {
		return func(int) bool { return true }
	}
	name := fnv.New64()
	name.Write([]byte(t.Name()))
	first := rand.New(rand.NewPCG(seed, name.Sum64())).IntN(few)
	t.Logf("one of every %d cases, from number %d on: %s=%d tries the same, %s=all all of them", few, first, variable, seed, variable)
	return func(i int) bool { return i%few == first }
}

// Count returns a number of cases: all of them divided by inTest without the tag real, and by inReal with it.
func Count(whole, inTest, inReal int) int { return max(1, whole/every(inTest, inReal)) }

// Checks divides the number of checks that rapid makes of each property as Count does, until the test ends.
func Checks(t testing.TB, inTest, inReal int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	whole, err := strconv.Atoi(before)
	if err == nil {
		err = f.Value.Set(strconv.Itoa(Count(whole, inTest, inReal)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// Flag defines a flag for a number of cases, which Count chooses unless it is given.
func Flag(name string, whole, inTest, inReal int, usage string) (count func() int) {
	given := flag.Int(name, 0, usage+"; 0: as many as SAMPLE says")
	return func() int {
		if *given > 0 {
			return *given
		}
		return Count(whole, inTest, inReal)
	}
}

// every returns the number of cases of which one is tried.
func every(inTest, inReal int) int {
	os.Getenv(variable) // go test keeps results, and only what a test itself reads tells it that they depend on the variable
	switch {
	case all:
		return 1
	case tagged:
		return inReal
	}
	return inTest
}
