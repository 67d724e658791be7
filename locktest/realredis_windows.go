package locktest

import (
	"context"
	"errors"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/history"
)

const notOnWindows = "redis-server processes are stopped with the signals of Unix: run the test on Linux or macOS, or in WSL"

func realRedis(t testing.TB) {
	t.Helper()
	t.Skip("locktest: RealRedis: " + notOnWindows)
}

func onProcesses(context.Context, scenario.Scenario) (*history.History, error) {
	return nil, errors.New(notOnWindows)
}
