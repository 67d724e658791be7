// Testrun runs the tests for `make test` in two lanes at a time. In the first one are the packages whose tests
// start real masters (those that import the package of -masters), one after the other: they would disturb each
// other, and mostly wait. The second one has the other modules, the other packages, and every fuzz target with
// some thousand inputs. Every test runs under the race detector; those that asked to run without it
// (internal/racetest) run in the second lane once their package is through. At the end it lists the slowest
// tests and all skipped ones with their reasons.
//
//	go run ./internal/testrun [-masters PACKAGE] [-module DIR]... [-fuzz 10000] [PACKAGE...]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gotest.tools/gotestsum/testjson"

	"lockpick/internal/racetest"
)

func main() {
	var modules []string
	flag.Func("module", "the folder of another module to test; may be repeated", func(dir string) error {
		modules = append(modules, dir)
		return nil
	})
	masters := flag.String("masters", "", "the package that tests import to start real masters")
	fuzz := flag.Int("fuzz", 10_000, "how many inputs to try on each fuzz target; 0: none")
	timeout := flag.Duration("timeout", 40*time.Minute, "how long the tests of one package may take")
	slowest := flag.Int("slowest", 10, "how many of the slowest tests to list")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &runner{ctx: ctx, out: os.Stdout, timeout: *timeout}
	if err := r.all(packages, *masters, modules, *fuzz); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		r.failed = true
	}
	r.summarize(*slowest)
	if r.failed {
		os.Exit(1)
	}
}

// runner runs go test several times and collects the results.
type runner struct {
	ctx     context.Context
	timeout time.Duration

	mu     sync.Mutex
	out    io.Writer
	runs   []*testjson.Execution
	failed bool
}

func (r *runner) all(packages []string, masters string, modules []string, fuzz int) error {
	real, others, err := r.split(packages, masters)
	if err != nil {
		return err
	}
	excluded := make(chan excludedTests, len(real)+len(others))
	first := make(chan error, 1)
	go func() { first <- r.raced("with real masters, and the race detector", real, excluded) }()
	second := errors.Join(
		r.modules(modules),
		r.raced("with the race detector", others, excluded),
		r.fuzz(packages, fuzz),
	)
	go func() {
		err = <-first
		close(excluded)
	}()
	for e := range excluded {
		second = errors.Join(second, r.withoutRace(e))
	}
	return errors.Join(err, second)
}

// split separates the packages whose tests import a package, directly or not, from the others.
func (r *runner) split(packages []string, masters string) (real, others []string, err error) {
	err = r.list(append([]string{"-test", "-json=ImportPath,Deps"}, packages...), func(d *json.Decoder) error {
		var pkg struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&pkg); err != nil {
			return err
		}
		name, isTest := strings.CutSuffix(pkg.ImportPath, ".test") // the test program of a package
		switch {
		case !isTest:
		case masters != "" && slices.ContainsFunc(pkg.Deps, func(d string) bool { return d == masters || strings.HasPrefix(d, masters+" [") }):
			real = append(real, name)
		default:
			others = append(others, name)
		}
		return nil
	})
	return real, others, err
}

// aside is the flag for the number of tests of a package that run at a time. There are more of them than
// processors, because tests with real masters mostly wait.
var aside = "-parallel=" + strconv.Itoa(max(3, runtime.GOMAXPROCS(0)))

// raced runs the tests of packages under the race detector, one package after the other. It sends on excluded
// what each of them did not run.
func (r *runner) raced(what string, packages []string, excluded chan<- excludedTests) error {
	if len(packages) == 0 {
		return nil
	}
	_, err := r.goTest(what, "", func(pkg string, x *testjson.Execution) {
		if tests := excludedFrom(x, pkg); len(tests) > 0 {
			excluded <- excludedTests{pkg, tests}
		}
	}, append([]string{"-race", "-p", "1", aside}, packages...)...)
	return err
}

// withoutRace runs tests that asked to run without the race detector.
func (r *runner) withoutRace(e excludedTests) error {
	again, err := r.goTest("without the race detector", "", nil, "-run", exactly(e.tests), e.pkg)
	if err != nil {
		return err
	}
	if missing := notRun(again, e.pkg, e.tests); len(missing) > 0 {
		return fmt.Errorf("%s: neither run included %s", e.pkg, strings.Join(missing, ", "))
	}
	return nil
}

// modules runs the tests of other modules.
func (r *runner) modules(folders []string) error {
	for _, dir := range folders {
		if _, err := r.goTest("of the module "+dir, dir, nil, "-race", aside, "./..."); err != nil {
			return err
		}
	}
	return nil
}

// goTest runs go test in a folder. It prints a line for each package, and the output of tests that fail. After
// each package it calls through, unless that is nil.
func (r *runner) goTest(what, dir string, through func(pkg string, x *testjson.Execution), args ...string) (*testjson.Execution, error) {
	r.print("\nTests %s\n", what)
	// -vet=off: make test has vetted every module before.
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"test", "-json", "-vet=off", "-timeout", r.timeout.String()}, args...)...)
	cmd.Dir = dir
	// Prints the compiler's errors as text on stderr instead of events.
	cmd.Env = append(os.Environ(), "GODEBUG=gotestjsonbuildtext=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	x, err := testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: stdout, Stderr: stderr, IgnoreNonJSONOutputLines: true,
		Handler: newPrinter(r, through),
	})
	if err != nil {
		return nil, errors.Join(err, cmd.Wait())
	}
	err = cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, x)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.failed = true
	} else if err != nil {
		return nil, err
	}
	return x, r.ctx.Err()
}

// print prints a text without interruption, because several runs print at a time.
func (r *runner) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}

