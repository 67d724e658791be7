package sampletest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// given sets what the environment variable chooses, for one test.
func given(t *testing.T, value string) {
	before, was := all, seed
	t.Cleanup(func() { all, seed = before, was })
	all, seed = chosen(value)
}

// tried returns the cases of six that are tried.
func tried(t *testing.T) (numbers []int) {
	in := Of(t, 3, 2)
	for i := range 6 {
		if in(i) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func TestEachCaseIsTriedByAndBy(t *testing.T) {
	ever := map[int]bool{}
	for range 1000 {
		given(t, "")
		numbers := tried(t)
		for _, i := range numbers {
			ever[i] = true
		}
		if want := map[bool]int{false: 2, true: 3}[tagged]; len(numbers) != want {
			t.Fatalf("%d of 6 cases are tried, want %d", len(numbers), want)
		}
	}
	if len(ever) != 6 {
		t.Errorf("only %v are ever tried", ever)
	}
	if got, want := Count(12, 4, 3), map[bool]int{false: 3, true: 4}[tagged]; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestChecksAreDividedUntilTheTestEnds(t *testing.T) {
	checks := func() string { return flag.Lookup("rapid.checks").Value.String() }
	before := checks()
	t.Cleanup(func() { _ = flag.Set("rapid.checks", before) })
	for sample, want := range map[string]string{"": map[bool]string{false: "3", true: "4"}[tagged], "all": "12"} {
		given(t, sample)
		_ = flag.Set("rapid.checks", "12")
		t.Run("sample "+sample, func(t *testing.T) {
			Checks(t, 4, 3)
			made := 0
			rapid.Check(t, func(*rapid.T) { made++ })
			if got := checks(); got != want || strconv.Itoa(made) != want {
				t.Errorf("%s checks are set and %d made, want %s", got, made, want)
			}
		})
		if got := checks(); got != "12" {
			t.Errorf("then %s are set", got)
		}
	}
}

func TestSampleChoosesTheCases(t *testing.T) {
	given(t, "all")
	if n := len(tried(t)); n != 6 || Count(12, 4, 3) != 12 {
		t.Errorf("with all, %d of 6 cases are tried, and %d of 12", n, Count(12, 4, 3))
	}
	given(t, "7")
	once := tried(t)
	given(t, "7")
	if again := tried(t); once[0] != again[0] {
		t.Errorf("with the same seed %v are tried, and then %v", once, again)
	}
}

// TestResultsDependOnTheSample: go test runs a test again for another sample, and keeps the result of one that it has run.
func TestResultsDependOnTheSample(t *testing.T) {
	kept := func(sample string) bool {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-run", "^TestEachCaseIsTriedByAndBy$", ".")
		cmd.Env = append(os.Environ(), variable+"="+sample)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	first, second := fmt.Sprint(rand.Uint32()), fmt.Sprint(rand.Uint32())
	for _, x := range []struct {
		sample string
		kept   bool
	}{{first, false}, {first, true}, {second, false}} {
		if got := kept(x.sample); got != x.kept {
			t.Errorf("the result with %s=%s was kept: %v, want %v", variable, x.sample, got, x.kept)
		}
	}
}
