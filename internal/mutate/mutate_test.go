package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	count     = flag.Int("mutants", -1, "mutants to try, drawn at random; 0: all of them; -1: none")
	seed      = flag.Uint64("mutants.seed", 0, "seed of that choice (0: a fresh one)")
	only      = flag.String("mutants.only", "", "try only mutants whose line in the list contains this")
	histories = flag.Int("mutants.histories", 3000, "random histories on which a mutant is compared with the oracle")
)

const root = "../.."

// change is a mutant in the text of its file.
type change struct {
	mutant
	source      *source
	declaration ast.Node
	place       place
}

func (c change) String() string {
	return fmt.Sprintf("%s/%s:%d, %s: %s", c.pkg, filepath.Base(c.source.file), 1+bytes.Count(c.source.text[:c.place.from], []byte("\n")), c.operator, c.fault)
}

func (c change) from() string { return string(c.source.text[c.place.from:c.place.to]) }

// packages are those that mutants are planted in.
var packages = []string{"history", "checker", "checker/facts"}

// sources are the files of packages.
var sources = sync.OnceValues(func() (map[string][]*source, error) {
	parsed := map[string][]*source{}
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			s, err := parse(file)
			if err != nil {
				return nil, err
			}
			parsed[pkg] = append(parsed[pkg], s)
		}
	}
	return parsed, nil
})

// find finds the place of a mutant.
func (m mutant) find() (change, error) {
	all, err := sources()
	if err != nil {
		return change{}, err
	}
	operate := operator(m.operator)
	if operate == nil {
		return change{}, fmt.Errorf("there is no operator %q", m.operator)
	}
	nth := 1
	var names []string
	for _, word := range strings.Fields(m.place) {
		if _, err := fmt.Sscanf(word, "#%d", &nth); err != nil {
			names = append(names, word)
		}
	}
	for _, s := range all[m.pkg] {
		d := s.declaration(m.function)
		if d == nil {
			continue
		}
		places := slices.DeleteFunc(s.places(d, operate), func(p place) bool {
			return slices.ContainsFunc(names, func(name string) bool { return !p.mentions[name] })
		})
		if len(places) < nth {
			return change{}, fmt.Errorf("%s.%s: %q applies to %d places that mention %q, and the mutant needs %d", m.pkg, m.function, m.operator, len(places), names, nth)
		}
		return change{m, s, d, places[nth-1]}, nil
	}
	return change{}, fmt.Errorf("%s has no function or constant %s", m.pkg, m.function)
}

// suite is some tests of a package.
type suite struct {
	pkg  string
	args []string
}

// suites are the tests of which a mutant of a package must fail one, in the order in which
// they are tried: those that take the longest are the last. History knows no checker. What few histories miss, more
// of another seed find: what random histories show may not depend on what they happen to be since the last change of their generator.
func suites(pkg string) []suite {
	const random = "^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$"
	oracle := func(seed, histories int) suite {
		return suite{"checker", []string{"-test.run", random, fmt.Sprintf("-oracle.seed=%d", seed), fmt.Sprintf("-oracle.histories=%d", histories)}}
	}
	all := []suite{
		{"history", nil},
		{"checker/facts", nil},
		{"checker", []string{"-test.skip", random}},
		oracle(1, *histories),
		oracle(2, 10**histories),
	}
	if pkg == "history" {
		return all
	}
	return all[1:]
}

// builds are programs with tests, by package. Which mutant acts in them is chosen when they run.
type builds map[string]string

