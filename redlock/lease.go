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

// Lease is a lock that was acquired, and the time until which it is valid. A Lease never
// changes; Extend returns a new one for the same lock. It is safe for concurrent use.
type Lease struct {
	hold  *hold
	until time.Time
}

// hold is the state that all leases of one acquisition share.
type hold struct {
	client       *Client
	conversation protocol.Conversation
	key, token   string
	fence        int64
	settings     *settings
	ticket       *ticket         // passed on when the hold is over; nil: TryLock acquired the lock without one
	parent       context.Context // the parent of ctx
	detached     bool            // ctx has the values of parent, but does not end with it
	first        Lease
	limit        time.Time // extensions end here at the latest (WithMaxHold)

	mu         sync.Mutex  // never held while waiting
	until      time.Time   // of the latest extension
	extensions int         // attempts to extend
	over       error       // the Err of cause; nil while the hold is not over
	unlocked   bool        // Unlock was called
	stop       func() bool // stops the timer of the end of validity; nil: there is no timer

	// Made when they are first needed, because many callers never use them.
	cause  *Error
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newLease(c *Client, parent context.Context, detached bool, conversation protocol.Conversation, key, token string, fence int64, start, until time.Time, ticket *ticket, s *settings) *Lease {
	h := &hold{client: c, ticket: ticket, conversation: conversation, key: key, token: token, fence: fence, settings: s, until: until, limit: start.Add(s.holdLimit()), parent: parent, detached: detached}
	h.first = Lease{h, until}
	if h.settings.hooks.Ended != nil || ticket.acquired(h) {
		h.startTimer()
	}
	return &h.first
}

// Key returns the key as it was given to Lock, without a prefix (WithPrefix).
func (l *Lease) Key() string { return l.hold.key }

// Token returns the value that the masters store under the key: 20 random bytes as 40
// hexadecimal digits (distlock, "Correct implementation with a single instance").
func (l *Lease) Token() string { return l.hold.token }

// Until returns the end of the lease's validity: start + TTL − drift − margin, where start
// is the time just before the first command was sent, drift is the allowance of WithDrift,
// and margin that of WithMargin (0 by default). Right after Lock, TTL − elapsed − drift −
// margin remain (distlock, step 3 and "Safety arguments"). For an extended lease, start is
// the time at which Extend was called, and Until is not later than WithMaxHold allows. The
// time has a monotonic clock reading.
func (l *Lease) Until() time.Time { return l.until }

// Fence returns the fencing token, or 0 without WithFencing. Send it with each write, and
// have the resource reject every number below the highest that it has seen.
func (l *Lease) Fence() int64 { return l.hold.fence }

// Context returns a context that ends when the lease is over: when the validity of its
// latest extension ends, when an extension finds that it is lost, or when Unlock is called.
// context.Cause returns the reason, an *Error that wraps ErrExpired, ErrLost or
// ErrReleased; if WithMaxHold has ended it, ErrExtensionLimit and ErrExpired. In the
// function of Do it also ends when the context that was given to Do ends.
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
	h.startTimer()
	return ctx
}

// why returns the error with which a hold ended. The hold must be over. The caller holds
// h.mu.
func (h *hold) why() *Error {
	if h.cause == nil {
		h.cause = &Error{Op: "hold", Key: h.key, Err: h.over}
	}
	return h.cause
}

// startTimer makes the hold end when its validity does. It is called only if the end has an
// observer: the lease's context, a waiter for the key, or a hook. Most leases are released
// long before their end and never need a timer.
func (h *hold) startTimer() {
	h.mu.Lock()
	left := h.until.Sub(h.settings.runtime.Now())
	if h.over == nil && h.stop == nil && left > 0 {
		h.stop = h.settings.runtime.AfterFunc(left, h.expire)
	}
	h.mu.Unlock()
	if left <= 0 {
		h.end(ErrExpired)
	}
}

// expired reports whether the hold's validity is over.
func (h *hold) expired(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !now.Before(h.until)
}

// expire ends the hold, or starts the timer anew if the hold was extended.
func (h *hold) expire() {
	h.mu.Lock()
	h.stop = nil
	h.mu.Unlock()
	h.startTimer()
}

// end ends the hold with a reason, unless it is over already.
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
	if kind != ErrReleased { // Unlock passes the ticket on after the release
		h.ticket.Pass()
	}
}

// errHeldTooLong is the Err of a lease that ended at the limit of WithMaxHold.
var errHeldTooLong = fmt.Errorf("%w: %w", ErrExtensionLimit, ErrExpired)

