// Package bubble is the driver virtual: it runs scenarios over masters in memory, each in its own
// testing/synctest bubble, in tests and in other programs. Locks connect to the masters as to real ones, and
// time is virtual.
package bubble

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/cluster/virtual"
)

// ErrLeaked reports that a run is complete, but goroutines were left behind that wait forever.
var ErrLeaked = errors.New("the lock left goroutines behind that wait for ever: they must end when it is closed, or with the context")

// A bubble is abandoned if its masters get no call in world.StandstillLooks checks in a row, standstillEvery of
// real time apart: twice what a simulated run has, because a lock may compute between two calls. If nothing
// has connected to the masters, ignoredLooks checks are enough.
const (
	ignoredLooks    = 3
	standstillEvery = 2 * world.StandstillEvery
)

// afterwards is for goroutines that end soon after their lock was closed: go-redis looks once a second whether it still has
// to dial a master that refuses connections.
const afterwards = 5 * time.Second

// Run calls f with masters in memory, in a bubble, and closes the masters when f returns. Its error is that
// of f, or explains why the bubble could not end. It is ErrLeaked if f returned nil and only goroutines were
// left behind.
func Run(t *testing.T, cfg cluster.Config, seed uint64, f func(*virtual.Cluster) error) error {
	var masters atomic.Pointer[virtual.Cluster]
	var name atomic.Value // of the bubble
	name.Store("synctest bubble")
	done := make(chan error, 1)
	go func() {
		var err error
		var returned, ended bool
		defer func() {
			value := recover()
			switch text := fmt.Sprint(value); {
			case value == nil && !ended:
				done <- errors.New("the test was ended in the bubble")
			case value == nil:
				done <- err
			case returned && err == nil && strings.Contains(text, "blocked goroutines remain"):
				done <- ErrLeaked
			case returned && err != nil:
				done <- err
			case strings.Contains(text, "deadlock"):
				done <- errors.New("all goroutines wait for each other, or for something outside of the bubble: the lock must connect to the masters through Env.Dial, and wait for nothing that was made before")
			default:
				done <- errors.New(text)
			}
		}()
		synctest.Test(t, func(*testing.T) {
			name.Store(bubbleOfCaller())
			c := virtual.New(cfg, virtual.Options{Seed: seed})
			masters.Store(c)
			defer time.Sleep(afterwards) // in virtual time
			defer c.Close()
			err = f(c)
			returned = true
		})
		ended = true
	}()
	tick := time.NewTicker(standstillEvery)
	defer tick.Stop()
	still := world.Standstill{Every: standstillEvery}
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		c, progress := masters.Load(), int64(0)
		if c != nil {
			progress = c.Calls()
		}
		looks, _ := still.Check(progress)
		if looks >= ignoredLooks && c != nil && c.Dials() == 0 {
			return &scenario.Problem{Field: "lock", Says: "it waits, and has not connected to any of the masters that it was given: it must connect to Env.Addrs, and through Env.Dial. " + standstill(name.Load().(string))}
		}
		if looks >= world.StandstillLooks {
			return errors.New("virtual time stands still: a goroutine waits for a mutex whose holder waits for time or the network, or for something outside of the bubble, or it never waits. " + standstill(name.Load().(string)))
		}
	}
}

// bubbleOfCaller returns how stacks name the bubble that the caller is in, such as "synctest bubble 7]".
func bubbleOfCaller() string {
	room := make([]byte, 256)
	head, _, _ := strings.Cut(string(room[:runtime.Stack(room, false)]), "\n")
	i := strings.Index(head, "synctest bubble ")
	return strings.TrimSuffix(head[max(i, 0):], ":")
}

// standstill lists the goroutines that keep virtual time from passing in a bubble.
func standstill(bubble string) string {
	room := make([]byte, 4<<20)
	var guilty []string
	for stack := range strings.SplitSeq(string(room[:runtime.Stack(room, true)]), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(head, bubble) && !strings.Contains(head, "(durable)") {
			guilty = append(guilty, stack)
		}
	}
	return "The goroutines that keep virtual time from passing:\n" + strings.Join(guilty, "\n\n")
}

// In returns the driver virtual for a test. What it lends may leave goroutines behind: the error is ErrLeaked then.
func In(t *testing.T) campaign.Driver {
	return campaign.Driver{
		Name: scenario.Virtual, Virtual: true,
		Available: func(context.Context, cluster.Software) (bool, string) {
			return true, "masters in memory, in virtual time"
		},
		Lend: func(_ context.Context, s *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) error {
			return Run(t, cfg, s.Seed, func(masters *virtual.Cluster) error { return use(masters) })
		},
	}
}
