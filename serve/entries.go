package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/claims"
	"lockpick/internal/otherfile"
	"lockpick/risk"
)

// known caches the entry of a folder while its result file stays the same.
type known struct {
	changed time.Time
	size    int64
	entry   Entry
}

// entries lists the entries of the store, the newest first.
func (s *Server) entries() ([]Entry, error) {
	dir, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	defer dir.Close()
	folders, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	var all []Entry
	for _, f := range folders {
		if !f.IsDir() {
			continue // for example the link latest
		}
		if e, ok := s.entry(f.Name()); ok {
			all = append(all, e)
		}
	}
	withTrends(all)
	slices.SortFunc(all, func(a, b Entry) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	return all, nil
}

// entry reads the entry of a folder. It returns false if the folder has no result and no history.
func (s *Server) entry(name string) (Entry, bool) {
	for _, k := range []struct {
		file, page string
		read       func(name string, b []byte, e *Entry) error
	}{
		{judge.ResultFile, judge.ReportFile, readRun},
		{audit.ResultFile, "index.html", readAudit},
		{claims.ResultFile, "index.html", readClaims},
		{risk.ResultFile, "index.html", readRisk},
	} {
		info, err := s.root.Stat(path.Join(name, k.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !info.Mode().IsRegular() {
			return Entry{}, false
		}
		e := s.cached(name, info, func() Entry {
			e := Entry{Name: name, Kind: "run", Started: began(name, info.ModTime()), Bytes: campaign.SizeOf(s.root.FS(), name), Href: s.pageOf(name, k.page)}
			b, err := otherfile.ReadIn(s.root, path.Join(name, k.file), otherfile.MaxResult)
			if err == nil {
				err = k.read(name, b, &e)
			}
			if err != nil {
				e.Why = fmt.Sprintf("%s cannot be read: %v", k.file, err)
			}
			return e
		})
		e.Label = s.labelOf(name)
		return e, true
	}
	info, err := s.root.Stat(path.Join(name, judge.HistoryFile))
	if err != nil {
		return Entry{}, false
	}
	return Entry{
		Name: name, Label: s.labelOf(name), Kind: "run", Started: began(name, info.ModTime()), Bytes: campaign.SizeOf(s.root.FS(), name), Href: (&url.URL{Path: "/live/" + name}).String(),
		Why: "it is going on, or was cut off: lockpick check judges it",
	}, true
}

// cached reads a result file only if it has changed since the last call.
func (s *Server) cached(name string, info fs.FileInfo, read func() Entry) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.read[name]; ok && k.changed.Equal(info.ModTime()) && k.size == info.Size() {
		return k.entry
	}
	e := read()
	s.read[name] = known{info.ModTime(), info.Size(), e}
	return e
}

// began returns the time at the beginning of a folder's name, in the local time zone of this machine, or
// otherwise if there is none.
func began(name string, otherwise time.Time) time.Time {
	stamp, _, _ := strings.Cut(name, "-")
	if t, err := time.ParseInLocation("20060102T150405", stamp, time.Local); err == nil {
		return t
	}
	return otherwise
}

func readRun(_ string, b []byte, e *Entry) error {
	var r judge.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	e.Verdict, e.Why = r.Overall, r.Why
	if e.Verdict == "" {
		e.Verdict = r.Verdict()
	}
	e.Of = r.Name
	e.Lock, e.Faults, e.Driver, e.Duration, e.Version = r.Lock, strings.Join(r.Faults, ", "), r.Driver, r.Duration, r.Versions["lockpick"]
	for i := range r.Verdicts {
		e.Violations += max(r.Verdicts[i].Count, len(r.Verdicts[i].Violations))
	}
	return nil
}

func readAudit(_ string, b []byte, e *Entry) error {
	e.Kind = "audit"
	var r audit.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	e.Verdict, e.Lock, e.Driver, e.Version, e.Duration = r.Verdict(), r.Lock, r.Driver, r.Versions["lockpick"], r.Took
	e.Of, e.Faults = r.Lock, fmt.Sprintf("%d situations", len(r.Rows))
	return nil
}

// readRisk reads an estimate, which has no verdict.
func readRisk(_ string, b []byte, e *Entry) error {
	e.Kind = "risk"
	var r risk.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	e.Lock, e.Driver, e.Duration = r.Setup.Lock, scenario.Sim, r.Elapsed
	e.Faults, e.Why = fmt.Sprintf("%d causes", len(r.Causes)), strings.Join(risk.Headlines(&r), " ")
	return nil
}

func readClaims(_ string, b []byte, e *Entry) error {
	e.Kind = "claims"
	var r claims.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	e.Driver, e.Version, e.Duration, e.Verdict = r.Driver, r.Versions["lockpick"], r.Took, checker.Holds
	e.Of, e.Faults = "claims on "+r.Driver, fmt.Sprintf("%d claims", len(r.Claims))
	switch n := r.Count(); {
	case n[claims.Unexpected] > 0:
		e.Verdict = checker.Violated
	case n[claims.Undecided] > 0 || r.Interrupted:
		e.Verdict = checker.Unknown
	}
	return nil
}
