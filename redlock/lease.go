package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockpick/redlock/protocol"
)

// Lease is a lock that was acquired: who may rely on it, and until when. A Lease
// never changes; Extend returns a new one for the same lock.
type Lease struct {
	hold  *hold
	until time.Time
}

// hold is what the leases of one acquisition share.
type hold struct {
	client     *Client
	talk       protocol.Conversation
	key, token string
	fence      int64
	settings   *settings
	turn       *turn           // passed on when the hold is over; nil: it was not needed
	parent     context.Context // what ctx descends from
	detached   bool            // but for its values, and not its end
	first      Lease
	limit      time.Time // it is not extended beyond this

	mu         sync.Mutex  // never held while waiting
	until      time.Time   // of the latest extension
	extensions int         // attempts
	over       error       // the kind of reason why it is over; nil while it is not
	unlocked   bool        // Unlock was called
	stop       func() bool // the wait for the end of its validity; nil: nobody attends to that

	// What many never ask for is made when it is.
	cause  *Error
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newLease(c *Client, parent context.Context, detached bool, talk protocol.Conversation, key, token string, fence int64, start, until time.Time, turn *turn, s *settings) *Lease {
	h := &hold{client: c, turn: turn, talk: talk, key: key, token: token, fence: fence, settings: s, until: until, limit: start.Add(s.longest()), parent: parent, detached: detached}
	h.first = Lease{h, until}
	if h.settings.hooks.Ended != nil || turn.taken(h) {
		h.attend()
	}
	return &h.first
}

// Key is what is locked.
func (l *Lease) Key() string { return l.hold.key }

// Token is the random value that signs the lock on the masters: 40 hexadecimal digits.
func (l *Lease) Token() string { return l.hold.token }

// Until is when the lease's validity ends: TTL − elapsed − drift after the time
// before the first command (distlock, step 4). It has a monotonic reading.
func (l *Lease) Until() time.Time { return l.until }

// Fence is the fencing token, or 0 without WithFencing. Send it along with each
// write, and let the resource reject every number below the highest it has seen.
func (l *Lease) Fence() int64 { return l.hold.fence }

// Context ends when the lease is over: at the end of the validity of its latest
// extension, when it is known to be lost, or when it is released. context.Cause
// tells which: an error that wraps ErrExpired, ErrLost or ErrReleased.
func (l *Lease) Context() context.Context {
	h := l.hold
	h.mu.Lock()
	if h.ctx == nil {
		parent := h.parent
		if h.detached {
			parent = context.WithoutCancel(parent)
		}
		h.ctx, h.cancel = h.settings.runtime.WithCancelCause(parent)
		if h.over != nil {
			h.cancel(h.why())
		}
	}
	ctx := h.ctx
	h.mu.Unlock()
	h.attend()
	return ctx
}

// why is the reason why the hold is over, which it is. The caller holds h.mu.
func (h *hold) why() *Error {
	if h.cause == nil {
		h.cause = &Error{Op: "hold", Key: h.key, Kind: h.over}
	}
	return h.cause
}

// attend has the hold end when its validity does. Most are released long before, and
// nobody would notice: so it takes somebody who does, by its context, in line for its
// key, or by a hook.
func (h *hold) attend() {
	h.mu.Lock()
	left := h.until.Sub(h.settings.runtime.Now())
	if h.over == nil && h.stop == nil && left > 0 {
		h.watch(left)
	}
	h.mu.Unlock()
	if left <= 0 {
		h.end(ErrExpired)
	}
}

// watch ends the hold when its validity does, which is left. The caller holds h.mu.
func (h *hold) watch(left time.Duration) { h.stop = h.settings.runtime.AfterFunc(left, h.expire) }

// lapsed says whether its validity is over.
func (h *hold) lapsed(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !now.Before(h.until)
}

func (h *hold) expire() {
	h.mu.Lock()
	left := h.until.Sub(h.settings.runtime.Now())
	extended := h.over == nil && left > 0
	if extended {
		h.watch(left)
	}
	h.mu.Unlock()
	if !extended {
		h.end(ErrExpired)
	}
}

// end makes the hold over, once, for a reason.
func (h *hold) end(kind error) {
	h.mu.Lock()
	if h.over != nil {
		h.mu.Unlock()
		return
	}
	if kind == ErrExpired && !h.until.Before(h.limit) {
		kind = errHeldTooLong
	}
	h.over = kind
	if h.stop != nil {
		h.stop()
	}
	until, cancel, ended := h.until, h.cancel, h.settings.hooks.Ended
	var cause *Error
	if cancel != nil || ended != nil {
		cause = h.why()
	}
	h.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	if ended != nil {
		ended(&Lease{h, until}, cause)
	}
	if kind != ErrReleased { // else the release comes first
		h.turn.pass()
	}
}

// errHeldTooLong is why a lease ended that could not be extended any more.
var errHeldTooLong = fmt.Errorf("%w: %w", ErrExtensionLimit, ErrExpired)

// ended is why the hold is over, or nil.
func (h *hold) ended() error {
	h.mu.Lock()
	expired := !h.settings.runtime.Now().Before(h.until)
	h.mu.Unlock()
	if expired {
		h.end(ErrExpired) // even if the timer is late
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil {
		return nil // a nil *Error in an error would not be nil
	}
	return h.why()
}

// Extend prolongs the lease to a full TTL from now, and returns the prolonged one.
// It counts only if a quorum of masters still stored the token and prolonged it
// before the lease's validity ended (distlock, "Extending the lock"). A key that
// lapsed is never created anew. The prolonged lease and this one are one lock:
// they share Context, and either's Unlock releases it.
//
// If it fails because too few masters answered, or because ctx ended (ErrNoQuorum),
// the lease stays as it is, valid until Until, and another try may succeed. If so
// many say that the token is gone that no quorum can hold it (ErrLost), or if the
// validity ended meanwhile (ErrExpired), Context ends. ErrNotHeld says that the lock
// was released or lost before; ErrExtensionLimit, that it was extended for as long as
// WithMaxHold allows.
func (l *Lease) Extend(ctx context.Context) (*Lease, error) {
	h := l.hold
	s := h.settings
	start := s.runtime.Now()
	number, kind := h.extend(ctx, start)
	if kind != nil {
		return nil, &Error{Op: "extend", Key: h.key, Kind: kind, Context: contextError(ctx)}
	}
	if !h.client.enter() {
		return nil, &Error{Op: "extend", Key: h.key, Kind: ErrClosed}
	}
	defer h.client.leave()

	extend := extendCommand(s.stored(h.key), h.token, s.ttl.Milliseconds())
	extend.Wait = s.wait
	votes := h.client.ask(ctx, h.talk, extend, (*tally).settled, s)
	s.hooks.decided(Extend, h.key, h.token, votes)

	until, kind := h.extended(votes, start.Add(s.validity()))
	if kind == ErrExpired || kind == ErrLost {
		h.end(kind)
	}
	var err error
	if kind != nil {
		err = &Error{Op: "extend", Key: h.key, Kind: kind, Votes: votes.votes, Context: contextError(ctx)}
	}
	if s.hooks.Extended != nil {
		s.hooks.Extended(Extension{Key: h.key, Token: h.token, Number: number, Until: until, Err: err, Votes: votes.votes})
	}
	if err != nil {
		return nil, err
	}
	if s.recovers {
		h.recover(votes)
	}
	return &Lease{h, until}, nil
}

// recover sets the key on the masters that did not prolong it. It was prolonged by a
// quorum that still stored the token, while the lease was valid.
//
// Why this is safe. The votes that are won back do not count for the extension that finds
// them lost, so an extension needs what it always needed: a quorum that stores the token
// without interruption. They may count for a later one: then at the time T when its votes
// decide, a quorum stores the token, and goes on to until the new end of the lease. Let
// another lease be valid at some time from T on. It has a quorum of its own that stores its
// token then. Two quorums share a master, and a master stores one token: a contradiction.
// Before T the lease is valid by its earlier quorum, by the same argument. SET NX changes
// nothing where another token is stored. And a lease that has lapsed, or was released, is
// never won back: the batcher refuses the SET behind the release, and on each master the
// release comes behind a SET that left before.
func (h *hold) recover(votes *tally) {
	var to []int
	for i := range votes.masters {
		if !slices.ContainsFunc(votes.votes, func(v Vote) bool { return v.Master == i && v.Yes }) {
			to = append(to, i)
		}
	}
	if len(to) == 0 || !h.client.enter() {
		return
	}
	s := h.settings
	s.runtime.Go(func() {
		defer h.client.leave()
		again := recoverCommand(s.stored(h.key), h.token, s.ttl.Milliseconds())
		for range h.talk.Ask(context.Background(), again, to, h.client.perMaster(s)) {
		}
	})
}

// Remaining is how much of the lease's validity is left, at least 0.
func (l *Lease) Remaining() time.Duration {
	return max(l.until.Sub(l.hold.settings.runtime.Now()), 0)
}

// IsHeld asks the masters whether a quorum of them stores the lease's token. Until says
// as much without asking, unless masters forgot the lock.
func (l *Lease) IsHeld(ctx context.Context) (bool, error) {
	h := l.hold
	if h.ended() != nil || ctx.Err() != nil {
		return false, contextError(ctx)
	}
	if !h.client.enter() {
		return false, &Error{Op: "check", Key: h.key, Kind: ErrClosed}
	}
	defer h.client.leave()
	votes := h.client.ask(ctx, h.talk, checkCommand(h.settings.stored(h.key), h.token), (*tally).settled, h.settings)
	if votes.won() || votes.refused() {
		return votes.won(), nil
	}
	return false, &Error{Op: "check", Key: h.key, Kind: ErrNoQuorum, Votes: votes.votes, Context: contextError(ctx)}
}

// extend counts one extension, or says why there may be none.
func (h *hold) extend(ctx context.Context, now time.Time) (number int, kind error) {
	h.mu.Lock()
	expired := !now.Before(h.until)
	switch {
	case h.over == ErrReleased:
		kind = ErrNotHeld
	case h.over == ErrLost:
		kind = fmt.Errorf("%w: %w", ErrNotHeld, ErrLost)
	case expired:
		kind = ErrExpired
	case ctx.Err() != nil:
		kind = errNotTried
	case !h.until.Before(h.limit):
		kind = ErrExtensionLimit
	default:
		h.extensions++
		number = h.extensions
	}
	h.mu.Unlock()
	if expired {
		h.end(ErrExpired) // now, even if the timer is late
	}
	return number, kind
}

// extended decides what the votes on an extension are worth, now.
func (h *hold) extended(votes *tally, until time.Time) (time.Time, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over != nil && !errors.Is(h.over, ErrExpired):
		return time.Time{}, ErrNotHeld // unlocked meanwhile
	case !h.settings.runtime.Now().Before(h.until):
		return time.Time{}, ErrExpired
	case votes.won():
		if until.After(h.limit) {
			until = h.limit
		}
		// Another extension that began later may have ended earlier.
		if until.After(h.until) {
			h.until = until
		}
		return h.until, nil
	case votes.refused():
		return time.Time{}, ErrLost
	default:
		return time.Time{}, ErrNoQuorum
	}
}

// Unlock releases the lock on all masters, whether they are believed to hold it or
// not (distlock, "Releasing the lock"), even if ctx has ended, which ends only the
// waiting: the commands are sent and carried through all the same. It returns nil
// once a quorum has deleted the key. An error that wraps ErrNotHeld says that too
// many no longer stored the token for a quorum to have held it (with ErrExpired, if
// the validity was over), or that Unlock was called before; ErrNoQuorum that too
// few masters answered, or that ctx ended first. Where a master did not get the
// command, the lock frees itself when its TTL has passed.
func (l *Lease) Unlock(ctx context.Context) error {
	h := l.hold
	h.mu.Lock()
	again, over := h.unlocked, !h.settings.runtime.Now().Before(h.until)
	h.unlocked = true
	h.mu.Unlock()
	fail := func(kind error, t *tally) error {
		return &Error{Op: "unlock", Key: h.key, Kind: kind, Votes: t.votes, Context: contextError(ctx)}
	}
	if again {
		return fail(ErrNotHeld, &tally{})
	}
	if over {
		h.end(ErrExpired) // even if the timer is late
	}
	h.end(ErrReleased)
	defer h.turn.pass()
	if !h.client.enter() {
		return fail(ErrClosed, &tally{})
	}
	defer h.client.leave()
	release := releaseCommand(h.settings.stored(h.key), h.token, h.settings.wakeups)
	if s, ok := h.talk.(*session); ok {
		s.next = h.turn
	}
	votes := h.client.ask(ctx, h.talk, release, (*tally).settled, h.settings)
	switch {
	case votes.won():
		votes.free()
		return nil
	case votes.refused() && over:
		return fail(fmt.Errorf("%w: %w", ErrNotHeld, ErrExpired), votes)
	case votes.refused():
		return fail(ErrNotHeld, votes)
	default:
		return fail(ErrNoQuorum, votes)
	}
}
