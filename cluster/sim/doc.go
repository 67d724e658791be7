// Package sim is the driver of masters that exist only in virtual time. The lock, the
// workload, the nemesis and the recorder run in it unchanged, thousands of times as fast as
// in real time, and the same seed makes the same history, byte by byte.
//
//	         world.World: one queue of events, one clock, one source of choices
//	           │
//	coroutine ─┤ Client.Sleep, Go, AfterFunc      clients, nemesis
//	           │
//	message  ──┤ ask ─► Link ─► Master ─► Link ─► vote
//	           │         pass, hold, drop          no coroutine: an event per leg
//	timer    ──┤ timeouts, by each client's clock
//	           │
//	disk     ──┘ fsyncs and snapshots, by each master's clock
//
// Package world provides virtual time. This package adds what exists in it: masters, their disks and
// replicas, and the network, which are events of a world.World. Only the code of clients, of the harness and
// of the nemesis runs in coroutines. It must follow the rules of package world.
//
//	w := world.New(seed)
//	masters := sim.New(w, cluster.Config{Persistence: cluster.None}, sim.Options{})
//	err := w.Run(func() {
//		rt := w.Runtime()                          // for the harness and the nemesis
//		locks, _ := redlock.NewWithMasters(masters.ClientMasters("c1"),
//			redlock.WithRuntime(w.ClientRuntime("c1"))) // a clock that can be skewed
//		…
//	})
//
// Packages keyspace and lua are Redis as far as locks need it. In this package, master.go and server.go are
// the server, session.go and its neighbours a connection, disk.go models the data that a crash or a power cut
// leaves, and link.go, message.go and conversation.go are the network and a client's connection pool.
// search.go encodes the state of all of them, for a world.Search.
// docs/simulator.md describes the limits of the model, and how it was compared with real masters.
package sim
