package sim

import (
	"context"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/redlock/protocol"
)

// TestHealingGoesOn: a link is healed while a reply waits in it. Its client hears of it at
// once, and whoever healed the link can still wait after that.
func TestHealingGoesOn(t *testing.T) {
	for _, f := range []cluster.LinkFault{{Delay: time.Second}, {Replies: cluster.Hold}} {
		w := world.New(1)
		c := New(w, oneMaster, Options{})
		in(t, w, func(rt *world.Client) {
			link, err := c.Link("c1", 0)
			if err != nil {
				t.Fatal(err)
			}
			rt.AfterFunc(500*time.Millisecond, func() { link.Set(f) }) // connected, and not yet asked
			rt.AfterFunc(2700*time.Millisecond, func() {
				link.Set(cluster.LinkFault{})
				if err := rt.Sleep(context.Background(), time.Second); err != nil {
					t.Error(err)
				}
			})
			talk := c.ClientMasters("c1").Begin(func(protocol.Vote) {})
			ask := func() (yes int) {
				for v := range talk.Ask(context.Background(), protocol.Command{Purpose: protocol.Set, Args: []any{"set", "k0", "t"}}, nil, time.Minute) {
					if v.Yes {
						yes++
					}
				}
				return yes
			}
			ask()
			rt.Sleep(context.Background(), time.Second)
			if yes := ask(); yes != 1 {
				t.Errorf("%+v: %d masters said yes", f, yes)
			}
			if at := w.Elapsed(); at < 2600*time.Millisecond || at > 2800*time.Millisecond {
				t.Errorf("%+v: heard of it at %v", f, at)
			}
			rt.Sleep(context.Background(), time.Minute)
		})
	}
}