// build builds the tests of the packages with changes in them. The number of a change is its index plus one.
func build(t *testing.T, changes []change) builds {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	overlay := func(file string, text []byte) {
		original, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replaced[original] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(replaced[original], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range mutated(changes) {
		overlay(file, text)
	}
	for _, pkg := range packages {
		overlay(filepath.Join(root, pkg, "chosen_mutant.go"), fmt.Appendf(nil, chooser, filepath.Base(pkg)))
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	built := builds{}
	for _, pkg := range packages {
		built[pkg] = filepath.Join(dir, filepath.Base(pkg)+".test")
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", built[pkg], "./"+pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the mutants do not compile: %v\n%s", err, out)
		}
	}
	return built
}

const chosen = "LOCKPICK_MUTANT"

const chooser = `package %s

import ("os"; "strconv")

var chosenMutant, _ = strconv.Atoi(os.Getenv("` + chosen + `"))
`

// mutated writes files anew. A function has each of its mutants in it, and does what the chosen one does;
// what is not a function can have one mutant only, which acts whatever is chosen.
func mutated(changes []change) map[string][]byte {
	type edit struct {
		at, to int
		text   string
	}
	edits := map[*source][]edit{}
	for i, c := range changes {
		s, p := c.source, c.place
		f, ok := c.declaration.(*ast.FuncDecl)
		if !ok {
			edits[s] = append(edits[s], edit{p.from, p.to, p.text})
			continue
		}
		from, to := s.at(f.Body.Lbrace), s.at(f.Body.Rbrace)+1
		body := string(s.text[from:p.from]) + p.text + string(s.text[p.to:to])
		text := fmt.Sprintf("if chosenMutant == %d { func() %s(); return }\n", i+1, body)
		if f.Type.Results != nil {
			text = fmt.Sprintf("if chosenMutant == %d { return func() %s %s() }\n", i+1, s.code(f.Type.Results), body)
		}
		edits[s] = append(edits[s], edit{from + 1, from + 1, text})
	}
	files := map[string][]byte{}
	for s, all := range edits {
		slices.SortStableFunc(all, func(a, b edit) int { return a.at - b.at })
		var text []byte
		done := 0
		for _, e := range all {
			text = append(append(text, s.text[done:e.at]...), e.text...)
			done = e.to
		}
		files[s.file] = append(text, s.text[done:]...)
	}
	return files
}

// failure runs tests with a mutant, 0 for none, and returns the name of the first that fails and where it is, or "".
func (b builds) failure(t *testing.T, mutant int, suites []suite) (at suite, test string) {
	t.Helper()
	for _, s := range suites {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		run := exec.CommandContext(ctx, b[s.pkg], append([]string{"-test.failfast", "-rapid.seed=1", "-rapid.nofailfile"}, s.args...)...)
		run.Dir = filepath.Join(root, s.pkg)
		run.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosen, mutant))
		if out, err := run.CombinedOutput(); err != nil {
			return s, s.pkg + ": " + failed(string(out))
		}
	}
	return suite{}, ""
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

// Every mutant has a place in the code, and no two change it alike. With -v, what each changes.
func TestMutantsFitTheCode(t *testing.T) {
	type where struct {
		file     string
		from, to int
		text     string
	}
	seen := map[where]mutant{}
	for _, m := range mutants {
		c, err := m.find()
		if err != nil {
			t.Error(err)
			continue
		}
		at := where{c.source.file, c.place.from, c.place.to, c.place.text}
		if same, ok := seen[at]; ok {
			t.Errorf("two mutants are one: %+v and %+v", same, m)
		}
		seen[at] = m
		t.Logf("%v\n  - %s\n  + %s", c, c.from(), c.place.text)
	}
	if len(mutants) < 100 {
		t.Errorf("there are only %d mutants", len(mutants))
	}
}

// The tests of checker and history notice every mutant.
func TestMutantsAreKilled(t *testing.T) {
	if *count < 0 {
		t.Skip("a mutant takes seconds of tests: make nightly tries them all (-mutants=0)")
	}
	var all []change
	for _, m := range mutants {
		if !strings.Contains(fmt.Sprint(m), *only) {
			continue
		}
		c, err := m.find()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	drawn := all
	if *count > 0 && *count < len(all) {
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		t.Logf("%d of %d mutants, chosen with seed %d: go test ./internal/mutate -mutants=%d -mutants.seed=%d", *count, len(all), *seed, *count, *seed)
		r := rand.New(rand.NewPCG(*seed, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		drawn = all[:*count]
	}
	constant := func(c change) bool { _, function := c.declaration.(*ast.FuncDecl); return !function }
	inFunctions := slices.DeleteFunc(slices.Clone(all), constant)
	together := build(t, inFunctions) // those that are not tried compile, too
	dead := 0
	sound := map[string]bool{} // by what killed a mutant: the code as it is passes all tests of that kind
	judge := func(t *testing.T, built builds, number int, c change) {
		s, by := built.failure(t, number, suites(c.pkg))
		if by == "" {
			t.Errorf("survives: %v\n  - %s\n  + %s", c, c.from(), c.place.text)
			return
		}
		if !sound[fmt.Sprint(s)] {
			if _, fails := built.failure(t, 0, []suite{s}); fails != "" {
				t.Fatalf("the code as it is fails %s: that a mutant does so means nothing", fails)
			}
			sound[fmt.Sprint(s)] = true
		}
		dead++
		t.Logf("%-110s %s", c, by)
	}
	tried := 0
	for i, c := range inFunctions {
		if slices.ContainsFunc(drawn, func(d change) bool { return fmt.Sprint(d) == fmt.Sprint(c) }) {
			tried++
			t.Run(c.pkg+"."+c.function, func(t *testing.T) { judge(t, together, i+1, c) })
		}
	}
	for _, c := range drawn {
		if constant(c) {
			tried++
			t.Run(c.pkg+"."+c.function, func(t *testing.T) { judge(t, build(t, []change{c}), 1, c) })
		}
	}
	t.Logf("%d of %d mutants were killed", dead, tried)
}
