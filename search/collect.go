package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
)

// JobOptions are the options that verifications of claims and audits share.
type JobOptions struct {
	Driver  string // sim, process, docker, auto
	Drivers campaign.Drivers
	Budget  string // one of Budgets
	Seed    uint64
	Most    int // maximum number of schedules of each case, if the budget allows more; 0: no limit
	Workers int // schedules at a time; 0: as crew.Of and crew.OnMasters choose
	Store   campaign.Store
	Masters cluster.Software // what runs as masters

	Progress func(format string, args ...any)                            // may be nil
	Live     Live                                                        // of schedules; may be nil
	Report   func(dir string, h *history.History, r *judge.Result) error // writes the report of a run that is kept; may be nil
}

// Check returns what is wrong with the options, as a *scenario.Problem, and sets a Progress that does nothing if there is none.
func (o *JobOptions) Check() error {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if !slices.Contains(Budgets, o.Budget) {
		return scenario.UnknownValue("budget", o.Budget, Budgets)
	}
	if !slices.Contains(scenario.Drivers, o.Driver) {
		return scenario.UnknownValue("driver", o.Driver, scenario.Drivers)
	}
	return nil
}

// JobResult is what results of verifications and audits have in common.
type JobResult struct {
	Folder      string            `json:"folder"` // the folder with the evidence
	Driver      string            `json:"driver"`
	Budget      string            `json:"budget"`
	Seed        uint64            `json:"seed"`
	Started     time.Time         `json:"started"`
	Took        time.Duration     `json:"took"` // ns
	Interrupted bool              `json:"interrupted,omitempty"`
	Versions    map[string]string `json:"versions"`
}

// Result returns a result with these options, in a folder.
func (o *JobOptions) Result(folder string, started time.Time) JobResult {
	return JobResult{Folder: folder, Driver: o.Driver, Budget: o.Budget, Seed: o.Seed, Started: started.UTC(), Versions: Versions()}
}

// Baseline returns what two results of the same code have in common.
func (r *JobResult) Baseline() JobResult {
	return JobResult{Driver: r.Driver, Budget: r.Budget, Seed: r.Seed, Versions: map[string]string{"lockpick": r.Versions["lockpick"]}}
}

// What a job of claims or of an audit depends on (Job.Of), besides what its own package adds.
const (
	ofDriver = "driver"
	ofBudget = "budget"
	ofSeed   = "seed"
	ofMost   = "limit of schedules"
)

// NewPartOf returns an empty part of a job with options. of has what the results depend on besides. The driver must not be auto.
func NewPartOf[R any](kind string, o *JobOptions, of map[string]string, units []string, s Shard) (*Part[R], error) {
	if err := checkShardDriver(o.Driver); err != nil {
		return nil, err
	}
	of[ofDriver], of[ofBudget], of[ofSeed], of[ofMost] = o.Driver, o.Budget, strconv.FormatUint(o.Seed, 10), strconv.Itoa(o.Most)
	return NewPart[R](kind, of, units, s), nil
}

// ShardFolder names the folder in which a shard keeps the evidence of a unit, and how long the shard had worked when the unit
// was done.
type ShardFolder struct {
	Folder string        `json:"folder"` // absolute
	Took   time.Duration `json:"took"`   // ns
}

// NewShardFolder returns the ShardFolder of a path, which it makes absolute. An error is a *judge.HarnessError.
func NewShardFolder(folder string, took time.Duration) (ShardFolder, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return ShardFolder{}, &judge.HarnessError{Err: err}
	}
	return ShardFolder{folder, took}, nil
}

// Evidence returns the ShardFolder, also of a result that embeds it.
func (k ShardFolder) Evidence() ShardFolder { return k }

// Unit is the result of a unit of claims or of an audit. It embeds its ShardFolder.
type Unit interface {
	Evidence() ShardFolder
	// EachRun calls visit for the run of each finding, and the command that replays it; nil: findings have none.
	EachRun(visit func(run, command *string))
}

// Collect makes the result of a job from its parts: what is common to all, and the results of the units in their order.
// missing returns the result of a unit that no shard has done. Collect copies the evidence from the shards' folders into
// a new folder of the store with a name; elsewhere is the number of findings whose runs are not on this machine: they lose
// their run and command.
func Collect[R Unit](p *Part[R], store campaign.Store, name string, missing func(id string) (R, error)) (r JobResult, units []R, elsewhere int, err error) {
	now := time.Now()
	r = JobResult{Driver: p.Of[ofDriver], Budget: p.Of[ofBudget], Started: now.UTC(), Interrupted: len(p.Missing()) > 0, Versions: p.Versions()}
	if r.Seed, err = strconv.ParseUint(p.Of[ofSeed], 10, 64); err != nil {
		return r, nil, 0, fmt.Errorf("%w: the seed is %q", ErrParts, p.Of[ofSeed])
	}
	for _, id := range p.Units {
		unit, done := p.Done[id]
		if !done {
			if unit, err = missing(id); err != nil {
				return r, nil, 0, err
			}
		}
		units = append(units, unit)
	}
	dir, err := store.CreateFolder(name, now)
	if err != nil {
		return r, nil, 0, &judge.HarnessError{Err: err}
	}
	r.Folder = filepath.Join(store.Dir, dir)
	took := map[string]time.Duration{} // by folder: what its last unit says
	for i, unit := range units {
		k := unit.Evidence()
		took[k.Folder] = max(took[k.Folder], k.Took)
		unit.EachRun(func(run, command *string) {
			if *run == "" || err != nil {
				return
			}
			if err = k.move(run, command, p.Units[i], r.Folder); *run == "" {
				elsewhere++
			}
		})
		if err != nil {
			return r, nil, 0, err
		}
	}
	for _, t := range took {
		r.Took += t
	}
	return r, units, elsewhere, nil
}

// move copies a run that is evidence of a unit into a folder, and changes its name and the command that replays it. Both
// become empty if the run is not on this machine. The new name begins with the unit's, because two shards may have
// begun runs in the same second. An error is a *judge.HarnessError.
func (k ShardFolder) move(run, command *string, unit, to string) error {
	name := filepath.Base(unit) + "-" + filepath.Base(*run)
	here, err := campaign.Store{Dir: to}.CopyRun(filepath.Join(k.Folder, filepath.Base(*run)), name)
	if err != nil {
		err = &judge.HarnessError{Err: err}
	}
	was := filepath.Join(filepath.Base(k.Folder), filepath.Base(*run))
	if !here || err != nil {
		name = ""
	}
	*run = name
	if command == nil {
		return err
	}
	words := strings.Fields(*command)
	for i, w := range words {
		if _, below, found := strings.Cut(w, was); found {
			words[i] = filepath.Join(to, name) + below
		}
	}
	if *command = strings.Join(words, " "); name == "" {
		*command = ""
	}
	return err
}
