//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockpick/history"
)

// row is a line of the table.
type row struct {
	what    string
	format  string // of its values
	once    bool   // the value is the same each time
	measure func(version) (float64, error)
}

// simulated is the run whose history is judged.
var simulated = []string{"run", "--driver", "sim", "--time-limit", "20m", "--seed", "1", "--clients", "10", "--persistence", "always", "--json"}

// inputs are the files that commands read.
type inputs struct {
	history, clients, log   string
	lines, ownLines, logged int
}

// makeInputs makes a history with a version that both can read, the same without votes, and an application's log.
func makeInputs(by version, dir string) (inputs, error) {
	in := inputs{history: filepath.Join(dir, "votes.jsonl"), clients: filepath.Join(dir, "clients.jsonl"), log: filepath.Join(dir, "app.jsonl")}
	if _, err := by.run(0, simulated...); err != nil {
		return in, err
	}
	if err := in.split(filepath.Join(by.store, "latest", "history.jsonl")); err != nil {
		return in, err
	}
	var err error
	in.logged, err = writeLog(in.log)
	return in, err
}

// split copies the lines of a history as they are, and those without votes once more.
func (in *inputs) split(path string) error {
	stored, err := history.Open(path)
	if err != nil {
		return err
	}
	defer stored.Close()
	all, err := os.Create(in.history)
	if err != nil {
		return err
	}
	defer all.Close()
	own, err := os.Create(in.clients)
	if err != nil {
		return err
	}
	defer own.Close()
	both, alone := bufio.NewWriter(all), bufio.NewWriter(own)
	lines := bufio.NewScanner(stored)
	for lines.Scan() {
		var op struct{ F string }
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return err
		}
		line := append(lines.Bytes(), '\n')
		in.lines++
		both.Write(line)
		if op.F == history.FVote {
			continue
		}
		if number := fmt.Appendf(nil, `{"index":%d,`, in.lines-2); bytes.HasPrefix(line, number) { // numbered anew
			fmt.Fprintf(alone, `{"index":%d,`, in.ownLines-1)
			line = line[len(number):]
		}
		in.ownLines++
		alone.Write(line)
	}
	return errors.Join(lines.Err(), both.Flush(), alone.Flush())
}

// writeLog writes the log of an application with 20 hosts that uses a thousand locks.
func writeLog(path string) (lines int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(f)
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for i := range 250_000 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		for _, e := range []struct {
			name string
			at   time.Time
		}{{"acquired", at}, {"releasing", at.Add(700 * time.Millisecond)}} {
			fmt.Fprintf(w, `{"level":"info","time":%q,"msg":"lock","event":%q,"key":"order:%d","token":"%032x","client":"worker-%d","host":"web-%d","valid_until":%q}`+"\n",
				e.at.Format(time.RFC3339Nano), e.name, i%1000, i, i%50, i%20, at.Add(10*time.Second).Format(time.RFC3339Nano))
			lines++
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return lines, f.Close()
}

// explored is what a search of the correct lock within its assumptions says.
func explored(v version) (conclusive, schedules int, took time.Duration, err error) {
	u, err := v.run(1, "explore", "--seed", "1", "--schedules", "1000", "--workers", "1", "--json", "--faults", "kill,partition", "--persistence", "always")
	if err != nil {
		return 0, 0, 0, err
	}
	var said struct {
		Schedules int
		Verdicts  []struct{ Conclusive int }
	}
	if err := json.Unmarshal(u.out, &said); err != nil || len(said.Verdicts) == 0 {
		return 0, 0, 0, fmt.Errorf("the search says no verdict: %w", err)
	}
	return said.Verdicts[0].Conclusive, said.Schedules, u.processor, nil
}

// rows returns all rows.
func rows(in inputs) []row {
	check := func(file string, lines int, args ...string) func(version) (float64, error) {
		return func(v version) (float64, error) {
			u, err := v.run(0, append([]string{"check", file}, args...)...)
			return float64(lines) / u.processor.Seconds(), err
		}
	}
	memory := func(file string, lines int) func(version) (float64, error) {
		return func(v version) (float64, error) {
			u, err := v.run(0, "check", file)
			return u.memory / float64(lines), err
		}
	}
	list := func(what ...string) func(version) (float64, error) {
		return func(v version) (float64, error) {
			c := exec.Command("go", append([]string{"list"}, what...)...)
			c.Dir = v.source
			out, err := c.Output()
			return float64(strings.Count(string(out), "\n")), err
		}
	}
	return []row{
		{"`search`: conclusive schedules a second", "%.0f", false, func(v version) (float64, error) {
			conclusive, _, took, err := explored(v)
			return float64(conclusive) / took.Seconds(), err
		}},
		{"`search`: schedules that are conclusive, %", "%.0f", true, func(v version) (float64, error) {
			conclusive, all, _, err := explored(v)
			return 100 * float64(conclusive) / float64(all), err
		}},
		{"`check`: lines with votes a second", "%.0f", false, check(in.history, in.lines)},
		{"`check`: bytes of memory a line, with votes", "%.0f", false, memory(in.history, in.lines)},
		{"`check`: lines of clients alone a second", "%.0f", false, check(in.clients, in.ownLines)},
		{"`check`: bytes of memory a line, clients alone", "%.0f", false, memory(in.clients, in.ownLines)},
		{"`check`: lines of an application's log a second", "%.0f", false, check(in.log, in.logged, "--format", "jsonl", "--clock-error", "10ms")},
		{"`run`, simulated: processor time, in that of `check` of its history", "%.1f", false, func(v version) (float64, error) {
			run, err := v.run(0, simulated...)
			if err != nil {
				return 0, err
			}
			judged, err := v.run(0, "check", in.history)
			return run.processor.Seconds() / judged.processor.Seconds(), err
		}},
		{"`run`, simulated: seconds of processor time", "%.1f", false, func(v version) (float64, error) {
			u, err := v.run(0, simulated...)
			return u.processor.Seconds(), err
		}},
		{"size of the program, MB", "%.1f", true, func(v version) (float64, error) {
			i, err := os.Stat(v.program)
			if err != nil {
				return 0, err
			}
			return float64(i.Size()) / 1e6, nil
		}},
		{"modules", "%.0f", true, list("-m", "all")},
		{"packages in the program", "%.0f", true, list("-deps", "./cmd/lockpick")},
	}
}
