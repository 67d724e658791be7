package history

import (
	"math"
	"time"
)

// Span is a period of the run's time, from From up to and without To.
type Span struct{ From, To time.Duration }

// Empty reports whether the span contains no time.
func (s Span) Empty() bool { return s.To <= s.From }

// Grant is a moment at which a client was told that it may rely on a lease: the return of an
// acquire or an extension.
type Grant struct {
	Index int           // of the operation
	At    time.Duration // when it returned
	Until time.Duration // valid until
	Bent  bool          // not a grant: a change of the client's clock moved the end of the lease
}

// Endless is the validity, or more, of leases that last until they are released or their lock says
// that they are over.
const Endless = 24 * time.Hour

// Lease is one acquisition, with everything that a history contains about it.
type Lease struct {
	number              int32 // among the leases
	ID                  int   // the index of the line that granted it, which is unique
	Key, Process, Token string
	Reused              bool // its token had been granted before, to this client or another one
	Fence               int64
	Invoked             time.Duration // when the acquire began; without its invocation, the earliest possible time
	InvokedIndex        int           // index of the line of that call; -1 if it was not recorded
	Grants              []Grant       // the grant of the acquire and then those of the extensions, in order
	LostIndex           int           // -1: its lock never said that it is over
	Lost                time.Duration // when its lock said so (if LostIndex >= 0)
	ReleaseIndex        int           // -1: it was never released, and its client did not end
	Released            time.Duration // when the release was invoked or the client ended (if ReleaseIndex >= 0)
	CrashIndex          int           // the crash that ended its client's life, -1 if none
	Crashed             time.Duration // when that was (if CrashIndex >= 0)
	Entered, Left       time.Duration // the critical section
	EnterIndex          int           // -1: it was never entered
	LeaveIndex          int           // -1: it was never left, and Left is Released, Crashed, or the end of the history
}

// Acquired returns when the acquire returned.
func (l *Lease) Acquired() time.Duration { return l.Grants[0].At }

// Until returns the last moment of validity that any grant promised.
func (l *Lease) Until() time.Duration {
	until := l.Grants[0].Until
	for _, g := range l.Grants[1:] {
		until = max(until, g.Until)
	}
	return until
}