// printer shows the events of a run as they come. Events on stdout and lines on stderr come from two
// goroutines.
type printer struct {
	runner  *runner
	through func(pkg string, x *testjson.Execution)
	mu      sync.Mutex
	text    bytes.Buffer // text of the event that is being formatted
	format  testjson.EventFormatter
}

func newPrinter(r *runner, through func(pkg string, x *testjson.Execution)) *printer {
	p := &printer{runner: r, through: through}
	p.format = testjson.NewEventFormatter(&p.text, "pkgname-and-test-fails", testjson.FormatOptions{HideEmptyPackages: true, Icons: "text"})
	return p
}

func (p *printer) Event(e testjson.TestEvent, x *testjson.Execution) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Reset()
	if err := p.format.Format(e, x); err != nil {
		return err
	}
	if e.PackageEvent() && e.Action == testjson.ActionFail {
		p.unfinished(e.Package, x.Package(e.Package))
	}
	if p.text.Len() > 0 {
		p.runner.print("%s", p.text.String())
	}
	if p.through != nil && e.PackageEvent() && e.Action.IsTerminal() {
		p.through(e.Package, x)
	}
	return nil
}

func (p *printer) Err(text string) error {
	p.runner.print("%s\n", text)
	return nil
}

// unfinished prints the output of a package that ended before its tests, or that failed although none of its
// tests did: after a crash, a leak or a timeout. The formatter shows only the output of tests that ended.
func (p *printer) unfinished(name string, pkg *testjson.Package) {
	ids := []int{0} // 0: output outside of tests
	for _, t := range pkg.Failed {
		if t.Elapsed < 0 {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 1 && !pkg.TestMainFailed() {
		return
	}
	fmt.Fprintf(&p.text, "\n%s ended early or failed beside its tests\n", name)
	for _, id := range ids {
		_ = pkg.WriteOutputTo(&p.text, id) // a Buffer never fails
	}
	p.text.WriteByte('\n')
}

// excludedTests are the tests of a package that racetest.Exclude skipped.
type excludedTests struct {
	pkg   string
	tests []string
}

// excludedFrom lists the tests of a package that racetest.Exclude skipped.
func excludedFrom(x *testjson.Execution, pkg string) (tests []string) {
	for _, t := range x.Package(pkg).Skipped {
		if strings.HasPrefix(reason(x, t), racetest.Reason) {
			tests = append(tests, t.Test.Name())
		}
	}
	return tests
}

// notRun lists those of the tests that neither passed nor failed, and were not skipped for another reason.
func notRun(x *testjson.Execution, pkg string, tests []string) []string {
	ran := map[string]bool{}
	p := x.Package(pkg)
	if p == nil || p.Total == 0 && p.Result() == testjson.ActionFail {
		return nil // the package was not built: the run has failed
	}
	for _, t := range p.TestCases() {
		ran[t.Test.Name()] = !strings.HasPrefix(reason(x, t), racetest.Reason)
	}
	return slices.DeleteFunc(slices.Clone(tests), func(name string) bool { return ran[name] })
}

// exactly returns a pattern for -run that matches only these tests.
func exactly(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// logged matches the beginning of a message of t.Log or t.Skip.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// reason returns the last message of a skipped test: the argument of t.Skip.
func reason(x *testjson.Execution, t testjson.TestCase) string {
	var said []string
	for _, line := range x.OutputLines(t) {
		text := strings.TrimSpace(line)
		switch {
		case logged.MatchString(line):
			said = []string{logged.ReplaceAllString(strings.TrimRight(line, "\n"), "")}
		case text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- "):
		case said != nil:
			said = append(said, text)
		}
	}
	return strings.Join(said, " ")
}

// summarize lists the slowest tests, the skipped ones and the failed ones, of all runs.
func (r *runner) summarize(slowest int) {
	var all, failed []testjson.TestCase
	skipped := map[string][]string{}
	skips, ran := 0, 0
	for _, x := range r.runs {
		failed = append(failed, x.Failed()...)
		for _, pkg := range x.Packages() {
			for _, t := range x.Package(pkg).TestCases() {
				ran++
				if !t.Test.IsSubTest() {
					all = append(all, t)
				}
			}
		}
		for _, t := range x.Skipped() {
			ran--
			why := reason(x, t)
			if strings.HasPrefix(why, racetest.Reason) {
				continue // it ran afterwards
			}
			skips++
			if why == "" {
				why = "no reason given"
			}
			skipped[why] = append(skipped[why], name(t))
		}
	}
	slices.SortStableFunc(all, func(a, b testjson.TestCase) int { return int(b.Elapsed - a.Elapsed) })
	fmt.Fprintln(r.out, "\nThe slowest tests")
	for _, t := range all[:min(slowest, len(all))] {
		fmt.Fprintf(r.out, "  %7.1fs  %s\n", t.Elapsed.Seconds(), name(t))
	}
	fmt.Fprintf(r.out, "\nSkipped tests: %d\n", skips)
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(r.out, "  %d: %s\n", len(skipped[why]), why)
		for _, t := range slices.Sorted(slices.Values(skipped[why])) {
			fmt.Fprintf(r.out, "       %s\n", t)
		}
	}
	if len(failed) > 0 || r.failed {
		fmt.Fprintf(r.out, "\nFAILED\n")
		for _, t := range failed {
			fmt.Fprintf(r.out, "  %s\n", name(t))
		}
		return
	}
	fmt.Fprintf(r.out, "\nAll %d other tests and subtests passed.\n", ran)
}

func name(t testjson.TestCase) string {
	return strings.TrimPrefix(t.Package, "lockpick/") + " " + t.Test.Name()
}
