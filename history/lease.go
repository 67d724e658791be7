package history

import (
	"iter"
	"math"
	"time"
)

// Span is the half-open interval [From, To) of the run's time.
type Span struct{ From, To time.Duration }

// Empty reports whether the span contains no time.
func (s Span) Empty() bool { return s.To <= s.From }

// Grant is the return of an acquire or an extension, which tells a client that it may rely on a
// lease.
type Grant struct {
	Index  int           // index of the operation
	At     time.Duration // when it returned
	Until  time.Duration // end of the validity
	Skewed bool          // not a grant: a change of the client's clock changed the end of the lease
}

// ModeChange is a downgrade or an upgrade of a lease of a read-write lock. A downgrade counts from its call, like a
// release, and an upgrade from its return, like an acquire: only then does the client rely on it.
type ModeChange struct {
	Index int // of the line of the call, or of the return
	At    time.Duration
	Mode  string
}

// Endless is the end of the validity of a lease that promises no time: it lasts until it is released or its lock reports
// it lost. No run lasts that long, and no TTL of a scenario comes near it.
const Endless = 20 * 365 * 24 * time.Hour

// Endless reports whether a grant promises no time.
func (g *Grant) Endless() bool { return g.Until >= Endless }

// oldEndless is how much of a lease was left, at least, if it had no end in a history of format version 1 or 2: such
// histories wrote the end as 24 h after the grant.
const oldEndless = 12 * time.Hour

// readOldEnd changes the end that old histories gave to leases without an end into Endless.
func (op *Op) readOldEnd() {
	if v := op.Value; v != nil && v.ValidUntil-op.Time > oldEndless {
		v.ValidUntil = Endless
	}
}

// Lease is one acquisition, with everything that a history contains about it.
type Lease struct {
	number              int32 // position among the leases
	ID                  int   // the index of the line that granted it, which is unique
	Key, Process, Token string
	Reused              bool // its token had been granted before, to this client or another one
	Fence               int64
	Mode                string        // of its acquire
	Changes             []ModeChange  // of its mode, in order
	Permits             int           // of its acquire
	Invoked             time.Duration // when the acquire was called; without an invocation, the earliest possible time
	InvokedIndex        int           // index of the line of the invocation; -1 if there is none
	AtLeast             bool          // it may be valid for longer than its first grant says
	Grants              []Grant       // the grant of the acquire, then the grants of the extensions, in order
	LostIndex           int           // index of the line in which its lock reported it lost; -1: none
	Lost                time.Duration // when its lock reported that (if LostIndex >= 0)
	ReleaseIndex        int           // index of the line that released it or ended its client; -1: none
	Released            time.Duration // when the release was invoked or the client crashed (if ReleaseIndex >= 0)
	CrashIndex          int           // index of the line of its client's next crash; -1: none
	Crashed             time.Duration // when its client crashed (if CrashIndex >= 0)
	Entered, Left       time.Duration // when the client entered and left the critical section
	EnterIndex          int           // index of the enter line; -1: none
	LeaveIndex          int           // index of the leave line; -1: none, and Left is Released, Crashed, or the end of the history
}

// Acquired returns when the acquire returned.
func (l *Lease) Acquired() time.Duration { return l.Grants[0].At }

// Until returns the latest end of the validity that any grant promised.
func (l *Lease) Until() time.Duration {
	until := l.Grants[0].Until
	for _, g := range l.Grants[1:] {
		until = max(until, g.Until)
	}
	return until
}

// Holds returns the spans in which the client may rely on the lease: from a grant until its
// validity ends, the lock reports it lost, or the release is invoked, whichever is first. There is
// one span, unless an extension returned after the validity had ended. A span is empty if the lease
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

// Over returns when the release of the lease was invoked, its client crashed or its lock reported
// it lost, whichever was first, or else the largest time.
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

// owner identifies a token in one life of a process.
type owner struct {
	process, token string
	life           int
}

// owned holds the leases of one owner. Nearly every token has one lease, which needs no lists.
type owned struct {
	only *Lease
	many map[string]*acquisitions // by key, and under anyKey all; nil while there is one lease
}

const anyKey = ""

// add adds a lease to those of its owner.
func (o *owned) add(l *Lease) {
	if o.only == nil && o.many == nil {
		o.only = l
		return
	}
	all := []*Lease{l}
	if o.many == nil {
		o.many = map[string]*acquisitions{}
		all = []*Lease{o.only, l}
		o.only = nil
	}
	for _, l := range all {
		for _, key := range []string{l.Key, anyKey} {
			a := o.many[key]
			if a == nil {
				a = &acquisitions{}
				o.many[key] = a
			}
			a.open, a.last = append(a.open, l), l
		}
	}
}

