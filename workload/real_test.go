package workload_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// unreleased is the lock whose release no master understands.
const unreleased = "set-broken-lua"

// Whatever else may be wrong with a lock, it can be acquired and released on real masters, by
// several clients at a time.
func TestEveryLockOnRealMasters(t *testing.T) {
	if ok, why := process.Available(t.Context()); !ok {
		t.Skip("no real masters: ", why)
	}
	masters, err := process.Start(t.Context(), cluster.Config{Masters: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { masters.Close() })
	var addrs []string
	for i := range 5 {
		link, err := masters.Link("c1", i)
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, link.Addr())
	}
	for _, kind := range workload.Locks {
		t.Run(kind.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() {
					l, err := kind.New(workload.Env{
						Client: fmt.Sprintf("c%d", i), Addrs: addrs, Runtime: workload.NewClock(protocol.RealTime{}), TTL: time.Minute, Timeout: 5 * time.Second,
						Pass: func(string, string) bool { return true },
					})
					if err != nil {
						t.Error(err)
						return
					}
					defer l.Close()
					for n := range 3 {
						key := fmt.Sprintf("%s %d", kind.Name, i)
						if kind.Name == unreleased {
							key += fmt.Sprint(", again ", n)
						}
						lease, err := l.Acquire(ctx, key)
						if err != nil {
							t.Error(err)
							return
						}
						if err := lease.Release(ctx); (err != nil) != (kind.Name == unreleased) {
							t.Error("release: ", err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
