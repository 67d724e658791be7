package workload

import (
	"cmp"
	"context"
	"fmt"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// sharedScripts are the commands of a lock on one master that several clients may hold, or one client several times.
// Each gets the key, and these arguments:
//
//	ARGV[1] the token of the attempt      ARGV[4] "read" or "write"
//	ARGV[2] the TTL in milliseconds       ARGV[5] how many permits it asks for
//	ARGV[3] the owner: who calls         ARGV[6] how many there are
//	ARGV[7] how often the attempt's mode has been changed, with this change
type sharedScripts struct {
	set, extend, release *protocol.Script
	change               *protocol.Script // of the mode; nil: it cannot be changed
	gap                  bool             // a downgrade is a release and an acquire
}

// ofShare returns the command for a share of a key.
func (l *textbook) ofShare(purpose protocol.Purpose, script *protocol.Script, key, token string, share Share) []command {
	return []command{{purpose: purpose, script: script, keys: []string{key}, ttl: l.env.TTL, args: []any{
		token, l.env.TTL.Milliseconds(), share.owner, cmp.Or(share.Mode, "write"), max(1, share.Permits), max(1, l.env.Permits), share.changes,
	}}}
}

// ownerIn returns who calls: the lock object, and the client if several use it.
func (l *textbook) ownerIn(ctx context.Context) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == "" {
		l.id = l.token()
	}
	if c, ok := ctx.Value(callerKey{}).(*client); ok {
		return l.id + ":" + c.name
	}
	return l.id
}

// CanChangeMode reports whether the lock has modes that change.
func (x *textbookLease) CanChangeMode(string) bool {
	return x.lock.mutations.shared != nil && x.lock.mutations.shared.change != nil
}

// ChangeMode downgrades the lease, or upgrades it if nobody else reads. It extends it as well.
func (x *textbookLease) ChangeMode(ctx context.Context, mode string) (Lease, error) {
	l := x.lock
	start := l.clock()
	if err := x.mayExtend(start); err != nil {
		return nil, err
	}
	x.share.changes++
	changed := Share{Mode: mode, owner: x.share.owner, changes: x.share.changes}
	cmds := l.ofShare(protocol.Extend, l.mutations.shared.change, x.key, x.token, changed)
	if l.mutations.shared.gap && mode == history.ModeRead {
		cmds = append(l.ofShare(protocol.Release, l.mutations.shared.release, x.key, x.token, x.share),
			l.ofShare(protocol.Set, l.mutations.shared.set, x.key, x.token, changed)...)
	}
	t, err := l.carryOut(ctx, x.talk, x.key, x.token, cmds, nil, l.settled)
	if err != nil {
		return nil, err
	}
	if mode == history.ModeWrite && len(t.no) > 0 {
		return nil, errOthersRead
	}
	if err := x.extended(t, start.Add(l.validity())); err != nil {
		return nil, err
	}
	x.share = changed
	return x.shown(), nil
}

// errOthersRead says that a lease was not upgraded. It stays as it is.
var errOthersRead = fmt.Errorf("%w as a writer: others read", redlock.ErrNotHeld)

// These are locks on the first master that are not mutexes, shaped like those of Redisson. The hash that a
// master stores has a field for each token, so that a release whose answer was lost does not count twice.
var (
	readWriteScripts = sharedScripts{set: ReadWriteSet, extend: ReadWriteExtend, release: ReadWriteRelease, change: ReadWriteChange}
	semaphoreScripts = sharedScripts{set: SemaphoreSet, extend: SemaphoreExtend, release: SemaphoreRelease}
	nestedScripts    = sharedScripts{set: NestedSet, extend: NestedExtend, release: NestedRelease}
)

func sharedWith(change func(*sharedScripts), scripts sharedScripts) func(Env) (Lock, error) {
	if change != nil {
		change(&scripts)
	}
	return singleWith(mutations{shared: &scripts, unlessRefused: true})
}

