package redlock

import (
	"errors"
	"fmt"
	"strings"
)

// What went wrong, for errors.Is. Every error of Lock, TryLock, Extend, Unlock and
// Lease.Context's cause is an *Error that wraps one of them, the context's error
// and cause where a context ended, and the error of each master that gave one. Two
// exceptions: options and keys that are no good have errors of their own, and what
// was not even tried because a context had ended before wraps the context's error
// alone.
var (
	// ErrTaken: enough masters answered for a quorum, and so many of them store
	// another token that there was none.
	ErrTaken = errors.New("the lock is taken")
	// ErrNoQuorum: too few masters answered, or a context ended before they did.
	ErrNoQuorum = errors.New("too few masters answered")
	// ErrExpired: the lease's validity is over, or was over before a quorum was found.
	ErrExpired = errors.New("the lease has expired")
	// ErrLost: so many masters no longer store the lease's token, although the
	// lease should be valid, that no quorum can: masters forgot it.
	ErrLost = errors.New("the lease is lost")
	// ErrNotHeld: the lock is no longer this lease's to release or extend.
	ErrNotHeld = errors.New("the lock is not held")
	// ErrExtensionLimit: the lease was extended for as long as it may be (WithMaxHold).
	ErrExtensionLimit = errors.New("the lease was extended as often as it may be")
	// ErrRetryLimit: Lock has tried as often as it may (WithMaxAttempts).
	ErrRetryLimit = errors.New("all attempts were made")
	// ErrReleased is the cause with which a lease's context ends at Unlock.
	ErrReleased = errors.New("the lease was released")
	// ErrClosed: the Client is closed.
	ErrClosed = errors.New("the client is closed")
)

// Error says what was tried, what came of it, and what each master had to say.
// errors.Is finds the Err… variables, the context's error and the masters' errors
// through it.
type Error struct {
	Op       string // lock, extend, unlock, hold
	Key      string
	Kind     error  // ErrTaken, ErrNoQuorum, …, or what wraps one or two of them
	Attempts int    // of lock: how many were made
	Votes    []Vote // of the last attempt, as far as they were needed
	Context  error  // ctx.Err() and its cause, if the caller's context ended
}

// Error is one line: what was tried, on which key, why it failed, the votes, and
// each master's error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s %q: %v", e.Op, e.Key, e.Kind)
	if len(e.Votes) > 0 {
		yes, no := 0, 0
		for _, v := range e.Votes {
			switch {
			case v.Yes:
				yes++
			case v.Err == nil:
				no++
			}
		}
		fmt.Fprintf(&b, " (%d yes, %d no, %d failed", yes, no, len(e.Votes)-yes-no)
		for _, v := range e.Votes {
			if v.Err != nil {
				fmt.Fprintf(&b, "; %v", v.Err)
			}
		}
		b.WriteString(")")
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.Context != nil {
		fmt.Fprintf(&b, ": %v", e.Context)
	}
	return b.String()
}

// Unwrap returns the kind, the context's error, and each master's error.
func (e *Error) Unwrap() []error {
	errs := []error{e.Kind}
	if e.Context != nil {
		errs = append(errs, e.Context)
	}
	for _, v := range e.Votes {
		if v.Err != nil {
			errs = append(errs, v.Err)
		}
	}
	return errs
}
