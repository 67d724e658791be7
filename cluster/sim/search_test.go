package sim

import (
	"context"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/lua"
	"lockpick/cluster/sim/world"
	"lockpick/redlock/protocol"
)

// prefers takes what happens to one client, as long as there is something.
type prefers string

func (client prefers) Next(due []world.Due) int {
	for i, d := range due {
		if d.Client == string(client) {
			return i
		}
	}
	return 0
}

// even is choices of which all are alike, so that much happens at one instant.
type even struct{ bytes int }

func (e *even) Intn(n int, what string) int {
	if what == world.WhatBytes {
		e.bytes++
		return e.bytes % n
	}
	return 0
}

// TestStateTellsWhatMatters: two runs of two clients with different keys come to the same
// state whichever of them goes first at an instant, and to another if anything is
// different that matters later: what a master stores, what is on its way, what a client
// knows, the time, or what the caller adds.
func TestStateTellsWhatMatters(t *testing.T) {
	state := func(first string, c2 func(w *world.World, masters *Cluster), harness string) [16]byte {
		w := world.NewOf(0, &even{})
		w.Search = prefers(first)
		masters := New(w, cluster.Config{Masters: 3, Persistence: cluster.None}, Options{})
		var got [16]byte
		if err := w.Run(func() {
			w.ClientRuntime("c1").Go(func() { lock(w, masters, "c1", "k1") })
			w.ClientRuntime("c2").Go(func() { c2(w, masters) })
			if err := w.Runtime().Sleep(context.Background(), 20*time.Millisecond); err != nil {
				t.Error(err)
			}
			got = masters.State([]byte(harness))
			w.Stop(world.ErrLimit)
		}); err != world.ErrLimit {
			t.Error(err)
		}
		return got
	}
	plain := func(w *world.World, masters *Cluster) { lock(w, masters, "c2", "k2") }
	want := state("c1", plain, "")
	if got := state("c2", plain, ""); got != want {
		t.Error("the order of what does not touch each other makes another state")
	}
	for name, got := range map[string][16]byte{
		"another key":     state("c1", func(w *world.World, m *Cluster) { lock(w, m, "c2", "k3") }, ""),
		"nothing stored":  state("c1", func(w *world.World, m *Cluster) {}, ""),
		"a master paused": state("c1", func(w *world.World, m *Cluster) { plain(w, m); _ = m.masters[0].Pause(context.Background()) }, ""),
		"a clock that is off": state("c1", func(w *world.World, m *Cluster) {
			plain(w, m)
			_ = m.masters[0].SetClock(context.Background(), cluster.Clock{Offset: time.Second})
		}, ""),
		"a client paused": state("c1", func(w *world.World, m *Cluster) { plain(w, m); w.ClientRuntime("c1").Pause() }, ""),
		"a request on its way": state("c1", func(w *world.World, m *Cluster) {
			plain(w, m)
			_ = w.ClientRuntime("c2").Sleep(context.Background(), 20*time.Millisecond-w.Elapsed()-time.Microsecond)
			lock(w, m, "c2", "k4")
		}, ""),
		"a key that is gone":     state("c1", func(w *world.World, m *Cluster) { plain(w, m); m.masters[0].store.Drop("k2", cluster.Deleted) }, ""),
		"connections that broke": state("c1", func(w *world.World, m *Cluster) { plain(w, m); m.masters[0].run++ }, ""),
		"a script that is known": state("c1", func(w *world.World, m *Cluster) { plain(w, m); m.masters[0].scripts["x"] = &lua.Script{} }, ""),
		"a choice noted":         state("c1", func(w *world.World, m *Cluster) { plain(w, m); w.Note(1) }, ""),
		"the harness":            state("c1", plain, "x"),
	} {
		if got == want {
			t.Errorf("%s makes no other state", name)
		}
	}
}

func lock(w *world.World, masters *Cluster, client, key string) {
	talk := masters.ClientMasters(client).Begin(func(protocol.Vote) {})
	for range talk.Ask(context.Background(), protocol.Command{Purpose: protocol.Set, Key: key, Token: client, Args: []any{"set", key, client, "nx", "px", int64(10_000)}}, nil, time.Second) {
	}
}
