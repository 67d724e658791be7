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

// program is the test that the bubbles of a program belong to which is no test: the package
// synctest wants one.
var program = sync.OnceValue(func() *testing.T {
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // the arguments are the program's: testing must not read them
	}
	first := make(chan *testing.T)
	all := func(string, string) (bool, error) { return true, nil }
	// It never returns: the program ends before its test.
	go testing.Main(all, []testing.InternalTest{{Name: "lockpick", F: func(t *testing.T) {
		first <- t
		select {}
	}}}, nil, nil)
	return <-first
})

// Simulate runs a scenario, which is complete, in a program that is no test, and returns its
// history. Goroutines that the lock leaves behind are no error.
func Simulate(ctx context.Context, s scenario.Scenario) (*history.History, error) {
	h, err := Enact(ctx, program(), s)
	if errors.Is(err, ErrLeaked) {
		err = nil
	}
	return h, err
}

// Driver is the driver virtual, for programs that are no tests.
func Driver() campaign.Driver {
	return campaign.Driver{
		Name:      scenario.Virtual,
		Available: func(context.Context, string) (bool, string) { return true, "masters in memory, in virtual time" },
		Within: func(cfg cluster.Config, seed uint64, f func(cluster.Cluster) error) error {
			err := Run(program(), cfg, seed, func(masters *virtual.Cluster) error { return f(masters) })
			if errors.Is(err, ErrLeaked) {
				err = nil
			}
			return err
		},
	}
}
