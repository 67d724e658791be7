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
	"lockpick/cluster/virtual"
	"lockpick/history"
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

// Simulate runs a complete scenario in a program that is not a test, and returns its history. It ignores
// goroutines that the lock leaves behind.
func Simulate(ctx context.Context, s scenario.Scenario) (*history.History, error) {
	h, err := Enact(ctx, program(), s)
	if errors.Is(err, ErrLeaked) {
		err = nil
	}
	return h, err
}

// Driver returns the driver virtual, for programs that are not tests.
func Driver() campaign.Driver {
	return campaign.Driver{
		Name: scenario.Virtual,
		Available: func(context.Context, cluster.Software) (bool, string) {
			return true, "masters in memory, in virtual time"
		},
		Within: func(cfg cluster.Config, seed uint64, f func(cluster.Cluster) error) error {
			err := Run(program(), cfg, seed, func(masters *virtual.Cluster) error { return f(masters) })
			if errors.Is(err, ErrLeaked) {
				err = nil
			}
			return err
		},
	}
}
