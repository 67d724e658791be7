package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	count     = flag.Int("mutants", -1, "mutants to try, drawn at random; 0: all of them; -1: none")
	seed      = flag.Uint64("mutants.seed", 0, "seed of that choice (0: a fresh one)")
	only      = flag.String("mutants.only", "", "try only mutants whose file or text contains this")
	histories = flag.Int("mutants.histories", 3000, "random histories on which a mutant is compared with the oracle")
)

const root = "../.."

// apply returns a file with the mutant in it.
func (m mutant) apply() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %q is there %d times, not once: the mutant must follow the code", m.file, m.old, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// suite is some tests of a package.
type suite struct {
	pkg  string
	args []string
}

// suites are the tests of which a mutant of a package must fail one, in the order in which
// they are tried: those that take the longest are the last. History knows no checker.
func suites(pkg string) []suite {
	all := []suite{
		{"history", nil},
		{"checker", []string{"-test.skip", "^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$"}},
		{"checker", []string{"-test.run", "^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$", "-oracle.seed=1", fmt.Sprintf("-oracle.histories=%d", *histories)}},
	}
	if pkg == "checker" {
		return all[1:]
	}
	return all
}

// killed says which test noticed the mutant, or "".
func (m mutant) killed(t *testing.T) string {
	dir := t.TempDir()
	text, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	mutated := filepath.Join(dir, "mutant.go")
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"mutant.go": text, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return failure(t, dir, suites(filepath.Dir(m.file)), "-overlay", filepath.Join(dir, "overlay.json"))
}

// failure builds the tests with some flags and returns the name of the first that fails, or "".
func failure(t *testing.T, dir string, suites []suite, flags ...string) string {
	built := map[string]bool{}
	for _, s := range suites {
		program := filepath.Join(dir, s.pkg+".test")
		if !built[s.pkg] {
			build := exec.Command("go", append([]string{"test", "-c", "-vet=off", "-o", program, "./" + s.pkg}, flags...)...)
			build.Dir = root
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("it does not compile: %v\n%s", err, out)
			}
			built[s.pkg] = true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		run := exec.CommandContext(ctx, program, append([]string{"-test.failfast", "-rapid.seed=1", "-rapid.nofailfile"}, s.args...)...)
		run.Dir = filepath.Join(root, s.pkg)
		if out, err := run.CombinedOutput(); err != nil {
			return s.pkg + ": " + failed(string(out))
		}
	}
	return ""
}

// failed is the name of the test that failed, from its output.
func failed(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
	}
	first, _, _ := strings.Cut(out, "\n")
	return first
}

// Every mutant changes the code as it is: one that no longer does would test nothing.
func TestMutantsFitTheCode(t *testing.T) {
	for _, m := range mutants {
		if _, err := m.apply(); err != nil {
			t.Error(err)
		}
	}
	if len(mutants) < 40 {
		t.Errorf("there are only %d mutants", len(mutants))
	}
}

// The tests of checker and history notice every mutant.
func TestMutantsAreKilled(t *testing.T) {
	if *count < 0 {
		t.Skip("a mutant takes seconds to build, and a survivor must not fail other work by chance: make nightly tries them all (-mutants=0)")
	}
	var chosen []mutant
	for _, m := range mutants {
		if strings.Contains(m.file+"\n"+m.old+"\n"+m.new, *only) {
			chosen = append(chosen, m)
		}
	}
	if *count > 0 && *count < len(chosen) {
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		t.Logf("%d of %d mutants, chosen with seed %d: go test ./internal/mutate -mutants=%d -mutants.seed=%d", *count, len(chosen), *seed, *count, *seed)
		r := rand.New(rand.NewPCG(*seed, 0))
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:*count]
	}
	if *count == 0 { // a few mutants are tried beside all these tests
		if by := failure(t, t.TempDir(), suites("history")); by != "" {
			t.Fatalf("the code as it is fails %s: that a mutant does so would mean nothing", by)
		}
	}
	dead := 0
	for _, m := range chosen {
		t.Run(m.file, func(t *testing.T) {
			by := m.killed(t)
			if by == "" {
				t.Errorf("survives: %s\n  - %s\n  + %s", m.file, m.old, m.new)
				return
			}
			dead++
			t.Logf("%-22s %-60.60s -> %-60.60s %s", m.file, m.old, m.new, by)
		})
	}
	t.Logf("%d of %d mutants were killed", dead, len(chosen))
}
