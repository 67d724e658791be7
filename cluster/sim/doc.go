// Package sim is the driver of masters that exist only in virtual time. The lock, the
// workload, the nemesis and the recorder run in it unchanged, thousands of times as fast as
// in real time, and the same seed makes the same history, byte by byte.
//
//	         World: one queue of events, one clock, one source of choices
//	           │
//	coroutine ─┤ Client.Sleep, Go, AfterFunc      clients, nemesis
//	           │
//	message  ──┤ ask ─► Link ─► Master ─► Link ─► vote
//	           │         pass, hold, drop          no coroutine: an event per leg
//	timer    ──┤ timeouts, by each client's clock
//	           │
//	disk     ──┘ fsyncs and snapshots, by each master's clock
//
// A World runs its coroutines one at a time. A coroutine runs until it waits. Then time
// advances to the earliest event, the event happens, and the coroutines that it wakes run.
// Nothing else takes time: all code between two waits runs at one instant. A Choices makes
// all open decisions: the order of events of one instant, the travel time of a message, the
// random bytes. It draws them from a seed (NewWorld), records them (Record), replays them
// (Play), or leaves them to a search. In addition, a Strategy such as PCT may change the
// order.
//
//	w := sim.NewWorld(seed)
//	masters := sim.New(w, cluster.Config{Persistence: cluster.None}, sim.Options{})
//	err := w.Run(func() {
//		rt := w.Runtime()                          // for the harness and the nemesis
//		locks, _ := redlock.NewWithMasters(masters.ClientMasters("c1"),
//			redlock.WithRuntime(w.ClientRuntime("c1"))) // a clock that can be bent
//		…
//	})
//
// Code that runs in a world gets time, waiting, spawning and contexts from a Runtime. It
// must not block otherwise: not on a channel, and not on a mutex whose holder sleeps. It
// must not wait in the body of a loop over votes, for which the coroutine is not woken, but
// after the loop. It may derive contexts with the standard library (WithCancel, WithValue,
// WithoutCancel), except those with a timeout, which would end by the real clock.
//
// The rest of the package is one master and the network. Packages keyspace and lua are Redis as
// far as locks need it, disk.go models the data that a crash or a power cut leaves, and link.go,
// message.go and conversation.go are the network and a client's connection pool.
// docs/simulator.md describes the limits of the model, and how it was compared with real masters.
package sim
