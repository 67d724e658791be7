package redsync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"lockpick/redlock"
)

// Lock calls LockContext with context.Background.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// TryLock calls TryLockContext with context.Background.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext makes one attempt to acquire the lock. Its errors are those of
// LockContext.
func (m *Mutex) TryLockContext(ctx context.Context) error {
	if m.redsync.err != nil {
		return m.redsync.err
	}
	lease, err := m.redsync.locks.TryLock(ctx, m.name, m.options()...)
	if err != nil {
		return failed(err)
	}
	m.keep(lease)
	return nil
}

// errTries ends the context of a LockContext that has made all its tries.
var errTries = errors.New("as many tries as it has")

// LockContext acquires the lock. It retries until it succeeds, has made the tries of
// WithTries, or ctx ends.
//
// Its error wraps ErrFailed and the error of redlock, and for each master that failed a
// *RedisError. If another client holds the lock, it wraps an *ErrTaken and for each master
// that stores the other lock an *ErrNodeTaken. If New was given invalid pools, the error is
// that of redlock.New.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.redsync.err != nil {
		return m.redsync.err
	}
	// A call that waits in the queue makes no tries, so the time is limited, too.
	limited, cancel := context.WithTimeoutCause(ctx, m.longest(), errTries)
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	count := redlock.WithHooks(redlock.Hooks{Attempt: func(a redlock.Attempt) {
		if a.Err != nil && a.Number >= m.tries {
			stop(errTries)
		}
	}})
	lease, err := m.redsync.locks.Lock(limited, m.name, append(m.options(), count)...)
	if err != nil {
		return failed(err)
	}
	m.keep(lease)
	return nil
}

// longest returns the greatest time that all tries can take, if the delay function does not
// return its greatest value in between.
func (m *Mutex) longest() time.Duration {
	tries, delay := max(m.tries, 1), m.delayMax
	if m.delay != nil {
		delay = max(m.delay(1), m.delay(tries), 0)
	}
	each := delay + time.Duration(float64(m.expiry)*m.timeoutFactor)
	if each < 0 || each > math.MaxInt64/time.Duration(tries) {
		return math.MaxInt64
	}
	return time.Duration(tries) * each
}

// failure has the text of redlock's error and also wraps the errors that redsync returns.
type failure struct{ errs []error }

func (f *failure) Error() string {
	return ErrFailed.Error() + ": " + f.errs[len(f.errs)-1].Error()
}
func (f *failure) Unwrap() []error { return f.errs }

// failed wraps an error of redlock as redsync wraps its errors.
func failed(err error) error {
	var e *redlock.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	if !errors.Is(err, redlock.ErrTaken) {
		errs := []error{ErrFailed}
		for _, v := range e.Votes {
			if v.Err != nil {
				errs = append(errs, &RedisError{Node: v.Master, Err: v.Err})
			}
		}
		return &failure{append(errs, err)}
	}
	taken := &ErrTaken{}
	errs := []error{ErrFailed}
	for _, v := range e.Votes {
		switch {
		case v.Err != nil:
			errs = append(errs, &RedisError{Node: v.Master, Err: v.Err})
		case !v.Yes:
			taken.Nodes = append(taken.Nodes, v.Master)
			errs = append(errs, &ErrNodeTaken{Node: v.Master})
		}
	}
	return &failure{append(errs, taken, err)}
}

// Unlock calls UnlockContext with context.Background.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext releases the lock, and reports whether a majority of the masters stored it
// until then. If they did not, or the mutex was not locked, the error wraps
// ErrLockAlreadyExpired. Other errors are those of redlock.Lease.Unlock.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	lease := m.Lease()
	if lease == nil {
		return false, fmt.Errorf("%w: it was not locked", ErrLockAlreadyExpired)
	}
	switch err := lease.Unlock(ctx); {
	case err == nil:
		return true, nil
	case errors.Is(err, redlock.ErrNotHeld):
		return false, fmt.Errorf("%w: %w", ErrLockAlreadyExpired, err)
	default:
		return false, err
	}
}

// Extend calls ExtendContext with context.Background.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext prolongs the lock to a full expiry from now, and reports whether a majority
// of the masters did so. If not, the error wraps ErrExtendFailed and that of
// redlock.Lease.Extend.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	lease := m.Lease()
	if lease == nil {
		return false, fmt.Errorf("%w: it was not locked", ErrExtendFailed)
	}
	longer, err := lease.Extend(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrExtendFailed, err)
	}
	m.keep(longer)
	return true, nil
}

// Valid reports whether the lock is valid according to the clock of this process. It sends no
// commands, and its error is always nil.
//
// Deprecated: as in redsync, because the lock can end right after the call. Use the context
// of Lease, or fencing tokens.
func (m *Mutex) Valid() (bool, error) {
	lease := m.Lease()
	return lease != nil && lease.Context().Err() == nil && time.Now().Before(lease.Until()), nil
}

// ValidContext calls Valid.
//
// Deprecated: for the same reason as Valid.
func (m *Mutex) ValidContext(context.Context) (bool, error) { return m.Valid() }
