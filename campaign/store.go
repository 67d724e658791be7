package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/internal/otherfile"
)

// Store is the folder for runs, with a subfolder for each run.
type Store struct{ Dir string }

// mastersDir is the subfolder of a run for the files of its masters.
const mastersDir = "masters"

// create makes the folder of a new run, and points the link latest to it.
func (s Store) create(name string, at time.Time) (string, error) {
	if err := s.checkLatest(); err != nil {
		return "", err
	}
	run, err := s.CreateFolder(name, at)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, run, mastersDir), 0o755); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return run, s.linkLatest(run)
}

// CreateFolder makes a new folder in the store and returns its name: the time, the given name, and if
// necessary a number.
func (s Store) CreateFolder(name string, at time.Time) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	base := at.Format("20060102T150405") + "-" + strings.Map(plain, name)
	run := base
	for i := 2; ; i++ {
		err := os.Mkdir(filepath.Join(s.Dir, run), 0o755)
		if err == nil {
			return run, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("store: %w", err)
		}
		run = fmt.Sprintf("%s-%d", base, i)
	}
}

// plain replaces what would make a name more than one folder, or none that every system takes: a lock may be named after
// a subtest.
func plain(r rune) rune {
	if strings.ContainsRune(`/\:*?"<>|`, r) {
		return '-'
	}
	return r
}

// pointed numbers the temporary links of linkLatest.
var pointed atomic.Int64

// checkLatest returns an error if latest exists and is not a link: it is somebody's file and must not be
// replaced.
func (s Store) checkLatest() error {
	latest := filepath.Join(s.Dir, "latest")
	if info, err := os.Lstat(latest); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("store: %s is not a link to a run, and is left as it is: move it, or use another --store", latest)
	}
	return nil
}

