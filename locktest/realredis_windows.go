package locktest

import (
	"context"
	"errors"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
)

const notOnWindows = "redis-server processes are stopped with the signals of Unix: run the test on Linux or macOS, or in WSL"

func realRedis(t testing.TB) {
	t.Helper()
	t.Skip("locktest: RealRedis: " + notOnWindows)
}

var processes = campaign.Driver{Name: scenario.Process, Lend: campaign.Starting(func(context.Context, cluster.Config) (cluster.Cluster, error) {
	return nil, errors.New(notOnWindows)
})}
