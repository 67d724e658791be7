package redlock

import (
	"time"

	"lockpick/redlock/protocol"
)

// Hooks are functions that the lock calls, for tracing and metrics. Each may be nil. The
// calls are synchronous, so a hook should return quickly, and must not call methods of the
// Client or a Lease that send commands.
type Hooks struct {
	// Vote is called for every master's reply to a command, also for replies after the
	// decision. Calls may be concurrent.
	Vote func(Vote)
	// Decided is called when the votes on an attempt or an extension have decided, before
	// the remaining validity is checked (distlock, step 3).
	Decided func(Decision)
	// Attempt is called with the result of every attempt to acquire a lock, before a failed
	// attempt is released.
	Attempt func(Attempt)
	// Extended is called with the result of every extension for which commands were sent.
	Extended func(Extension)
	// Ended is called once per lock, when the lock is over. cause wraps ErrReleased,
	// ErrExpired or ErrLost, and at the limit of WithMaxHold ErrExtensionLimit, too. With
	// ErrReleased the release has not been sent yet.
	Ended func(lease *Lease, cause error)
}

// Vote is one master's reply to one command, or the reason why there is none.
type Vote = protocol.Vote

// Purpose is the purpose of a command.
type Purpose = protocol.Purpose

// The kinds of commands; see the constants of package protocol.
const (
	Set       = protocol.Set
	Extend    = protocol.Extend
	Release   = protocol.Release
	Check     = protocol.Check
	Recover   = protocol.Recover
	WriteBack = protocol.WriteBack
)

// Decision is the result of the votes on a command.
type Decision struct {
	Purpose    Purpose // Set or Extend
	Key, Token string
	Yes        int // yes votes at the decision
	Quorum     int // yes votes that were needed
}

// Attempt is one attempt to acquire a lock.
type Attempt struct {
	Key, Token string
	Number     int           // 1, 2, … within one call of Lock
	Elapsed    time.Duration // from before the first command to the decision
	Err        error         // nil: the lock was acquired
	Votes      []Vote        // up to the decision
}

// Extension is one attempt to extend a lease.
type Extension struct {
	Key, Token string
	Number     int       // 1, 2, … within one lease
	Until      time.Time // end of the lease if it was extended, otherwise zero
	Err        error     // nil: the lease was extended
	Votes      []Vote    // up to the decision
}

func (h *Hooks) decided(purpose Purpose, key, token string, t *tally) {
	if h.Decided != nil {
		h.Decided(Decision{Purpose: purpose, Key: key, Token: token, Yes: t.yes, Quorum: t.quorum})
	}
}

// MasterHealth is the state of a master.
type MasterHealth = protocol.MasterHealth