// ended returns the reason why the hold is over, or nil if it is not.
func (h *hold) ended() error {
	if h.expired(h.settings.runtime.Now()) {
		h.end(ErrExpired) // even if the timer is late
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil {
		return nil // h.why() is never nil, and a nil *Error would not be a nil error
	}
	return h.why()
}

// Extend prolongs the lease to a full TTL from now, and returns a new Lease for the same
// lock. It succeeds only if a quorum of masters still stored the token and prolonged it
// before the lease's validity ended (distlock, "Extending the lock"). It never creates a
// key that has expired (but see WithVoteRecovery). Both leases share one Context, and
// Unlock of either releases the lock.
//
// Extend fails with an *Error that wraps
//
//   - ErrNoQuorum, if too few masters answered or ctx ended first. The lease stays valid
//     until Until, and another Extend may succeed;
//   - ErrLost, if too many masters no longer store the token. The lease is over;
//   - ErrExpired, if the validity had ended, or ended before a quorum answered. The lease is
//     over;
//   - ErrNotHeld, if the lease was released or lost before;
//   - ErrExtensionLimit, if the lease already lasts as long as WithMaxHold allows. It stays
//     valid until Until;
//   - ErrClosed, if the Client is closed;
//   - only ctx's error, if ctx had ended before.
func (l *Lease) Extend(ctx context.Context) (*Lease, error) {
	h := l.hold
	s := h.settings
	start := s.runtime.Now()
	number, kind := h.extend(ctx, start)
	if kind != nil {
		return nil, &Error{Op: "extend", Key: h.key, Err: kind, Context: contextError(ctx)}
	}
	if !h.client.enter() {
		return nil, &Error{Op: "extend", Key: h.key, Err: ErrClosed}
	}
	defer h.client.leave()

	extend := extendCommand(s.stored(h.key), h.token, s.ttl.Milliseconds())
	extend.Wait = s.wait
	votes := h.client.ask(ctx, h.conversation, extend, (*tally).settled, s)
	s.hooks.decided(Extend, h.key, h.token, votes)

	until, kind := h.extended(votes, start.Add(s.validity()))
	if kind == ErrExpired || kind == ErrLost {
		h.end(kind)
	}
	var err error
	if kind != nil {
		err = &Error{Op: "extend", Key: h.key, Err: kind, Votes: votes.votes, Context: contextError(ctx)}
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

// recover sets the key on the masters that did not prolong it, after a quorum that still
// stored the token has prolonged it while the lease was valid.
//
// This is safe for the following reason. The votes that recover wins back do not count for
// the extension that found them lost: that extension had a quorum without them. They may
// count for a later extension. At the time T at which the votes on that extension decide, a
// quorum stores the token, and goes on storing it until the new end of the lease. Suppose
// that another lease is valid at some time after T and before that end: then a quorum
// stores the token of that lease at that time. Two quorums share a master, and a master
// stores one token, which is a contradiction. Before T, the lease is valid by its earlier
// quorum, and the same argument applies.
//
// SET NX changes nothing on a master that stores another token. It never sets the key of a
// lease that was released: the batcher rejects a recovery after the release, and a recovery
// that was sent before the release reaches the master before it.
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
		for range h.conversation.Ask(context.Background(), again, to, h.client.perMaster(s)) {
		}
	})
}

// Remaining returns how much of the lease's validity is left, on the client's clock; 0 if
// it is over. A lease that was released or lost keeps its Until: see Context.
func (l *Lease) Remaining() time.Duration {
	return max(l.until.Sub(l.hold.settings.runtime.Now()), 0)
}

// IsHeld asks the masters whether a quorum of them stores the lease's token. It is for cases
// where masters may have lost the key: otherwise Context gives the same answer without a
// command. If the lease is over, IsHeld returns false without a command.
//
// The error is an *Error that wraps ErrNoQuorum if too few masters answered to decide, or
// ErrClosed; or, if ctx had ended before, the error of ctx.
func (l *Lease) IsHeld(ctx context.Context) (bool, error) {
	h := l.hold
	if h.ended() != nil || ctx.Err() != nil {
		return false, contextError(ctx)
	}
	if !h.client.enter() {
		return false, &Error{Op: "check", Key: h.key, Err: ErrClosed}
	}
	defer h.client.leave()
	votes := h.client.ask(ctx, h.conversation, checkCommand(h.settings.stored(h.key), h.token), (*tally).settled, h.settings)
	if votes.won() || votes.refused() {
		return votes.won(), nil
	}
	return false, &Error{Op: "check", Key: h.key, Err: ErrNoQuorum, Votes: votes.votes, Context: contextError(ctx)}
}

// extend counts an attempt to extend and returns its number, or the reason why an
// extension is not possible.
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

// extended evaluates the votes on an extension, and returns the new end of the lease or
// the reason why the extension failed.
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

// Unlock releases the lock on all masters, whether or not they voted for it (distlock,
// "Releasing the lock"). It sends the commands even if ctx has ended: the end of ctx only
// ends the wait for replies. It returns nil as soon as a quorum has deleted the key. On a
// master that the command does not reach, the key ends with its TTL.
//
// Unlock fails with an *Error that wraps
//
//   - ErrNotHeld, if Unlock was called before, or if too many masters no longer stored the
//     token (with ErrExpired, if the validity was over);
//   - ErrNoQuorum, if too few masters answered or ctx ended first. The lock may be released
//     all the same, and the lease is over;
//   - ErrClosed, if the Client is closed.
func (l *Lease) Unlock(ctx context.Context) error {
	h := l.hold
	h.mu.Lock()
	again, over := h.unlocked, !h.settings.runtime.Now().Before(h.until)
	h.unlocked = true
	h.mu.Unlock()
	fail := func(kind error, t *tally) error {
		return &Error{Op: "unlock", Key: h.key, Err: kind, Votes: t.votes, Context: contextError(ctx)}
	}
	if again {
		return fail(ErrNotHeld, &tally{})
	}
	if over {
		h.end(ErrExpired) // even if the timer is late
	}
	h.end(ErrReleased)
	defer h.ticket.Pass()
	if !h.client.enter() {
		return fail(ErrClosed, &tally{})
	}
	defer h.client.leave()
	release := releaseCommand(h.settings.stored(h.key), h.token, h.settings.wakeups)
	votes := h.client.askAndPass(ctx, h.conversation, release, h.ticket, (*tally).settled, h.settings)
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
