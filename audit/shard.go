package audit

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/search"
)

// ShardKind is the kind of a job whose shards audit a lock.
const ShardKind = "situations"

// Sharded is a shard's result of one situation.
type Sharded struct {
	Row
	search.ShardFolder
	Library  string            `json:"library,omitempty"`
	Versions map[string]string `json:"versions"`
}

// Compared returns the result without what differs between two audits of the same code.
func (s Sharded) Compared() any { return (&Result{Rows: []Row{s.Row}}).Baseline().Rows[0] }

// EachRun visits the runs of all findings, with the commands that replay them.
func (s Sharded) EachRun(visit func(run, command *string)) {
	for i := range s.Cells {
		for j := range s.Cells[i].Findings {
			visit(&s.Cells[i].Findings[j].Run, &s.Cells[i].Findings[j].Command)
		}
	}
}

// NewPart returns an empty part.
func NewPart(opt Options, s search.Shard) (*search.Part[Sharded], error) {
	situations, err := choose(opt.Only)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range situations {
		ids = append(ids, situations[i].ID)
	}
	return search.NewPartOf[Sharded](ShardKind, &opt.JobOptions, opt.identity(), ids, s)
}

// identity returns what shards of one audit have in common.
func (opt *Options) identity() map[string]string {
	identity := map[string]string{"lock": opt.Lock, "client": strings.Join(opt.Client, " ")}
	if opt.One {
		identity["masters"] = "1"
	}
	return identity
}

// RunShard audits the situations that a shard has left, and adds the result of each to its part. A situation with
// schedules that were not tried remains to be done.
func RunShard(ctx context.Context, opt Options, s search.Shard, p *search.Part[Sharded]) error {
	if opt.Only = p.Left(s); len(opt.Only) == 0 {
		return nil
	}
	var failed error
	opt.Done = func(r *Result, row Row, folder search.ShardFolder) {
		if row.Complete {
			failed = cmp.Or(failed, p.Add(row.ID, Sharded{row, folder, r.Library, r.Versions}))
		}
	}
	_, err := Run(ctx, opt)
	return cmp.Or(err, failed)
}

// Merged joins the results in parts into one, in a new folder of the store; elsewhere is the number of findings whose evidence
// is on other machines. Situations whose shard is missing are inconclusive.
func Merged(p *search.Part[Sharded], store campaign.Store) (r *Result, elsewhere int, err error) {
	battery := map[string]Situation{}
	for _, s := range Battery() {
		battery[s.ID] = s
	}
	for _, id := range p.Units {
		if battery[id].ID == "" {
			return nil, 0, fmt.Errorf("%w: there is no situation %q", search.ErrParts, id)
		}
	}
	r = &Result{Lock: p.Of["lock"], One: p.Of["masters"] == "1"}
	if command := p.Of["client"]; command != "" {
		r.Client = strings.Fields(command)
	}
	var units []Sharded
	r.JobResult, units, elsewhere, err = search.Collect(p, store, "audit-"+filepath.Base(r.Lock), func(id string) (Sharded, error) {
		return Sharded{Row: lacking(battery[id], "its shard is missing", "run that shard")}, nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, u := range units {
		r.Library = max(r.Library, u.Library)
		if name, v := judge.ServerOf(u.Versions); v != "" {
			r.Versions[name] = v
		}
		r.add(u.Row)
	}
	return r, elsewhere, r.write()
}

// lacking returns the row of a situation that was not tried.
func lacking(s Situation, why, help string) Row {
	row := Row{ID: s.ID, Group: s.Group, Name: s.Name, Says: s.Says, Breaks: s.Assumption(), Without: s.Breaks}
	for _, level := range Levels() {
		row.Cells = append(row.Cells, Cell{Level: level, Outcome: Inconclusive, Findings: []PropertyResult{
			{Property: level, Outcome: Inconclusive, Why: why, Help: help},
		}})
	}
	return row
}
