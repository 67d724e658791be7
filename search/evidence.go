package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/otherfile"
	"lockpick/internal/wholefile"
)

// The budgets of claims and audits, by name.
const (
	Quick = "quick"
	Full  = "full"
)

// Budgets lists the budgets.
var Budgets = []string{Quick, Full}

// Versions returns the versions that every result names.
func Versions() map[string]string {
	return map[string]string{"lockpick": campaign.Version(), "go": runtime.Version()}
}

// Bench runs the schedules of claims and audits on the masters of a driver, and keeps those that are evidence as runs in a
// folder.
type Bench struct {
	Driver  string
	Folder  campaign.Store                                              // of the runs
	Options campaign.Options                                            // of runs; its Store is ignored
	Run     Runner                                                      // runs a schedule on masters in memory; nil: campaign.Run
	Report  func(dir string, h *history.History, r *judge.Result) error // writes the report of a run that is kept; may be nil
}

// ChooseDriver returns the name of the driver to use, and reports why: for auto the best that this machine has for the
// software of the masters. An error is a *judge.HarnessError.
func ChooseDriver(ctx context.Context, all campaign.Drivers, name string, want cluster.Software, report func(string, ...any)) (string, error) {
	driver, why, err := all.Choose(ctx, name, want)
	if err != nil {
		return "", &judge.HarnessError{Err: err}
	}
	report("%s", why)
	return driver.Name, nil
}

// NewBench makes a folder with a name in a store, for the runs of a bench.
func NewBench(b Bench, in campaign.Store, name string, at time.Time) (*Bench, error) {
	dir, err := in.CreateFolder(name, at)
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	b.Folder = campaign.Store{Dir: filepath.Join(in.Dir, dir)}
	return &b, nil
}

// Simulated reports whether the bench has simulated masters: then a schedule is stored only if it is kept.
func (b *Bench) Simulated() bool { return b.Driver == scenario.Sim }

// Ran is a schedule that a bench has run.
type Ran struct {
	Scenario scenario.Scenario
	History  *history.History
	Result   *judge.Result
	Run      string // its folder, below that of the bench; empty: it is not stored
}

// Try runs a complete scenario (scenario.WithRequirements), and judges it by some properties or by all. It returns nil
// if ctx ended before the run was over, unless that found a violation. With lint it notes the rules of lockpick watch that
// the commands of a simulated lock break.
func (b *Bench) Try(ctx context.Context, s scenario.Scenario, lint bool, by ...checker.Property) (*Ran, error) {
	x := &Ran{Scenario: s}
	var err error
	if b.Simulated() {
		if x.History, err = campaign.Record(ctx, s, campaign.Simulation{}.Driver(), campaign.Options{Lint: lint}); err == nil {
			x.Result, err = judge.History(x.History, by...)
		}
	} else {
		err = b.store(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && x.Result.CutShort != "" && x.Result.Verdict() != checker.Violated {
		return nil, nil
	}
	return x, nil
}

// store runs a schedule, and stores it as a run with its report.
func (b *Bench) store(ctx context.Context, x *Ran) (err error) {
	var dir string
	if b.Run == nil || b.Simulated() {
		opt := b.Options
		opt.Store = b.Folder
		dir, x.History, x.Result, err = campaign.Run(ctx, x.Scenario, opt)
	} else if x.History, err = b.Run(ctx, x.Scenario); err == nil {
		dir, x.Result, err = StoreFound(x.Scenario, x.History, b.Folder)
	}
	if err != nil {
		return err
	}
	x.Run = filepath.Base(dir)
	if b.Report == nil {
		return nil
	}
	return b.Report(dir, x.History, x.Result)
}

// Keep stores a simulated schedule as a run with its report, and returns the run's folder.
func (b *Bench) Keep(ctx context.Context, s scenario.Scenario) (run string, err error) {
	x := &Ran{Scenario: s}
	err = b.store(ctx, x)
	return x.Run, err
}

// Remove removes runs.
func (b *Bench) Remove(runs []string) error {
	var errs []error
	for _, run := range runs {
		errs = append(errs, os.RemoveAll(filepath.Join(b.Folder.Dir, run)))
	}
	return errors.Join(errs...)
}

// StoreFound stores a history that was recorded in memory as a run of its scenario.
func StoreFound(s scenario.Scenario, h *history.History, store campaign.Store) (dir string, r *judge.Result, err error) {
	yaml, err := s.YAML()
	if err != nil {
		return "", nil, err
	}
	if dir, r, err = store.Add(h, ""); err != nil {
		return dir, r, err
	}
	return dir, r, wholefile.Replace(filepath.Join(dir, judge.ScenarioFile), 0o644, wholefile.Content(yaml))
}

// Judgement is what one schedule says about one property.
type Judgement struct {
	Property string
	Verdict  checker.Verdict
	Why      string
	Help     string               // what to do about Why, if that is not a lack of evidence
	Evidence []checker.Evidence   // its contribution to the evidence of all schedules; none: it proves nothing
	First    *narrative.Violation // nil: none
	Faults   []string             // kinds of faults in the reason of First
	Without  string               // the assumption that accounts for First, so that the lock is not to blame (see judge.Excused); the caller sets it
}

// GivenSchedules words advice on schedules whose clients, keys and faults are given, as those of audits and claims, so that no flag
// changes them.
var GivenSchedules = checker.Wording{checker.ExacterTimes: checker.FlagWording[checker.ExacterTimes]}

// JudgementOf returns what a verdict says of a history with these faults.
func JudgementOf(v *checker.Result, faults []*history.Fault) Judgement {
	j := Judgement{Property: v.Name, Verdict: v.Verdict, Why: v.Why, Evidence: EvidenceOf(v)}
	if v.Verdict == checker.Violated && len(v.Violations) > 0 {
		j.Explain(&v.Violations[0], faults)
	}
	return j
}

// Explain makes a violation the first one.
func (j *Judgement) Explain(v *narrative.Violation, faults []*history.Fault) {
	j.First, j.Faults = v, FaultsOf(v, faults)
}

// FaultsOf returns the kinds of faults in the reason of a violation, each once.
func FaultsOf(v *narrative.Violation, faults []*history.Fault) (kinds []string) {
	for _, f := range faults {
		if slices.Contains(v.Faults, f.ID) {
			kinds = append(kinds, f.Name)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// WriteResult writes a result as JSON to a file of the store or of the user. An error is a *judge.HarnessError.
func WriteResult(path string, result any) error {
	b, err := json.MarshalIndent(result, "", "  ")
	if err == nil {
		err = wholefile.Write(path, 0o644, wholefile.Content(append(b, '\n')))
	}
	if err != nil {
		return &judge.HarnessError{Err: fmt.Errorf("store: %w", err)}
	}
	return nil
}

// ReadResult reads what WriteResult wrote. command names the command whose result it is.
func ReadResult[R any](path, command string) (*R, error) {
	b, err := otherfile.Read(path, otherfile.MaxResult)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	r := new(R)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %s is not a result of lockpick %s: %w", command, path, command, err)
	}
	return r, nil
}
