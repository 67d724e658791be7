// Package audit reports how safe a lock is: it runs a fixed battery of situations, and makes a
// report card of the results.
//
// A situation is something that happens to locks: a master restarts without its keys, or a client
// stops between two commands. It names the assumption that it breaks, the scenarios that cause it,
// and the properties that no lock keeps in it. Run tries each situation and judges its properties:
// on simulated masters with many schedules, on real ones with few.
//
// words.go says in words what a card shows; terminal.go, page.go, markdown.go and junit.go render it, and board.go and
// board_page.go the cards of several locks side by side.
package audit
