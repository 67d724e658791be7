package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/lua"
	"lockpick/cluster/sim/world"
	"lockpick/redlock/protocol"
)

// voting runs f, which is given a sequence of the votes of five masters and, from 0, the
// instants at which they were cast so far.
func voting(seed uint64, strategy world.Strategy, f func(w *world.World, votes func(func(protocol.Vote) bool), cast *[]time.Duration)) error {
	w := world.New(seed)
	w.Strategy = strategy
	c := New(w, cluster.Config{}, Options{})
	return w.Run(func() {
		var cast []time.Duration
		talk := c.ClientMasters("c1").Begin(func(protocol.Vote) { cast = append(cast, w.Elapsed()) })
		set := protocol.Command{Purpose: protocol.Set, Args: []any{"set", "k", "t", "nx", "px", int64(1000)}}
		f(w, talk.Ask(context.Background(), set, nil, 50*time.Millisecond), &cast)
	})
}

func TestVotesAreTakenWhenTheyAreCast(t *testing.T) {
	for _, strategy := range []world.Strategy{nil, &world.PCT{}} {
		for enough := 1; enough <= 5; enough++ {
			err := voting(uint64(enough), strategy, func(w *world.World, votes func(func(protocol.Vote) bool), cast *[]time.Duration) {
				var taken []time.Duration
				votes(func(protocol.Vote) bool {
					taken = append(taken, w.Elapsed())
					return len(taken) < enough
				})
				if len(taken) != enough || !slices.Equal(taken, *cast) {
					t.Errorf("%d votes are enough: cast at %v, taken at %v", enough, *cast, taken)
				}
				if now := w.Elapsed(); now != taken[len(taken)-1] {
					t.Errorf("%d votes are enough: %v, and it goes on at %v", enough, taken, now)
				}
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

type boom string

func TestAPanicInALoopOverVotesIsThatOfItsProcess(t *testing.T) {
	loop := func(w *world.World, votes func(func(protocol.Vote) bool)) {
		for range votes {
			panic(boom("boom"))
		}
	}
	err := voting(1, nil, func(w *world.World, votes func(func(protocol.Vote) bool), _ *[]time.Duration) { loop(w, votes) })
	var p *world.Panic
	if !errors.As(err, &p) || p.Value != boom("boom") || !strings.Contains(p.Who, "coroutine 1") || !strings.Contains(p.Stack, "conversation_test.go") {
		t.Errorf("%v", err)
	}
	err = voting(1, nil, func(w *world.World, votes func(func(protocol.Vote) bool), _ *[]time.Duration) {
		defer func() {
			if r := recover(); r != boom("boom") {
				t.Errorf("recovered %v", r)
			}
			w.Runtime().Sleep(context.Background(), time.Second)
		}()
		loop(w, votes)
	})
	if err != nil {
		t.Errorf("it was recovered, and yet: %v", err)
	}
}

func TestALoopOverVotesThatWaitsIsAClearError(t *testing.T) {
	err := voting(1, nil, func(w *world.World, votes func(func(protocol.Vote) bool), _ *[]time.Duration) {
		for range votes {
			w.Runtime().Sleep(context.Background(), time.Second)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "Sleep in a loop over votes") {
		t.Errorf("%v", err)
	}
}

func TestCommandsOfAConversationTakeTurnsAndOnlyANewConnectionOvertakes(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		ctx, end := b.w.Runtime().WithCancelCause(context.Background())
		end(nil)
		for range b.talk.Ask(ctx, protocol.Command{Args: []any{"set", "k", "1"}}, nil, time.Second) {
			t.Error("a vote although the context had ended")
		}
		if v := b.do("get", "k"); v.Err == nil || v.Err.Error() != "m1: unexpected reply \"1\"" {
			t.Errorf("the second command overtook the first: %+v", v)
		}
		if len(b.votes) != 2 {
			t.Errorf("%d votes observed", len(b.votes))
		}

		// Held back past its timeout, the first SET arrives after the second.
		b.link.Set(cluster.LinkFault{Requests: cluster.Hold})
		b.do("set", "k", "first")
		b.link.fault = cluster.LinkFault{} // what comes now passes, what waits stays
		b.do("set", "k", "second")
		b.want("k", "second", "before the first arrives")
		b.link.Set(cluster.LinkFault{})
		b.sleep(10 * time.Millisecond)
		b.want("k", "first", "after it arrived")
	})
}

func TestAReleaseWithoutAnAnswerIsSentAgain(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.do("set", "k", "t")
		b.link.Set(cluster.LinkFault{Requests: cluster.Drop})
		v := b.ask(protocol.Command{Purpose: protocol.Release, Args: []any{"del", "k"}})
		if v.Err == nil {
			t.Errorf("%+v", v)
		}
		b.sleep(time.Second)
		b.link.Set(cluster.LinkFault{})
		b.sleep(3 * time.Second)
		b.want("k", "", "after the release was sent again")
		if len(b.votes) != 2 {
			t.Errorf("%d votes", len(b.votes))
		}
	})
}

func TestAScriptIsSentByItsTextWhereTheServerIsNew(t *testing.T) {
	text := protocol.CompareAndDelete.Text
	release := protocol.Command{Purpose: protocol.Release, Script: &protocol.Script{Text: text, SHA: lua.SHA(text)}, Keys: []string{"k"}, Args: []any{"t"}}
	on(t, cluster.Config{Persistence: cluster.Always}, Options{}, func(b *bench) {
		b.do("set", "k", "t")
		b.restart(b.m.Kill)
		if v := b.ask(release); !v.Yes || v.Took < 4*b.c.options.Latency.Min {
			t.Errorf("%+v", v)
		}
		if v := b.ask(release); v.Yes || v.Err != nil {
			t.Errorf("again: %+v", v)
		}
	})
}