// current returns the lease that a line about a key is about, or nil.
func (o owned) current(key string) *Lease {
	if o.many == nil {
		return o.only
	}
	a := o.many[key]
	if a == nil {
		a = o.many[anyKey]
	}
	return a.current()
}

// acquisitions holds several leases of one owner.
type acquisitions struct {
	open []*Lease // the leases that may not have been released yet, the latest last
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
// the latest of its leases with that token on the line's key that has not been released; if all
// have been, about the latest of them; if none is on that key, the same rules apply to the
// leases on other keys. A crash ends all leases and critical sections of its process,
// regardless of the token that it names, and no later line of the process is about them.
//
// A release whose invocation is missing ends the lease at the earliest possible time.
func Leases(ops []Op) []*Lease {
	leases, _ := leasesOf(numbered(ops), each(ops), CallsOf(ops))
	return leases
}

// positions tells the time and the index of a line by its position.
type positions interface {
	TimeAt(position int) time.Duration
	IndexAt(position int) int
}

// leasesOf returns the leases, and for each line the position of its lease among the leases, or -1.
func leasesOf(at positions, all iter.Seq2[int, *Op], calls *Calls) (leases []*Lease, of []int32) {
	of = make([]int32, len(calls.began))
	byOwner := map[owner]owned{}
	lives := map[string]int{}
	alive := map[string][]*Lease{} // by process: the leases of its current life
	granted := map[string]bool{}   // tokens
	var end time.Duration
	for i, op := range all {
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
		mine := owner{op.Process, token, lives[op.Process]}
		if op.F == FAcquire && op.Type == OK {
			l := &Lease{
				ID: op.Index, Key: op.Key, Process: op.Process, Token: token, Reused: granted[token], Fence: op.Value.Fence, Mode: op.Value.Mode, Permits: op.Value.Permits, AtLeast: op.Value.AtLeast,
				Grants:    []Grant{{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil}},
				LostIndex: -1, ReleaseIndex: -1, CrashIndex: -1, EnterIndex: -1, LeaveIndex: -1,
			}
			l.Invoked, _ = calls.Began(i)
			l.InvokedIndex = -1
			if n, known := calls.Invocation(i); known {
				l.InvokedIndex = at.IndexAt(n)
			}
			granted[token] = true
			of[i] = int32(len(leases))
			l.number = of[i]
			leases = append(leases, l)
			alive[op.Process] = append(alive[op.Process], l)
			o := byOwner[mine]
			o.add(l)
			byOwner[mine] = o
			continue
		}
		l := byOwner[mine].current(op.Key)
		if l == nil {
			continue
		}
		of[i] = l.number
		if began, invoked := calls.Began(i); !(op.F == FRelease && op.Type != Invoke && invoked) { // the invocation already ended the lease
			l.follow(op, began)
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
	if op.F == FExtend && op.Value.Mode != "" {
		l.changeMode(op, began)
	}
	switch {
	case op.F == FExtend && op.Type == OK:
		l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil})
	case op.F == FClock && op.Time < l.Grants[len(l.Grants)-1].Until: // a lease that is over stays over
		l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil, Skewed: true})
	case op.F == FLost && l.LostIndex < 0: // Delay dates the event back; it may be recorded after the release
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

// ModeAt returns the mode of the lease at a time.
func (l *Lease) ModeAt(at time.Duration) string {
	mode := l.Mode
	for _, c := range l.Changes {
		if c.At <= at {
			mode = c.Mode
		}
	}
	return mode
}

// changeMode adds a change of the mode by a line of an extend.
func (l *Lease) changeMode(op *Op, began time.Duration) {
	reads := op.Value.Mode == ModeRead
	if reads == (l.ModeAt(math.MaxInt64) == ModeRead) || !reads && op.Type != OK {
		return
	}
	c := ModeChange{Index: op.Index, At: op.Time, Mode: op.Value.Mode}
	if reads && op.Type != Invoke {
		c.At = began
	}
	l.Changes = append(l.Changes, c)
}

// crash ends a lease because its client crashed and so no longer relies on it.
func (l *Lease) crash(op *Op) {
	l.CrashIndex, l.Crashed = op.Index, op.Time
	if l.ReleaseIndex < 0 {
		l.ReleaseIndex, l.Released = op.Index, op.Time
	}
}
