package audit

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"lockpick/campaign"
)

// Entrant is a lock for the scoreboard.
type Entrant struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Summary  string `json:"summary"`           // one line
	Promise  string `json:"promise,omitempty"` // what its documentation says of safety, in our words
	Source   string `json:"source,omitempty"`  // where it says so

	Packages string `json:"packages,omitempty"` // with their versions

	Client  []string `json:"-"`                 // the command; empty: Name is a lock of Lockpick's own
	Missing string   `json:"missing,omitempty"` // why it cannot be tried here
}

// Entry is a lock on the scoreboard.
type Entry struct {
	Entrant
	Card *Result `json:"card,omitempty"` // nil: it was not tried
}

// Scoreboard has the cards of several locks, with nothing broken but what could be replayed.
type Scoreboard struct {
	Started     time.Time         `json:"started"`
	Driver      string            `json:"driver"`
	Budget      string            `json:"budget"`
	Seed        uint64            `json:"seed"`
	Times       int               `json:"replays"` // in a row of what is broken
	Versions    map[string]string `json:"versions"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Entries     []Entry           `json:"entries"`
	Statements  []Statement       `json:"statements,omitempty"`
}

// Statement is what was said about a library, and what became of it when it was tried.
type Statement struct {
	Library   string `json:"library"` // with its version
	Said      string `json:"said"`
	Confirmed bool   `json:"confirmed"`
	Shows     string `json:"shows"`   // what was seen
	Date      string `json:"date"`    // when it was seen three times in a row
	Command   string `json:"command"` // that repeats it
}

// ScoreboardOptions say what is compared, and how.
type ScoreboardOptions struct {
	Entrants []Entrant
	Audit    Options // of each, but for its lock and its client
	Confirm  ConfirmOptions
	Reuse    bool // takes finished audits of the store instead of new ones

	Begin func(e Entrant, i int)                  // before each; may be nil
	Card  func(r *Result) error                   // writes the page of each card; may be nil
	Done  func(e Entry, took time.Duration) error // after each; may be nil
}

// Compare audits locks one by one and replays what is broken. The end of ctx ends it in order:
// locks that are not finished by then are left out, and a later call with Reuse goes on.
func Compare(ctx context.Context, opt ScoreboardOptions) (*Scoreboard, error) {
	b := &Scoreboard{
		Started: time.Now().UTC(), Driver: opt.Audit.Driver, Budget: opt.Audit.Budget, Seed: opt.Audit.Seed, Times: opt.Confirm.Times,
		Versions: map[string]string{"lockpick": campaign.Version(), "go": runtime.Version()},
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
			if ctx.Err() != nil { // whatever else that led to
				break
			}
			if err != nil {
				return b, err
			}
			if v := r.Versions["redis"]; v != "" {
				b.Versions["redis"] = v
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

// card audits one lock, or finds its card in the store, and replays what is broken.
func (opt *ScoreboardOptions) card(ctx context.Context, e Entrant) (*Result, error) {
	how := opt.Audit
	how.Client, how.Lock = e.Client, e.Name
	var r *Result
	if opt.Reuse {
		r = how.finished()
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

// finished is the newest finished audit of the store with these options, or nil.
func (opt *Options) finished() *Result {
	situations, err := choose(opt.Only)
	if err != nil {
		return nil
	}
	folders, err := os.ReadDir(opt.Store.Dir)
	if err != nil {
		return nil
	}
	for _, f := range slices.Backward(folders) { // their names begin with their times
		dir := filepath.Join(opt.Store.Dir, f.Name())
		r, err := ReadResult(filepath.Join(dir, ResultFile))
		if err != nil || r.Interrupted || r.Driver != opt.Driver || r.Budget != opt.Budget || r.Seed != opt.Seed || !slices.Equal(r.Client, opt.Client) || len(opt.Client) == 0 && r.Lock != opt.Lock {
			continue
		}
		if slices.EqualFunc(r.Rows, situations, func(a Row, b Situation) bool { return a.ID == b.ID }) {
			r.Folder = dir
			return r
		}
	}
	return nil
}

// Worst is the worst outcome of a lock at a level, and in how many situations it is the outcome.
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
