package redlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// able are masters that are not Redis, with all that Masters can do besides.
type able struct {
	*fakeMasters
	connected int
	suspect   func(protocol.MasterHealth)
	roundTrip time.Duration
}

func (a *able) Connect(context.Context) { a.connected++ }

func (a *able) Health() []protocol.MasterHealth {
	return []protocol.MasterHealth{{Name: "m1", RoundTrip: a.roundTrip}, {Name: "m2"}, {Name: "m3", Err: errRefused}}
}

func (a *able) OnSuspect(f func(protocol.MasterHealth)) { a.suspect = f }

func (a *able) RoundTrip() time.Duration { return a.roundTrip }

func (a *able) Read(_ context.Context, name string) (all []protocol.MasterKey) {
	for i, m := range a.masters {
		all = append(all, protocol.MasterKey{Name: a.Names()[i], Token: m.keys[name].token})
	}
	return all
}

// TestAnyMastersCanDoWhatThoseOfNewCan: nothing about the lock depends on go-redis' transport.
func TestAnyMastersCanDoWhatThoseOfNewCan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &able{fakeMasters: newFakeMasters(3), roundTrip: 300 * time.Millisecond}
		var timeout atomic.Int64 // the longest time until a vote, in ns
		var suspects []string
		c := open(t, m, redlock.WithTTL(10*time.Second), redlock.WithSuspect(func(h redlock.MasterHealth) { suspects = append(suspects, h.Name) }),
			redlock.WithHooks(redlock.Hooks{Vote: func(v redlock.Vote) {
				for was := timeout.Load(); int64(v.Took) > was && !timeout.CompareAndSwap(was, int64(v.Took)); was = timeout.Load() {
				}
			}}))

		health, err := c.Connect(t.Context())
		if err != nil || m.connected != 1 || len(health) != 3 || !errors.Is(health[2].Err, errRefused) {
			t.Errorf("Connect, called %d times: %v, %v", m.connected, health, err)
		}
		m.suspect(protocol.MasterHealth{Name: "m3", Err: errRefused})
		if len(suspects) != 1 || suspects[0] != "m3" {
			t.Errorf("suspects: %v", suspects)
		}

		// Four round trips are the timeout, not the 50 ms for masters nearby.
		m.fate = func(master int, _ protocol.Command) fate {
			if master == 2 {
				return silent
			}
			return fate{arrives: time.Second}
		}
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if had := time.Duration(timeout.Load()); had.Truncate(time.Millisecond) != 4*m.roundTrip {
			t.Errorf("the silent master had %v; want four round trips of %v", had, m.roundTrip)
		}
		if holder, keys, err := c.Inspect(t.Context(), "k"); err != nil || holder != lease.Token() || len(keys) != 3 {
			t.Errorf("Inspect: %q, %v, %v; want %q", holder, keys, err, lease.Token())
		}
	})
}
