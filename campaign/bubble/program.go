package bubble

import (
	"context"
	"errors"
	"flag"
	"sync"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
)

// program returns the test to which the bubbles of an ordinary program belong, because synctest requires one.
var program = sync.OnceValue(func() *testing.T {
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // the arguments are the program's: testing must not read them
	}
	first := make(chan *testing.T)
	all := func(string, string) (bool, error) { return true, nil }
	// It never returns: the program ends before this test does.
	go testing.Main(all, []testing.InternalTest{{Name: "lockpick", F: func(t *testing.T) {
		first <- t
		select {}
	}}}, nil, nil)
	return <-first
})

// Driver returns the driver virtual for programs that are not tests. It ignores goroutines that a lock leaves behind.
func Driver() campaign.Driver {
	d := In(nil) // the test that it needs begins with its first run: not every program has one
	d.Lend = func(ctx context.Context, s *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) error {
		err := In(program()).Lend(ctx, s, cfg, use)
		if errors.Is(err, ErrLeaked) {
			err = nil
		}
		return err
	}
	return d
}
