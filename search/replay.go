package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/history"
)

// ReplayOptions asks for a counterexample to be re-enacted.
type ReplayOptions struct {
	Scenario   campaign.Scenario
	Driver     string
	Properties []string // levels or names of those that count as reproduced; empty: the scenario's, or all
	Attempts   int      // at most
	All        bool     // go on after the first that reproduces it: for the rate

	// Each is told of every attempt when it is over; may be nil.
	Each func(dir string, h *history.History, r *campaign.Result, reproduced bool) error
}

// ReplayResult is what became of a replay.
type ReplayResult struct {
	Driver     string
	Attempts   int
	Reproduced int
	Runs       []string         // folders in the store
	First      *campaign.Result // of the first that reproduced it; nil: none
	worst      campaign.Conclusion
}

// Replay runs a scenario again and again until its property is violated. The steps of
// its schedule strike at their triggers; on real masters all else takes the time that it
// takes, so each attempt has another seed. The end of ctx ends it in order: what was tried
// by then counts.
func Replay(ctx context.Context, how ReplayOptions, opt campaign.Options) (*ReplayResult, error) {
	s := how.Scenario
	s.Driver = how.Driver
	levels := how.Properties
	if len(levels) == 0 {
		levels = s.Properties
	}
	s.Properties, s.StopOnViolation = levels, true
	out := &ReplayResult{worst: campaign.Conclusion{Verdict: checker.Holds}}
	for i := range max(how.Attempts, 1) {
		dir, h, r, err := campaign.Run(ctx, s, opt)
		if err != nil {
			return out, err
		}
		v, _ := r.FirstViolation(levels)
		reproduced := v != nil
		if reproduced || ctx.Err() == nil { // one that was interrupted counts only for what it found
			out.Attempts++
			if c := r.Conclude(levels); campaign.Worse(c.Verdict, out.worst.Verdict) {
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
		s.Seed, opt.Progress = scheduleSeed(how.Scenario.Seed, i), nil // once is enough to be told of the masters
	}
	return out, nil
}

// Rate is the share of attempts that reproduced it, with its 95 % interval (Wilson's
// score interval).
func (r *ReplayResult) Rate() (rate, low, high float64) {
	i := Wilson(r.Reproduced, r.Attempts, 1)
	return i.Share, i.Low, i.High
}

// Conclude is violated if an attempt reproduced it, and else the most severe conclusion of
// the attempts: holds only if each of them tested the properties.
func (r *ReplayResult) Conclude() campaign.Conclusion {
	switch {
	case r.Reproduced > 0:
		return campaign.Conclusion{Verdict: checker.Violated}
	case r.Attempts == 0:
		return campaign.Conclusion{Verdict: checker.Unknown, Why: "interrupted before an attempt was over"}
	}
	return r.worst
}

// SameHistory compares what two runs recorded, byte by byte, but for the headers, which
// name versions. difference is where they first differ, or "".
func SameHistory(one, other string) (difference string, err error) {
	a, err := os.ReadFile(filepath.Join(one, campaign.HistoryFile))
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(other, campaign.HistoryFile))
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := 1; i < min(len(x), len(y)); i++ {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("line %d was\n  %s\nand is now\n  %s", i+1, x[i], y[i]), nil
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("there were %d lines, and are now %d", len(x), len(y)), nil
	}
	return "", nil
}

// Keep stores a counterexample as a run of the driver sim: its scenario, with the seed with
// which it violates its properties, the history and the result.
func Keep(ctx context.Context, s campaign.Scenario, store campaign.Store) (dir string, h *history.History, r *campaign.Result, err error) {
	s.Driver = campaign.Sim
	dir, h, r, err = campaign.Run(ctx, s, campaign.Options{Store: store})
	if err != nil {
		return dir, h, r, err
	}
	if v, _ := r.FirstViolation(s.Properties); v == nil {
		err = &campaign.HarnessError{Err: fmt.Errorf("seed %d does not violate %v again as it did: this is a bug of Lockpick (see %s)", s.Seed, s.Properties, dir)}
	}
	return dir, h, r, err
}
