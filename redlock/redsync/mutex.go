package redsync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"lockpick/redlock"
)

// Lock is LockContext without a context.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// TryLock is TryLockContext without a context.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext tries once.
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

// errTries ends the context of a Lock that has tried as often as it may.
var errTries = errors.New("as many tries as it has")

// LockContext tries until the lock is acquired, as often as WithTries has it, or until ctx
// ends.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.redsync.err != nil {
		return m.redsync.err
	}
	// So long do they take at most. Who waits in line does not try meanwhile.
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

// longest is how long all tries take at most, where the delays between them do not shrink.
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

// failure reads as what redlock says, and wraps what redsync would have said.
type failure struct{ errs []error }

func (f *failure) Error() string {
	return ErrFailed.Error() + ": " + f.errs[len(f.errs)-1].Error()
}
func (f *failure) Unwrap() []error { return f.errs }

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

// Unlock is UnlockContext without a context.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext releases the lock and says whether a majority had it until then.
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

// Extend is ExtendContext without a context.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext prolongs the lock to a full expiry from now, and says whether a majority
// still had it and did.
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

// Valid says whether the lock is held, by the clock of this process, which is all that
// redlock needs to know.
//
// Deprecated: as in redsync. What is true now may not be when it is acted upon: use the
// context of Lease, or fencing tokens.
func (m *Mutex) Valid() (bool, error) {
	lease := m.Lease()
	return lease != nil && lease.Context().Err() == nil && time.Now().Before(lease.Until()), nil
}

// ValidContext is Valid.
//
// Deprecated: as Valid.
func (m *Mutex) ValidContext(context.Context) (bool, error) { return m.Valid() }