// shareds are the correct ones.
var shareds = []Implementation{
	{
		Name: "rw", Kind: history.ReadWrite, Masters: OneMaster, Opaque: true,
		Summary: "a read-write lock on the first master: a hash with its mode and a field for each holder, which lasts as long as the longest lease",
		New:     sharedWith(nil, readWriteScripts),
	},
	{
		Name: "semaphore", Kind: history.Semaphore, Masters: OneMaster, Opaque: true,
		Summary: "a semaphore on the first master whose permits expire one by one: a hash with the free permits and the end of each lease",
		New:     sharedWith(nil, semaphoreScripts),
	},
	{
		Name: "reentrant", Kind: history.Reentrant, Reentrant: true, Masters: OneMaster, Opaque: true,
		Summary: "a re-entrant lock on the first master: a hash with its owner and a field for each time that it is held",
		New:     sharedWith(nil, nestedScripts),
	},
}

// plantedShared are bugs of such locks that trackers report.
var plantedShared = []Implementation{
	{
		Name: "rw-short-reader", Bug: "b28", Kind: history.ReadWrite, Masters: OneMaster, Opaque: true, Twin: "rw",
		Summary: "a reader that joins others for a short time sets the TTL of the key to a tenth, and ends their leases",
		New:     sharedWith(func(s *sharedScripts) { s.set = ReadWriteSetShort }, readWriteScripts),
	},
	{
		Name: "rw-reader-frees-writer", Bug: "b29", Kind: history.ReadWrite, Masters: OneMaster, Opaque: true, Twin: "rw",
		Summary: "the release of a reader whose lease has ended deletes the key that a writer has now",
		New:     sharedWith(func(s *sharedScripts) { s.release = ReadWriteReleaseAny }, readWriteScripts),
	},
	{
		Name: "rw-downgrade-gap", Bug: "b35", Kind: history.ReadWrite, Masters: OneMaster, Opaque: true, Twin: "rw",
		Summary: "a downgrade releases the lock, and then acquires it as a reader",
		New:     sharedWith(func(s *sharedScripts) { s.gap = true }, readWriteScripts),
	},
	{
		Name: "rw-upgrade-joins", Bug: "b36", Kind: history.ReadWrite, Masters: OneMaster, Opaque: true, Twin: "rw",
		Summary: "an upgrade makes a reader the writer although others read",
		New:     sharedWith(func(s *sharedScripts) { s.change = ReadWriteChangeAny }, readWriteScripts),
	},
	{
		Name: "semaphore-declared-anew", Bug: "b30", Kind: history.Semaphore, Masters: OneMaster, Opaque: true, Twin: "semaphore",
		Summary: "an acquire that finds no free permit sets their number anew, although others hold some",
		New:     sharedWith(func(s *sharedScripts) { s.set = SemaphoreSetAnew }, semaphoreScripts),
	},
	{
		Name: "semaphore-returned-twice", Bug: "b31", Kind: history.Semaphore, Masters: OneMaster, Opaque: true, Twin: "semaphore",
		Summary: "a release gives permits back that have expired, and were given back then",
		New:     sharedWith(func(s *sharedScripts) { s.release = SemaphoreReleaseTwice }, semaphoreScripts),
	},
	{
		Name: "reentrant-inner-frees", Bug: "b32", Kind: history.Reentrant, Reentrant: true, Masters: OneMaster, Opaque: true, Twin: "reentrant",
		Summary: "the inner release deletes the key that the outer lease still needs",
		New:     sharedWith(func(s *sharedScripts) { s.release = NestedReleaseAll }, nestedScripts),
	},
	{
		Name: "reentrant-inner-shortens", Bug: "b33", Kind: history.Reentrant, Reentrant: true, Masters: OneMaster, Opaque: true, Twin: "reentrant",
		Summary: "the inner acquire, which is for a short time, sets the TTL of the key to a tenth",
		New:     sharedWith(func(s *sharedScripts) { s.set = NestedSetShort }, nestedScripts),
	},
}
