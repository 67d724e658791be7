package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// TestAnInterruptWhileTheHistoryIsJudged ends a run with its cause; the history is complete and can be judged later.
// An interrupt before that ends the run only, and what it recorded is judged.
func TestAnInterruptWhileTheHistoryIsJudged(t *testing.T) {
	told := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	dir, _, r, err := Run(ctx, shortScenario(scenario.Sim, func(*scenario.Scenario) {}), Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: func(format string, _ ...any) {
		if strings.Contains(format, "judging") {
			cancel(told)
		}
	}})
	if !errors.Is(err, told) || r != nil {
		t.Errorf("%v, %+v", err, r)
	}
	path := filepath.Join(dir, judge.HistoryFile)
	if _, again, err := judge.File(path); err != nil || again.CutShort != "" {
		t.Errorf("judged later: %v, cut short: %s", err, again.CutShort)
	}
	if _, err := os.Stat(filepath.Join(dir, judge.ResultFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that was not judged has a result: %v", err)
	}
}
