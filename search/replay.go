package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// ReplayOptions are the options of a replay of a counterexample.
type ReplayOptions struct {
	Scenario   scenario.Scenario
	Driver     string
	Properties []string // levels or names of the properties that count as reproduced; empty: the scenario's, or all
	Attempts   int      // the most attempts; at least one is made
	Own        bool     // what a broken assumption accounts for does not count (judge.Inherent)
	All        bool     // continue after the first reproduction, to measure the rate

	// Each is called after every attempt; it may be nil.
	Each func(dir string, h *history.History, r *judge.Result, reproduced bool) error
}

// ReplayResult is the outcome of a replay.
type ReplayResult struct {
	Driver     string
	Attempts   int
	Reproduced int
	Runs       []string      // folders in the store
	First      *judge.Result // of the first attempt that reproduced the violation; nil: none
	worst      judge.Conclusion
}

// Replay runs a scenario repeatedly until its property is violated. The steps of its schedule strike at their
// triggers. On real masters the timing of everything else varies, so each attempt has another seed. If ctx
// ends, the replay ends in order, and the attempts so far count.
func Replay(ctx context.Context, how ReplayOptions, opt campaign.Options) (*ReplayResult, error) {
	s := how.Scenario
	s.Driver = how.Driver
	if s.Driver == scenario.Sim {
		s = s.Simulated()
	}
	levels := how.Properties
	if len(levels) == 0 {
		levels = s.Properties
	}
	s.Properties = levels
	s.StopOnViolation = (s.StopOnViolation || s.Driver != scenario.Sim) && !how.Own // a simulated run must end as recorded
	if s.Driver != scenario.Sim && !how.Own {
		s.StopAfter = 0 // real masters may need longer until the violation
	}
	out := &ReplayResult{worst: judge.Conclusion{Verdict: checker.Holds}}
	for i := range max(how.Attempts, 1) {
		dir, h, r, err := campaign.Run(ctx, s, opt)
		if err != nil {
			return out, err
		}
		reproduced := slices.ContainsFunc(r.ResultsFor(levels), func(v checker.Result) bool {
			return v.Verdict == checker.Violated && !(how.Own && len(judge.Inherent(h, &v)) > 0)
		})
		if reproduced || ctx.Err() == nil { // an interrupted attempt counts only if it found a violation
			out.Attempts++
			if c := r.Conclude(levels); judge.Worse(c.Verdict, out.worst.Verdict) {
				out.worst = c
			}
		}
		out.Driver = r.Driver
		out.Runs = append(out.Runs, dir)
		if reproduced {
			if out.Reproduced++; out.First == nil {
				out.First = r
			}
		}
		if how.Each != nil {
			if err := how.Each(dir, h, r, reproduced); err != nil {
				return out, err
			}
		}
		if reproduced && !how.All || ctx.Err() != nil {
			break
		}
		s.Seed, opt.Progress = ScheduleSeed(how.Scenario.Seed, i), nil // reporting the masters once is enough
	}
	return out, nil
}

// Rate returns the share of attempts that reproduced the violation, with its 95 % interval (Wilson's score
// interval), all from 0 to 1.
func (r *ReplayResult) Rate() (rate, low, high float64) {
	i := Wilson(r.Reproduced, r.Attempts, 1)
	return i.Share, i.Low, i.High
}

// Conclude returns violated if an attempt reproduced the violation, otherwise the most severe conclusion of
// the attempts: holds only if each of them tested the properties.
func (r *ReplayResult) Conclude() judge.Conclusion {
	switch {
	case r.Reproduced > 0:
		return judge.Conclusion{Verdict: checker.Violated}
	case r.Attempts == 0:
		return judge.Conclusion{Verdict: checker.Unknown, Why: "interrupted before an attempt was over"}
	}
	return r.worst
}

// lines reads the history of a run line by line, compressed or not.
type lines struct {
	*bufio.Scanner
	io.Closer
}

func linesOf(dir string) (lines, error) {
	in, err := history.Open(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		return lines{}, err
	}
	s := bufio.NewScanner(in)
	s.Buffer(nil, history.MaxLine)
	return lines{s, in}, nil
}

// SameHistory compares the records of two runs byte by byte, except for the headers, which
// contain versions. difference describes the first difference, or is "".
func SameHistory(one, other string) (difference string, err error) {
	a, err := linesOf(one)
	if err != nil {
		return "", err
	}
	defer a.Close()
	b, err := linesOf(other)
	if err != nil {
		return "", err
	}
	defer b.Close()
	both := 0
	for ; ; both++ {
		x, y := a.Scan(), b.Scan()
		switch err := errors.Join(a.Err(), b.Err()); {
		case err != nil:
			return "", fmt.Errorf("compare the histories of %s and %s: %w", one, other, err)
		case !x && !y:
			return "", nil
		case x && y:
			if both > 0 && !bytes.Equal(a.Bytes(), b.Bytes()) {
				return fmt.Sprintf("line %d was\n  %s\nand is now\n  %s", both+1, a.Bytes(), b.Bytes()), nil
			}
			continue
		case x:
			return fmt.Sprintf("there were more than %d lines, and are now %d", both, both), nil
		}
		return fmt.Sprintf("there were %d lines, and are now more", both), nil
	}
}

// Keep runs a counterexample on the driver sim and stores the run: the scenario, with the seed that violates
// its properties, the history and the result. It fails with a *judge.HarnessError if the run violates none of
// them.
func Keep(ctx context.Context, s scenario.Scenario, store campaign.Store) (dir string, h *history.History, r *judge.Result, err error) {
	s = s.Simulated()
	dir, h, r, err = campaign.Run(ctx, s, campaign.Options{Store: store})
	if err != nil {
		return dir, h, r, err
	}
	if v, _ := r.FirstViolation(s.Properties); v == nil {
		err = &judge.HarnessError{Err: fmt.Errorf("seed %d does not violate %v again as it did: this is a bug of Lockpick (see %s)", s.Seed, s.Properties, dir)}
	}
	return dir, h, r, err
}
