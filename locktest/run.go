package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/campaign"
	"lockpick/cluster"
	"lockpick/cluster/virtual"
	"lockpick/history"
	"lockpick/workload"
)

// makers are the locks of the tests of this program, by the name that scenarios call them.
var makers sync.Map

// register has scenarios know the lock of a test.
func register(name string, make func(Env) (Lock, error)) error {
	_, known := makers.Swap(name, make)
	if known {
		return nil // the test is run once more
	}
	return workload.RegisterLock(kind(name, func(e Env) (Lock, error) {
		f, _ := makers.Load(name)
		return f.(func(Env) (Lock, error))(e)
	}))
}

// runner runs scenarios in bubbles, each of its own.
type runner struct {
	t      *testing.T
	leaked atomic.Int64
}

// A bubble whose time stands still for so many looks at it, that far apart in real time, is
// given up.
const (
	standstillLooks = 20
	standstillEvery = time.Second
)

func (r *runner) run(_ context.Context, s campaign.Scenario) (*history.History, error) {
	var h *history.History
	var err error
	var masters atomic.Pointer[virtual.Cluster]
	done := make(chan error, 1)
	go func() {
		var ended bool
		defer func() {
			switch value := recover(); {
			case value == nil && !ended:
				done <- errors.New("the test was ended in the bubble")
			case value == nil:
				done <- err
			case h != nil && strings.Contains(fmt.Sprint(value), "blocked goroutines remain"):
				r.leaked.Add(1)
				done <- nil
			case strings.Contains(fmt.Sprint(value), "deadlock"):
				done <- errors.New("all goroutines wait for each other, or for something outside of the test's bubble: the lock must reach the masters through Env.Dial, and wait for nothing that was made before")
			default:
				done <- fmt.Errorf("%v", value)
			}
		}()
		synctest.Test(r.t, func(*testing.T) {
			c := virtual.New(cluster.Config{
				Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence), Replicas: s.Replicas,
				MaxMemory: s.MaxMemory, Eviction: cluster.Eviction(s.Eviction),
			}, virtual.Options{Seed: s.Seed})
			masters.Store(c)
			defer c.Close()
			h, err = campaign.Enact(context.Background(), s, c, nil)
		})
		ended = true
	}()
	tick := time.NewTicker(standstillEvery)
	defer tick.Stop()
	for last, looks := int64(-1), 0; ; {
		select {
		case err := <-done:
			return h, err
		case <-tick.C:
		}
		if c := masters.Load(); c != nil && c.Calls() != last {
			last, looks = c.Calls(), 0
			continue
		}
		if looks++; looks >= standstillLooks {
			return nil, standstill()
		}
	}
}

// standstill says where goroutines are that keep time from passing.
func standstill() error {
	room := make([]byte, 4<<20)
	var guilty []string
	for stack := range strings.SplitSeq(string(room[:runtime.Stack(room, true)]), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(head, "synctest bubble") && !strings.Contains(head, "(durable)") {
			guilty = append(guilty, stack)
		}
	}
	return fmt.Errorf("virtual time stands still: a goroutine waits for a mutex whose holder waits for time or the network, or for something outside of the test's bubble, or it never waits:\n%s",
		strings.Join(guilty, "\n\n"))
}
