package audit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/search"
)

// Entrant is a lock for the scoreboard.
type Entrant struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Summary  string `json:"summary"`           // one line
	Promise  string `json:"promise,omitempty"` // promise of its documentation about safety, in our words
	Source   string `json:"source,omitempty"`  // where the promise is

	Packages string `json:"packages,omitempty"` // installed packages with their versions

	Client  []string `json:"-"`                 // command; empty: Name is one of Lockpick's own locks
	Missing string   `json:"missing,omitempty"` // why it cannot be tried here
}

// Entry is a lock on the scoreboard with its report card.
type Entry struct {
	Entrant
	Card *Result `json:"card,omitempty"` // nil: not tried
}

// Scoreboard has the report cards of several locks. Findings are broken only if replays confirmed
// it.
type Scoreboard struct {
	Started     time.Time         `json:"started"`
	Command     string            `json:"command"` // that made it, without the names of files
	Driver      string            `json:"driver"`
	Budget      string            `json:"budget"`
	Seed        uint64            `json:"seed"`
	Times       int               `json:"replays"` // number of replays in a row that confirm a finding
	Versions    map[string]string `json:"versions"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Entries     []Entry           `json:"entries"`
}

// ScoreboardOptions says which locks to compare, and how.
type ScoreboardOptions struct {
	Entrants []Entrant
	Command  string  // that names these locks: lockpick audit all
	Audit    Options // for each lock; Lock and Client are ignored
	Confirm  ConfirmOptions
	Reuse    bool // use finished audits of the store instead of new ones

	Begin func(e Entrant, i int)                  // called before each lock; may be nil
	Card  func(r *Result) error                   // writes the page of each card; may be nil
	Done  func(e Entry, took time.Duration) error // called after each lock; may be nil
}

// Compare audits locks one by one and replays broken findings. When ctx ends, it returns the locks
// that are finished by then; a later call with Reuse continues.
func Compare(ctx context.Context, opt ScoreboardOptions) (*Scoreboard, error) {
	b := &Scoreboard{
		Started: time.Now().UTC(), Command: opt.Command, Driver: opt.Audit.Driver, Budget: opt.Audit.Budget, Seed: opt.Audit.Seed, Times: opt.Confirm.Times,
		Versions: search.Versions(),
	}
	for i, e := range opt.Entrants {
		if ctx.Err() != nil {
			break
		}
		if opt.Begin != nil {
			opt.Begin(e, i)
		}
		began := time.Now()
		entry := Entry{Entrant: e}
		if e.Missing == "" {
			r, err := opt.card(ctx, e)
			if ctx.Err() != nil { // err may be a consequence
				break
			}
			if err != nil {
				return b, err
			}
			if name, v := judge.ServerOf(r.Versions); v != "" {
				b.Versions[name] = v
			}
			entry.Card = r.Confirmed()
		}
		b.Entries = append(b.Entries, entry)
		if opt.Done != nil {
			if err := opt.Done(entry, time.Since(began)); err != nil {
				return b, err
			}
		}
	}
	b.Interrupted = ctx.Err() != nil
	return b, nil
}

// card audits one lock, or finds its result in the store, and replays its broken findings.
func (opt *ScoreboardOptions) card(ctx context.Context, e Entrant) (*Result, error) {
	how := opt.Audit
	how.Client, how.Lock = e.Client, e.Name
	var r *Result
	if opt.Reuse {
		r = how.stored(false)
	}
	if r == nil {
		var err error
		if r, err = Run(ctx, how); err != nil || r.Interrupted {
			return r, err
		}
	}
	if err := r.Confirm(ctx, opt.Confirm); err != nil {
		return nil, err
	}
	if opt.Card != nil {
		return r, opt.Card(r)
	}
	return r, nil
}

// stored returns the newest audit in the store with these options that was ended early or that is finished, or nil.
func (opt *Options) stored(early bool) *Result {
	situations, err := choose(opt.Only)
	if err != nil {
		return nil
	}
	folders, err := os.ReadDir(opt.Store.Dir)
	if err != nil {
		return nil
	}
	for _, f := range slices.Backward(folders) { // their names begin with the time
		dir := filepath.Join(opt.Store.Dir, f.Name())
		r, err := ReadResult(filepath.Join(dir, ResultFile))
		if err != nil || r.Interrupted != early || r.Driver != opt.Driver || r.One != opt.One || r.Server != opt.Masters.Server || r.Budget != opt.Budget || r.Seed != opt.Seed || !slices.Equal(r.Client, opt.Client) || (len(opt.Client) == 0 || opt.On != nil) && r.Lock != opt.Lock {
			continue
		}
		its := slices.DeleteFunc(slices.Clone(situations), func(s Situation) bool { return s.ofSome() && r.Row(s.ID) == nil })
		if slices.EqualFunc(r.Rows, its, func(a Row, b Situation) bool { return a.ID == b.ID }) {
			r.Folder = dir
			return r
		}
	}
	return nil
}

// Worst returns the worst outcome of a lock at a level, and how many situations have this outcome.
func (r *Result) Worst(level string) (worst Outcome, situations int) {
	worst = NotApplicable
	for i := range r.Rows {
		c := r.Rows[i].cell(level)
		if c == nil {
			continue
		}
		switch a, b := slices.Index(Outcomes, c.Outcome), slices.Index(Outcomes, worst); {
		case a < b:
			worst, situations = c.Outcome, 1
		case a == b:
			situations++
		}
	}
	return worst, situations
}
