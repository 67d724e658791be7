package audit

import (
	"context"
	"errors"
	"path/filepath"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/internal/crew"
	"lockpick/internal/plural"
	"lockpick/search"
)

// ConfirmOptions says how to replay findings.
type ConfirmOptions struct {
	Times    int // replays of each finding, in a row
	Attempts int // maximum number of runs in each replay
	Workers  int // cells at a time; 0: as crew.OnMasters chooses
	// Progress is called after each replayed finding. It may be nil.
	Progress func(format string, args ...any)
	Run      campaign.Options // its Store is ignored
}

// Replays counts the replays of a finding.
type Replays struct {
	Times    int `json:"times"`    // successful replays in a row
	Of       int `json:"of"`       // replays requested
	Attempts int `json:"attempts"` // runs in all replays
}

// Succeeded reports whether every replay violated the property again.
func (p *Replays) Succeeded() bool { return p != nil && p.Of > 0 && p.Times == p.Of }

// Confirm replays broken findings: the worst one of each cell, and the next one if not every replay
// of that violated the property again. It skips findings that were already replayed, and writes the
// result to its folder again. When ctx ends, the remaining findings are not replayed.
func (r *Result) Confirm(ctx context.Context, opt ConfirmOptions) error {
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	var cells []*Cell
	for i := range r.Rows {
		for j := range r.Rows[i].Cells {
			if c := &r.Rows[i].Cells[j]; c.Outcome == Broken {
				cells = append(cells, c)
			}
		}
	}
	e := search.Engine[Cell]{Crew: crew.OnMasters(opt.Workers)}
	if err := e.Run(ctx, &search.Series[Cell]{
		Count: len(cells),
		At:    func(i int) string { return "replay of " + cells[i].Level },
		Try: func(ctx context.Context, _ *campaign.Pool, i int) (*Cell, error) {
			return nil, r.confirmCell(ctx, cells[i], opt)
		},
	}); err != nil {
		return err
	}
	return r.write()
}

// confirmCell replays the findings of a cell until every replay of one of them succeeds.
func (r *Result) confirmCell(ctx context.Context, c *Cell, opt ConfirmOptions) error {
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Outcome != Broken || f.Run == "" || checker.Named(f.Property).OnlyClaims {
			continue
		}
		if f.Replayed == nil {
			p, err := r.replay(ctx, f, opt)
			if err != nil || p == nil {
				return err
			}
			f.Replayed = p
			opt.Progress("%s at %s in %s: replayed %d of %d times, with %s", f.Property, c.Level, filepath.Base(r.Folder), p.Times, p.Of, plural.Count(p.Attempts, "run", "runs"))
		}
		if f.Replayed.Succeeded() {
			return nil
		}
	}
	return nil
}

// replay replays one finding. It returns nil if ctx ended before the property was violated again.
func (r *Result) replay(ctx context.Context, f *PropertyResult, opt ConfirmOptions) (p *Replays, err error) {
	s, _, err := campaign.Store{Dir: r.Folder}.Open(f.Run)
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	s.Client = r.Client // the command of this audit
	dir, remove, err := opt.Run.Drivers.Scratch()
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	defer func() { err = errors.Join(err, remove()) }()
	opt.Run.Store = campaign.Store{Dir: dir}
	p = &Replays{Of: opt.Times}
	for range opt.Times {
		out, err := search.Replay(ctx, search.ReplayOptions{Scenario: s, Driver: r.Driver, Properties: []string{f.Property}, Attempts: opt.Attempts, Own: s.Service != nil && s.Service.Async}, opt.Run)
		if err != nil {
			return nil, err
		}
		if out.Reproduced == 0 && ctx.Err() != nil {
			return nil, nil
		}
		p.Attempts += out.Attempts
		if out.Reproduced == 0 {
			break
		}
		p.Times++
	}
	return p, nil
}

// Confirmed returns a copy of the result. In it a finding is broken only if every replay violated
// the property again; any other broken finding becomes inconclusive.
func (r *Result) Confirmed() *Result {
	out := *r
	out.Rows = nil
	for _, row := range r.Rows {
		cells := row.Cells
		row.Cells = nil
		for _, c := range cells {
			cell := Cell{Level: c.Level, Outcome: c.Outcome}
			for _, f := range c.Findings {
				if f.Outcome == Broken && !f.Replayed.Succeeded() {
					f.Outcome, f.Help = Inconclusive, "try --budget full"
					f.Why = "violated once, and not replayed: " + f.Why
				}
				cell.put(f)
			}
			row.Cells = append(row.Cells, cell)
		}
		out.Rows = append(out.Rows, row)
	}
	return &out
}
