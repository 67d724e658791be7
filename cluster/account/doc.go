// Package account derives the votes of a lock that nobody but the masters can speak for: a lock in
// another language, or one whose code does not report its commands.
//
//	link: what was sent and answered ──► Exchange ─┐
//	                                               ├──► Account ──► votes in the history
//	master: what it did to its keys ──► Executed ──┘
//
// A vote is a fact: "this command of c1 created the key", "that one deleted it". Nothing is read
// from the text of a command or of a Lua script. A command that changed no key is a refusal if the
// same command changed one before; until then nothing is known about it.
//
// The votes describe a lock whose masters store, under one key for each lock, one string for each
// acquisition, while it lasts. An Account watches whether that is true. At the first change that
// contradicts it, the Account says so (Unseen), and properties that rest on votes are not tested.
package account
