package bubble_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/virtual"
	"lockpick/locktest"
	"lockpick/workload"
)

// TestALockThatConnectsElsewhereIsRefused: its lock is another Redis than the masters in memory.
func TestALockThatConnectsElsewhereIsRefused(t *testing.T) {
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It stays open: else the bubble that was given up would end after the test.
	lock := func(locktest.Env) (locktest.Lock, error) {
		return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
			c, err := net.Dial("tcp", elsewhere.Addr().String())
			if err != nil {
				return nil, err
			}
			defer c.Close()
			_, err = bufio.NewReader(c).ReadString('\n') // which never comes
			return nil, err
		}), nil
	}
	if err := workload.RegisterLock(locktest.Kind("elsewhere", "", lock)); err != nil {
		t.Fatal(err)
	}
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Faults = scenario.Virtual, "elsewhere", nil
	_, err = campaign.Record(context.Background(), s, bubble.In(t), campaign.Options{})
	var problem *scenario.Problem
	if !errors.As(err, &problem) || problem.Field != "lock" || !strings.Contains(problem.Says, "has not connected to any of the masters") || !strings.Contains(problem.Says, "bubble_test.go") {
		t.Errorf("got %v, want the lock refused, and where it waits", err)
	}
}

// TestALockThatAsksNobodyIsRefused: it is granted without a word to the masters.
func TestALockThatAsksNobodyIsRefused(t *testing.T) {
	lock := func(locktest.Env) (locktest.Lock, error) {
		return locktest.LockFunc(func(context.Context, string) (*locktest.Lease, error) {
			return &locktest.Lease{Release: func(context.Context) error { return nil }}, nil
		}), nil
	}
	if err := workload.RegisterLock(locktest.Kind("nobody", "", lock)); err != nil {
		t.Fatal(err)
	}
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Faults = scenario.Virtual, "nobody", nil
	_, err := campaign.Record(context.Background(), s, bubble.In(t), campaign.Options{})
	var problem *scenario.Problem
	if !errors.As(err, &problem) || !strings.Contains(problem.Says, "nobody sent nothing to the masters") {
		t.Errorf("got %v, want the lock refused", err)
	}
}

// TestGoroutinesThatEndSoonAreNotLeft: what ends by itself in a few seconds of virtual time is not left behind.
func TestGoroutinesThatEndSoonAreNotLeft(t *testing.T) {
	for lasts, want := range map[time.Duration]error{time.Second: nil, time.Hour: bubble.ErrLeaked} {
		if err := bubble.Run(t, cluster.Config{Masters: 1, Persistence: cluster.None}, 1, func(*virtual.Cluster) error {
			go time.Sleep(lasts)
			return nil
		}); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("a goroutine that ends after %v: %v", lasts, err)
		}
	}
}
