// Package sim is the driver of masters that exist only in virtual time. The lock, the
// workload, the nemesis and the recorder run in it unchanged, thousands of times as
// fast as in real time, and the same seed makes the same history, byte by byte.
//
//	         World: one queue of events, one clock, one source of choices
//	           │
//	coroutine ─┤ Client.Sleep, Go, AfterFunc      what runs: clients, nemesis
//	           │
//	message  ──┤ ask ─► Link ─► Master ─► Link ─► vote
//	           │         pass, hold, drop          no coroutine: an event per leg
//	timer    ──┤ timeouts, by each client's clock
//	           │
//	disk     ──┘ fsyncs and snapshots, by each master's clock
//
// A World runs its coroutines one at a time. One runs until it waits; then the
// earliest event happens, time stands at that event's instant, and whoever it wakes
// runs. Nothing else takes time: what code does between two waits happens at one
// instant. Among events of one instant, and wherever else something is open (how long
// a message travels, which bytes are random), a Choices decides: drawn from a seed
// (NewWorld), written down (Record), played back (Play), or made by a search. A
// Strategy such as PCT may change the order besides.
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
// What runs in a world gets time, waiting, spawning and contexts from a Runtime. It
// must not block otherwise: not on a channel, not on a mutex that somebody holds who
// sleeps. And it must not wait in the body of a loop over votes, for which the coroutine
// is not woken, but after it. Contexts may be derived with the standard library
// (WithCancel, WithValue, WithoutCancel), but for those with a timeout, which would end
// by the real clock.
//
// The rest of the package is one master and the way to it: store.go and command.go
// are Redis as far as locks need it, script.go and goscripts.go stand in for Lua, disk.go
// is what a crash or a power cut leaves, link.go, message.go and conversation.go are
// the network and what a client's connection pool makes of it. What is modelled, what
// is not, and how it was compared with real masters stands in docs/simulator.md.
package sim
