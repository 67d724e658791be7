package redlock

import (
	"time"

	"lockpick/redlock/protocol"
)

// Hooks are told what the lock does, for tracing and metrics. Any may be nil.
// They are called synchronously: they should return at once, and must not use
// the lock.
type Hooks struct {
	// Vote sees every master's reply, also those that come after a decision.
	// It may be called concurrently.
	Vote func(Vote)
	// Decided is called when the votes on an attempt or an extension have
	// decided, before it is checked how much validity is left (distlock, step 3).
	Decided func(Decision)
	// Attempt sees the outcome of every attempt to acquire, before a failed one is
	// released.
	Attempt func(Attempt)
	// Extended sees the outcome of every extension that masters were asked for.
	Extended func(Extension)
	// Ended sees how a lease ended, once: cause wraps ErrReleased, ErrExpired or
	// ErrLost. At ErrReleased the release has yet to be sent.
	Ended func(lease *Lease, cause error)
	// Suspect sees when a master stops taking part (Err says why), and when it takes
	// part again (Err is nil). It may be called concurrently. It is an option of New.
	Suspect func(MasterHealth)
}

// Vote is one master's reply to one command.
type Vote = protocol.Vote

// Kind says what a command is for.
type Kind = protocol.Kind

// The kinds of commands.
const (
	Set       = protocol.Set
	Extend    = protocol.Extend
	Release   = protocol.Release
	Check     = protocol.Check
	Recover   = protocol.Recover
	WriteBack = protocol.WriteBack
)

// Decision is what the votes said.
type Decision struct {
	Kind       Kind // Set or Extend
	Key, Token string
	Yes        int // votes so far
	Quorum     int
}

// Attempt is one attempt to acquire.
type Attempt struct {
	Key, Token string
	Number     int           // 1, 2, … within one call of Lock
	Elapsed    time.Duration // until the votes decided
	Err        error         // nil: acquired
	Votes      []Vote        // until the decision
}

// Extension is one attempt to extend.
type Extension struct {
	Key, Token string
	Number     int // 1, 2, … within one lease
	Until      time.Time
	Err        error // nil: extended
	Votes      []Vote
}

func (h *Hooks) decided(kind Kind, key, token string, t *tally) {
	if h.Decided != nil {
		h.Decided(Decision{Kind: kind, Key: key, Token: token, Yes: t.yes, Quorum: t.quorum})
	}
}

// MasterHealth is what is known about a master.
type MasterHealth struct {
	Name string
	// Err is why the master is suspect; nil: it takes part.
	Err error
	// RoundTrip is how long its fastest answer took lately; 0: it has not answered yet.
	RoundTrip time.Duration
}