// Holds returns the spans in which the client may rely on the lease: from a grant until its
// validity ends, the lock says that it is over, or the release is invoked, whichever is first. There is one span, unless an
// extension returned only after the validity before it had ended. A span is empty if the lease
// was over before its client received the grant.
func (l *Lease) Holds() []Span {
	var spans []Span
	for _, g := range l.Grants {
		s := Span{g.At, min(g.Until, l.Over())}
		if n := len(spans); n > 0 && s.From <= spans[n-1].To {
			spans[n-1].To = max(s.From, s.To) // the latest grant counts, even if it shortens the lease
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// Over returns when the release of the lease was invoked, its client ended or its lock said that
// it is over, whichever was first, or else the end of time.
func (l *Lease) Over() time.Duration {
	over := time.Duration(math.MaxInt64)
	if l.ReleaseIndex >= 0 {
		over = l.Released
	}
	if l.LostIndex >= 0 {
		over = min(over, l.Lost)
	}
	return over
}

// owner is a token, or a token on one key, in one life of a process.
type owner struct {
	process, token, key string
	life                int
}

// acquisitions are the leases of one owner.
type acquisitions struct {
	open []*Lease // those that may not have been released yet, the latest last
	last *Lease
}

// current returns the lease that a line is about: the latest that has not been released, or
// else the latest.
func (a *acquisitions) current() *Lease {
	for n := len(a.open); n > 0; n-- {
		if l := a.open[n-1]; l.ReleaseIndex < 0 {
			return l
		}
		a.open = a.open[:n-1]
	}
	return a.last
}

// Leases returns the lease of each acquire that was granted, in the order of the grants.
// An acquire that failed or never returned promises nothing and is left out.
//
// A lease is an acquisition, not a token: a token that is granted twice makes two leases,
// of two clients or of one. A later line of the same process with the same token is about
// the latest of its leases with that token on the line's key that has not been released;
// if all have been, about the latest of them; if none is on that key, the same rules apply to
// the leases on other keys. A crash ends all leases and critical sections of its process,
// whatever token it names, and what the process does later is about none of them.
//
// A release whose invocation is missing ends the lease at the earliest possible time.
func Leases(ops []Op) []*Lease {
	leases, _ := LeasesByLine(ops)
	return leases
}

// LeasesByLine does the same as Leases, and also returns for each line the position of its
// lease among the leases, or -1.
func LeasesByLine(ops []Op) (leases []*Lease, of []int32) {
	of = make([]int32, len(ops))
	calls := CallsOf(ops)
	byOwner := map[owner]*acquisitions{}
	lives := map[string]int{}
	alive := map[string][]*Lease{} // by process: the leases of its current life
	granted := map[string]bool{}   // tokens
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		of[i] = -1
		if op.F == FVote { // most lines are votes, and votes are not lines of clients
			continue
		}
		if op.F == FCrash {
			for _, l := range alive[op.Process] {
				l.crash(op)
			}
			delete(alive, op.Process)
			lives[op.Process]++
			continue
		}
		token := op.token()
		if token == "" {
			continue
		}
		on := owner{process: op.Process, token: token, key: op.Key, life: lives[op.Process]}
		anywhere := owner{process: op.Process, token: token, life: on.life}
		if op.F == FAcquire && op.Type == OK {
			l := &Lease{
				ID: op.Index, Key: op.Key, Process: op.Process, Token: token, Reused: granted[token], Fence: op.Value.Fence,
				Grants:    []Grant{{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil}},
				LostIndex: -1, ReleaseIndex: -1, CrashIndex: -1, EnterIndex: -1, LeaveIndex: -1,
			}
			l.Invoked, _ = calls.Began(i)
			l.InvokedIndex = -1
			if n, known := calls.Invocation(i); known {
				l.InvokedIndex = ops[n].Index
			}
			granted[token] = true
			of[i] = int32(len(leases))
			l.number = of[i]
			leases = append(leases, l)
			alive[op.Process] = append(alive[op.Process], l)
			for _, o := range []owner{on, anywhere} {
				a := byOwner[o]
				if a == nil {
					a = &acquisitions{}
					byOwner[o] = a
				}
				a.open, a.last = append(a.open, l), l
			}
			continue
		}
		a := byOwner[on]
		if a == nil {
			a = byOwner[anywhere]
		}
		began, invoked := calls.Began(i)
		if a != nil {
			of[i] = a.current().number
		}
		if a != nil && !(op.F == FRelease && op.Type != Invoke && invoked) { // its invocation ended the lease
			a.current().follow(op, began)
		}
	}
	for _, l := range leases {
		if l.EnterIndex >= 0 && l.LeaveIndex < 0 {
			l.Left = end
			if l.CrashIndex >= 0 {
				l.Left = l.Crashed
			}
			if l.ReleaseIndex >= 0 {
				l.Left = min(l.Left, max(l.Released, l.Entered))
			}
		}
	}
	return leases, of
}

// follow adds a line about a lease after its grant. began is the earliest time at which the
// call that the line completes was invoked.
func (l *Lease) follow(op *Op, began time.Duration) {
	switch {
	case op.F == FExtend && op.Type == OK:
		l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil})
	case op.F == FClock && op.Time < l.Grants[len(l.Grants)-1].Until: // one that is over stays so
		l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil, Bent: true})
	case op.F == FLost && l.LostIndex < 0: // an event of the past, of which a message told, perhaps after the release
		l.LostIndex, l.Lost = op.Index, max(op.Time-op.Value.Delay, l.Grants[len(l.Grants)-1].At)
	case op.F == FRelease && l.ReleaseIndex < 0:
		l.ReleaseIndex, l.Released = op.Index, op.Time
		if op.Type != Invoke {
			l.Released = began
		}
	case op.F == FEnter && l.EnterIndex < 0:
		l.EnterIndex, l.Entered = op.Index, op.Time
	case op.F == FLeave && l.EnterIndex >= 0 && l.LeaveIndex < 0:
		l.LeaveIndex, l.Left = op.Index, max(op.Time-op.Value.Delay, l.Entered)
	}
}

// crash ends a lease because its client crashed: a dead client relies on no lease.
func (l *Lease) crash(op *Op) {
	l.CrashIndex, l.Crashed = op.Index, op.Time
	if l.ReleaseIndex < 0 {
		l.ReleaseIndex, l.Released = op.Index, op.Time
	}
}
