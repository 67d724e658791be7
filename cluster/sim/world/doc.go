// Package world is virtual time: it runs a program thousands of times as fast as in real time, and the
// same seed makes the same run, byte by byte. It knows nothing of masters or locks. Package sim builds
// those on it.
//
//	          World: one queue of events, one clock, one source of choices
//	            │
//	Coroutine ──┤ Client.Sleep, Go, AfterFunc    code that waits
//	Event ──────┤ World.At, After, Cancel        what happens without code that waits: a message, a disk
//	Timer ──────┘ Begin, End                     a wait by the clock of a client
//
// A World runs its coroutines one at a time. A coroutine runs until it waits. Then time
// advances to the earliest event, the event happens, and the coroutines that it wakes run.
// Nothing else takes time: all code between two waits runs at one instant. A Choices makes
// all open decisions: the order of events of one instant, the travel time of a message, the
// random bytes. It draws them from a seed (New), records them (Record), replays them
// (Play), or leaves them to a Search. In addition, a Strategy such as PCT may change the
// order.
//
//	w := world.New(seed)
//	err := w.Run(func() {
//		rt := w.Runtime()            // for the harness and the nemesis
//		c1 := w.ClientRuntime("c1")  // a client, with a clock that can be wrong
//		c1.Go(func() { c1.Sleep(ctx, time.Second) })
//		…
//	})
//
// Code that runs in a world gets time, waiting, spawning and contexts from a Client. It
// must not block otherwise: not on a channel, and not on a mutex whose holder sleeps. It
// must not wait in the body of a loop over votes, for which the coroutine is not woken, but
// after the loop. It may derive contexts with the standard library (WithCancel, WithValue,
// WithoutCancel), except those with a timeout, which would end by the real clock.
//
// A simulation puts an Event into each object to which something happens, with an Action. An event that
// wakes a coroutine (Coroutine.Wake, Proceed) is how code waits for something other than time. An action
// that is Placed also tells a Search to whom it happens and with what content, from which states of the
// search are recognized. A Pool passes the memory of a world on to the next one, and a Live world follows
// the clock of the package time.
package world
