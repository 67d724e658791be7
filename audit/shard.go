package audit

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/search"
)

// ShardKind is the kind of the parts of an audit.
const ShardKind = "audit"

// Sharded is what a shard found in one situation, where it keeps the evidence, and how long it took
// with all situations of that folder.
type Sharded struct {
	Row
	Folder   string            `json:"folder"`
	Took     time.Duration     `json:"took"` // ns
	Library  string            `json:"library,omitempty"`
	Versions map[string]string `json:"versions"`
}

// NewShard returns an audit of which nothing is done, for a shard to add what it finds.
func NewShard(opt Options, s search.Shard) (*search.Batch[Sharded], error) {
	if opt.Driver == campaign.Auto {
		return nil, fmt.Errorf("driver auto: shards need the same driver, and each machine would choose for itself: name one")
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
	return search.NewBatch[Sharded](ShardKind, of, ids, s), nil
}

// AddShard adds what a shard found. Nothing of an audit that was interrupted is added: which
// schedules a row lacks is not known.
func AddShard(b *search.Batch[Sharded], r *Result) error {
	folder, err := filepath.Abs(r.Folder)
	if err != nil {
		return &campaign.HarnessError{Err: err}
	}
	if r.Interrupted {
		return nil
	}
	for _, row := range r.Rows {
		b.Done[row.ID] = Sharded{row, folder, r.Took, r.Library, r.Versions}
	}
	return nil
}

// Merged is the audit of which a batch has the parts. Its evidence is copied from the shards' folders
// into one of the store; what is on other machines stays there, and away says of how many findings.
// Situations whose shard is missing are inconclusive.
func Merged(b *search.Batch[Sharded], store campaign.Store) (r *Result, away int, err error) {
	now := time.Now()
	r = &Result{
		Lock: b.Of["lock"], Driver: b.Of["driver"], Budget: b.Of["budget"], Started: now.UTC(), Interrupted: len(b.Missing()) > 0,
		Versions: map[string]string{"lockpick": b.Lockpick, "go": runtime.Version()},
	}
	if b.Of["client"] != "" {
		r.Client = strings.Fields(b.Of["client"])
	}
	if r.Seed, err = strconv.ParseUint(b.Of["seed"], 10, 64); err != nil {
		return nil, 0, fmt.Errorf("%w: the seed is %q", search.ErrParts, b.Of["seed"])
	}
	took := map[string]time.Duration{} // by folder
	battery := Battery()
	for _, id := range b.Units {
		if !slices.ContainsFunc(battery, func(s Situation) bool { return s.ID == id }) {
			return nil, 0, fmt.Errorf("%w: there is no situation %q", search.ErrParts, id)
		}
	}
	dir, err := store.CreateFolder("audit-"+filepath.Base(r.Lock), now)
	if err != nil {
		return nil, 0, &campaign.HarnessError{Err: err}
	}
	r.Folder = filepath.Join(store.Dir, dir)
	for _, id := range b.Units {
		done, ok := b.Done[id]
		if !ok {
			done.Row = lacking(battery[slices.IndexFunc(battery, func(s Situation) bool { return s.ID == id })])
		}
		r.Library = max(r.Library, done.Library)
		if v := done.Versions["redis"]; v != "" {
			r.Versions["redis"] = v
		}
		for i := range done.Cells {
			for j := range done.Cells[i].Findings {
				f := &done.Cells[i].Findings[j]
				here, err := copyEvidence(done.Folder, r.Folder, id, f)
				if err != nil {
					return nil, 0, &campaign.HarnessError{Err: err}
				}
				if !here {
					away++
				}
			}
		}
		r.Rows = append(r.Rows, done.Row)
		took[done.Folder] = done.Took
		r.Schedules, r.Leases = r.Schedules+done.Schedules, r.Leases+done.Leases
	}
	for _, t := range took {
		r.Took += t
	}
	return r, away, r.write(filepath.Join(r.Folder, ResultFile))
}

// copyEvidence copies the run of a finding. It returns false if the run is not on this machine.
func copyEvidence(from, to, id string, f *Finding) (bool, error) {
	if f.Run == "" {
		return true, nil
	}
	was, name := filepath.Base(f.Run), id+"-"+filepath.Base(f.Run) // two shards may have begun runs in the same second
	ok, err := campaign.Store{Dir: to}.CopyRun(filepath.Join(from, was), name)
	if !ok || err != nil {
		f.Run, f.Command = "", ""
		return ok, err
	}
	words := strings.Fields(f.Command)
	for i, w := range words {
		if _, below, found := strings.Cut(w, filepath.Join(filepath.Base(from), was)); found {
			words[i] = filepath.Join(to, name) + below
		}
	}
	f.Run, f.Command = name, strings.Join(words, " ")
	return true, nil
}

// lacking is the row of a situation that no shard has tried.
func lacking(s Situation) Row {
	row := Row{ID: s.ID, Group: s.Group, Name: s.Name, Says: s.Says, Breaks: s.Breaks}
	for _, level := range Levels() {
		row.Cells = append(row.Cells, Cell{Level: level, Outcome: Inconclusive, Findings: []Finding{
			{Property: level, Outcome: Inconclusive, Why: "its shard is missing", Help: "run that shard"},
		}})
	}
	return row
}
