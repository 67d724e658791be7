package redlock

import (
	"errors"
	"fmt"
	"strings"
)

// These variables are the reasons for a failure, for errors.Is. Every error of a Client or a
// Lease, and the cause of a lease's context, is an *Error that wraps at least one of them,
// with three exceptions:
//
//   - A call whose context had ended before it began wraps the error and the cause of that
//     context, and none of these variables. IsHeld then returns the context's error as it is.
//   - Errors about options, keys and kinds of masters, and those of Connect, are not an
//     *Error.
//   - LockAll, Leases.Unlock and Do may return several errors that are joined (errors.Join).
//     errors.Is finds the reasons of all of them, errors.As the first *Error.
var (
	// ErrTaken means that so many masters store another token that no quorum was possible,
	// although only a minority of the masters failed. Lock also returns it if its context
	// ended while other callers of the same Client were ahead in the queue.
	ErrTaken = errors.New("the lock is taken")
	// ErrNoQuorum means that too few masters answered to decide, or that the context ended
	// before they did.
	ErrNoQuorum = errors.New("too few masters answered")
	// ErrExpired means that the lease's validity is over, or was over before a quorum had
	// voted for it.
	ErrExpired = errors.New("the lease has expired")
	// ErrLost means that masters lost the lease's token during its validity: too few of them
	// still store it for a quorum.
	ErrLost = errors.New("the lease is lost")
	// ErrNotHeld means that the lease was released or lost before. Unlock also returns it if
	// so many masters no longer stored the token that the others cannot be a quorum.
	ErrNotHeld = errors.New("the lock is not held")
	// ErrExtensionLimit means that the lease was extended for as long as WithMaxHold allows.
	ErrExtensionLimit = errors.New("the lease was extended for as long as allowed")
	// ErrRetryLimit means that Lock made as many attempts as WithMaxAttempts allows. The
	// error also wraps the reason why the last attempt failed.
	ErrRetryLimit = errors.New("all attempts were made")
	// ErrReleased is the cause of a lease's context after Unlock.
	ErrReleased = errors.New("the lease was released")
	// ErrClosed means that the Client was closed before the call, or while the call waited.
	ErrClosed = errors.New("the client is closed")
)

// Error describes a failed call: the operation, the reason, and the vote of each master.
// errors.Is finds the Err… variables, the error of the context and the errors of the
// masters in it.
type Error struct {
	Op       string // lock, extend, unlock, check (IsHeld), inspect, force unlock, or hold (a lease that ended)
	Key      string // without the prefix (WithPrefix)
	Err      error  // one of the Err… variables, or an error that wraps one or two of them
	Attempts int    // of lock: the number of attempts that were made; otherwise 0
	Votes    []Vote // of the last attempt, up to the decision
	Context  error  // ctx.Err() and its cause, if the caller's context has ended
}

// Error returns one line: the operation, the key, the reason, the number of votes of each
// kind, each master's error, the number of attempts if there were several, and the context's
// error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s %q: %v", e.Op, e.Key, e.Err)
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

// Unwrap returns Err, the error of the context, and the error of each master that failed.
func (e *Error) Unwrap() []error {
	errs := []error{e.Err}
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
