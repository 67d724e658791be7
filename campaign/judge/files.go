package judge

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"lockpick/history"
	"lockpick/internal/otherfile"
	"lockpick/internal/wholefile"
)

// The names of the files in a run's folder.
const (
	ScenarioFile = "scenario.yaml"
	HistoryFile  = "history.jsonl"
	ResultFile   = "result.json"
	ReportFile   = "report.html"
)

// PackedFile judges the history in a file with as little memory as possible. While it runs, the garbage
// collector of the whole process runs more often.
func PackedFile(path string) (*history.Packed, *Result, error) {
	defer CollectMore(tightHeap)()
	h, err := history.ReadPackedFile(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := judgePacked(h, countPacked(h))
	if err != nil {
		return h, nil, err
	}
	r.SetPaths(path)
	return h, r, nil
}

// File does the same as PackedFile for callers that need the whole history in memory, such as reports.
func File(path string) (*history.History, *Result, error) {
	defer CollectMoreFor(int(mostLines(path)))()
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := History(h)
	if err != nil {
		return h, nil, err
	}
	r.SetPaths(path)
	return h, r, nil
}

// ReadResult reads the result of a run. If the harness was killed, there is no result, and the error wraps
// os.ErrNotExist.
func ReadResult(dir string) (*Result, error) {
	b, err := otherfile.Read(filepath.Join(dir, ResultFile), otherfile.MaxResult)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("store: %s: %w", filepath.Join(dir, ResultFile), err)
	}
	return &r, nil
}

// WriteResult writes result.json into the folder of a run.
func WriteResult(dir string, r *Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := wholefile.Replace(filepath.Join(dir, ResultFile), 0o644, wholefile.Content(append(b, '\n'))); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// SetPaths sets the paths of the history and the report, and the command that repeats the run.
func (r *Result) SetPaths(path string) {
	dir := filepath.Dir(path)
	r.Run, r.History, r.Report = filepath.Base(dir), path, filepath.Join(dir, ReportFile)
	if !fileExists(path) { // it was found under another name
		for _, suffix := range []string{history.ZstdSuffix, history.GzipSuffix} {
			if fileExists(path + suffix) {
				r.History = path + suffix
				break
			}
		}
	}
	if file := filepath.Join(dir, ScenarioFile); fileExists(file) { // a history without a run has none
		r.Command = Program + " run " + file
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