// linkLatest makes latest a link to a run, atomically, because other programs may be reading it.
func (s Store) linkLatest(run string) error {
	if err := s.checkLatest(); err != nil {
		return err
	}
	latest := filepath.Join(s.Dir, "latest")
	next := fmt.Sprintf("%s.%d.%d", latest, os.Getpid(), pointed.Add(1)) // runs of one process may start at the same time
	_ = os.Remove(next)
	if err := os.Symlink(run, next); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.Rename(next, latest); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// RemoveDanglingLatest removes the link latest if its run is gone.
func (s Store) RemoveDanglingLatest() error {
	latest := filepath.Join(s.Dir, "latest")
	if _, err := os.Stat(latest); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.Remove(latest); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Find returns the folder of a run, given its path, its name in the store, or latest.
func (s Store) Find(run string) (string, error) {
	for _, dir := range []string{run, filepath.Join(s.Dir, run)} {
		if _, err := history.Find(filepath.Join(dir, judge.HistoryFile)); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no run %q: neither a folder with a %s nor a run in %s (see: lockpick list runs)", run, judge.HistoryFile, s.Dir)
}

// Runs lists the names of the runs, the oldest first.
func (s Store) Runs() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var runs []string
	for _, e := range entries {
		if _, err := history.Find(filepath.Join(s.Dir, e.Name(), judge.HistoryFile)); err == nil && e.IsDir() {
			runs = append(runs, e.Name())
		}
	}
	slices.Sort(runs)
	return runs, nil
}

// CopyRun copies a run into the store under a name, unless the store has one of that name. It returns false
// if from is not a run. Somebody else may have made it: links, pipes and devices in it are left out.
func (s Store) CopyRun(from, name string) (bool, error) {
	if _, err := history.Find(filepath.Join(from, judge.HistoryFile)); err != nil {
		return false, nil
	}
	to := filepath.Join(s.Dir, name)
	if _, err := os.Stat(to); err == nil {
		return true, nil
	}
	if err := otherfile.CopyFolder(to, from, otherfile.MaxPart); err != nil {
		return false, fmt.Errorf("store: copy the run %s: %w", from, err)
	}
	return true, nil
}

// SizeOf returns the size in bytes of all files in a folder and below it. Files that cannot be read, or are
// deleted meanwhile, do not count.
func SizeOf(store fs.FS, folder string) int64 {
	var sum int64
	_ = fs.WalkDir(store, folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// compared is how many of the latest runs are compared with a new one's scenario.
const compared = 20

// Since compares a run with the last one before it of the same scenario. It returns nil if there is none.
func (s Store) Since(run string, of scenario.Scenario, now *judge.Result) *judge.Since {
	same := func(a, b scenario.Scenario) bool {
		a.Seed, b.Seed = 0, 0
		x, errX := a.YAML()
		y, errY := b.YAML()
		return errX == nil && errY == nil && bytes.Equal(x, y)
	}
	runs, err := s.Runs()
	if err != nil {
		return nil
	}
	runs = slices.DeleteFunc(runs, func(r string) bool { return r >= run })
	for _, r := range slices.Backward(runs[max(0, len(runs)-compared):]) {
		dir := filepath.Join(s.Dir, r)
		if earlier, err := scenario.Load(filepath.Join(dir, judge.ScenarioFile)); err != nil || !same(earlier, of) {
			continue
		}
		if then, err := judge.ReadResult(dir); err == nil { // a run that was killed has none
			return judge.SinceRun(now, then)
		}
	}
	return nil
}

// Open loads what a user means by RUN or SCENARIO: the scenario in a file, or that of a run (its folder, its
// name in the store, or latest). dir is the run's folder, or "" for a file.
func (s Store) Open(name string) (opened scenario.Scenario, dir string, err error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		if strings.HasSuffix(name, ".jsonl") {
			return scenario.Scenario{}, "", fmt.Errorf("%s is a history: name the folder of its run, or a scenario", name)
		}
		opened, err = scenario.Load(name)
		return opened, "", err
	}
	if dir, err = s.Find(name); err != nil {
		return scenario.Scenario{}, "", fmt.Errorf("%w; nor is it a scenario file", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // latest may soon link to another run
	}
	opened, err = scenario.Load(filepath.Join(dir, judge.ScenarioFile))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("the run %s has no %s, so it cannot be run again: its clients were not Lockpick's (lockpick masters, imported logs), or the file was removed", name, judge.ScenarioFile)
	}
	return opened, dir, err
}

// compressFrom is the size in bytes from which histories are compressed, to a tenth or less. Shorter ones
// stay readable in every editor.
const compressFrom = 16 << 20

// CompressLong compresses the history of a finished and judged run if it is long. Readers of histories find
// it under its plain name, too.
func CompressLong(ctx context.Context, dir string, r *judge.Result) error {
	path := filepath.Join(dir, judge.HistoryFile)
	info, err := os.Stat(path)
	if err != nil || info.Size() < compressFrom {
		return err
	}
	compressed, err := history.Compress(ctx, path)
	if err == nil {
		r.History = compressed
	}
	return err
}

// Add stores a history that was held in memory as a new run, judges it, and stores the result with the
// command that repeats the run.
func (s Store) Add(h *history.History, command string) (dir string, r *judge.Result, err error) {
	run, err := s.create(h.Header.Name, time.Now())
	if err != nil {
		return "", nil, &judge.HarnessError{Err: err}
	}
	dir = filepath.Join(s.Dir, run)
	path := filepath.Join(dir, judge.HistoryFile)
	if err := history.WriteFile(path, h); err != nil {
		return dir, nil, &judge.HarnessError{Err: err}
	}
	if _, r, err = judge.PackedFile(path); err != nil {
		return dir, nil, err
	}
	r.Command = command
	if err := judge.WriteResult(dir, r); err != nil {
		return dir, r, &judge.HarnessError{Err: err}
	}
	return dir, r, nil
}

// Keep stores a history and its result as a run without a scenario.
func (s Store) Keep(h *history.History, r *judge.Result) (dir string, err error) {
	run, err := s.CreateFolder(h.Header.Name, time.Now())
	if err != nil {
		return "", &judge.HarnessError{Err: err}
	}
	dir = filepath.Join(s.Dir, run)
	path := filepath.Join(dir, judge.HistoryFile)
	if err := history.WriteFile(path, h); err != nil {
		return dir, &judge.HarnessError{Err: err}
	}
	r.SetPaths(path)
	if err := errors.Join(judge.WriteResult(dir, r), s.linkLatest(run)); err != nil {
		return dir, &judge.HarnessError{Err: err}
	}
	return dir, nil
}
