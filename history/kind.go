package history

import (
	"fmt"
	"slices"
)

// LockKind says which holds of a key may overlap.
type LockKind string

// The kinds of locks. A header without a kind is that of a mutex.
const (
	Mutex     LockKind = "mutex"     // one hold at a time
	ReadWrite LockKind = "rw"        // readers together, or one writer
	Semaphore LockKind = "semaphore" // holds whose permits are no more than Header.Permits together
	Reentrant LockKind = "reentrant" // holds of one owner: a client in one life
	Multi     LockKind = "multi"     // one hold at a time on each key; an acquire is granted all of its keys or none
)

// LockKinds lists all kinds of locks.
var LockKinds = []LockKind{Mutex, ReadWrite, Semaphore, Reentrant, Multi}

// Words returns the name of the kind in a sentence.
func (k LockKind) Words() string {
	switch k {
	case ReadWrite:
		return "read-write lock"
	case Reentrant:
		return "re-entrant lock"
	case Multi:
		return "multi-lock"
	}
	return string(k)
}

// OneToken reports whether masters store, for each key that is held, the one token of its holder.
func (k LockKind) OneToken() bool { return k == Mutex || k == Multi }

// The modes of a read-write lock. An acquire without a mode is exclusive. An extend that names a mode changes that of
// its lease: a downgrade, or an upgrade.
const (
	ModeRead  = "read"
	ModeWrite = "write"
)

// MaxPermits is the largest number of permits of a semaphore.
const MaxPermits = 1_000

// readers is more than the number of holds that a history can have, so that a read-write lock admits any
// number of readers.
const readers = 1 << 40

// LockKind returns the kind of the lock.
func (h *Header) LockKind() LockKind {
	if h.Kind == "" {
		return Mutex
	}
	return h.Kind
}

// Capacity returns how much the weights of the holds on a key may be together.
func (h *Header) Capacity() int64 {
	switch h.LockKind() {
	case ReadWrite:
		return readers
	case Semaphore:
		return int64(max(1, h.Permits))
	}
	return 1
}

// Weight returns how much of the capacity an acquire with a mode and permits takes.
func (h *Header) Weight(mode string, permits int) int64 {
	switch h.LockKind() {
	case ReadWrite:
		if mode != ModeRead {
			return h.Capacity()
		}
	case Semaphore:
		return min(max(1, int64(permits)), h.Capacity())
	}
	return 1
}

// checkKind returns why the kind of the lock cannot be used, or nil.
func (h *Header) checkKind() error {
	if !slices.Contains(LockKinds, h.LockKind()) {
		return fmt.Errorf("field \"kind\" is %s, but must be one of mutex, rw, semaphore, reentrant, multi", quoted(string(h.Kind)))
	}
	least := 0
	if h.Kind == Semaphore {
		least = 1
	}
	if h.Permits < least || h.Permits > MaxPermits {
		return fmt.Errorf(`field "permits" is %d, but must be from %d to %d`, h.Permits, least, MaxPermits)
	}
	return nil
}
