package audit

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/search"
)

// ShardKind is the kind of a job whose shards audit a lock.
const ShardKind = "situations"

// Sharded is a shard's result of one situation.
type Sharded struct {
	Row
	search.Kept
	Library  string            `json:"library,omitempty"`
	Versions map[string]string `json:"versions"`
}

// Compared returns the result without what differs between two audits of the same code.
func (s Sharded) Compared() any { return (&Result{Rows: []Row{s.Row}}).Baseline().Rows[0] }

// NewPart returns an empty part.
func NewPart(opt Options, s search.Shard) (*search.Part[Sharded], error) {
	if err := search.CheckShardDriver(opt.Driver); err != nil {
		return nil, err
	}
	situations, err := choose(opt.Only)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range situations {
		ids = append(ids, situations[i].ID)
	}
	of := map[string]string{
		"lock": opt.Lock, "client": strings.Join(opt.Client, " "), "driver": opt.Driver, "budget": opt.Budget,
		"seed": strconv.FormatUint(opt.Seed, 10), "limit of schedules": strconv.Itoa(opt.Most),
	}
	return search.NewPart[Sharded](ShardKind, of, ids, s), nil
}

// RunShard audits the situations that a shard has left, and adds the result of each to its part. A situation with
// schedules that were not tried remains to be done.
func RunShard(ctx context.Context, opt Options, s search.Shard, p *search.Part[Sharded]) error {
	if opt.Only = p.Left(s); len(opt.Only) == 0 {
		return nil
	}
	var failed error
	opt.Done = func(r *Result, row Row, kept search.Kept) {
		if row.Complete {
			failed = cmp.Or(failed, p.Add(row.ID, Sharded{row, kept, r.Library, r.Versions}))
		}
	}
	_, err := Run(ctx, opt)
	return cmp.Or(err, failed)
}

// Merged joins the results in parts into one. It copies the evidence from the shards' folders
// into a new folder of the store; away is the number of findings whose evidence is on other
// machines. Situations whose shard is missing are inconclusive.
func Merged(b *search.Part[Sharded], store campaign.Store) (r *Result, away int, err error) {
	now := time.Now()
	r = &Result{
		Lock: b.Of["lock"], Driver: b.Of["driver"], Budget: b.Of["budget"], Started: now.UTC(), Interrupted: len(b.Missing()) > 0,
		Versions: b.Versions(),
	}
	if b.Of["client"] != "" {
		r.Client = strings.Fields(b.Of["client"])
	}
	if r.Seed, err = strconv.ParseUint(b.Of["seed"], 10, 64); err != nil {
		return nil, 0, fmt.Errorf("%w: the seed is %q", search.ErrParts, b.Of["seed"])
	}
	var kept []search.Kept
	battery := Battery()
	for _, id := range b.Units {
		if !slices.ContainsFunc(battery, func(s Situation) bool { return s.ID == id }) {
			return nil, 0, fmt.Errorf("%w: there is no situation %q", search.ErrParts, id)
		}
	}
	dir, err := store.CreateFolder("audit-"+filepath.Base(r.Lock), now)
	if err != nil {
		return nil, 0, &judge.HarnessError{Err: err}
	}
	r.Folder = filepath.Join(store.Dir, dir)
	for _, id := range b.Units {
		done, ok := b.Done[id]
		if !ok {
			done.Row = lacking(battery[slices.IndexFunc(battery, func(s Situation) bool { return s.ID == id })], "its shard is missing", "run that shard")
		}
		r.Library = max(r.Library, done.Library)
		if name, v := judge.ServerOf(done.Versions); v != "" {
			r.Versions[name] = v
		}
		for i := range done.Cells {
			for j := range done.Cells[i].Findings {
				f := &done.Cells[i].Findings[j]
				if f.Run == "" {
					continue
				}
				if err := copyEvidence(done.Kept, r.Folder, id, f); err != nil {
					return nil, 0, err
				}
				if f.Run == "" {
					away++
				}
			}
		}
		r.Rows = append(r.Rows, done.Row)
		kept = append(kept, done.Kept)
		r.Schedules, r.Leases = r.Schedules+done.Schedules, r.Leases+done.Leases
	}
	r.Took = search.Together(kept)
	return r, away, r.write()
}

// copyEvidence copies the run of a finding, and changes its command to name the copy. If the run is
// not on this machine, the finding loses both.
func copyEvidence(from search.Kept, to, id string, f *Finding) error {
	was := filepath.Join(filepath.Base(from.Folder), filepath.Base(f.Run))
	name, err := from.CopyRun(f.Run, id, campaign.Store{Dir: to})
	f.Run = name
	if name == "" {
		f.Command = ""
		return err
	}
	words := strings.Fields(f.Command)
	for i, w := range words {
		if _, below, found := strings.Cut(w, was); found {
			words[i] = filepath.Join(to, name) + below
		}
	}
	f.Command = strings.Join(words, " ")
	return nil
}

// lacking returns the row of a situation that was not tried.
func lacking(s Situation, why, help string) Row {
	row := Row{ID: s.ID, Group: s.Group, Name: s.Name, Says: s.Says, Breaks: s.Assumption(), Without: s.Breaks}
	for _, level := range Levels() {
		row.Cells = append(row.Cells, Cell{Level: level, Outcome: Inconclusive, Findings: []Finding{
			{Property: level, Outcome: Inconclusive, Why: why, Help: help},
		}})
	}
	return row
}
