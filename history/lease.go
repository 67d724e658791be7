package history

import "time"

// Span is a stretch of the run's time, from From up to and without To.
type Span struct{ From, To time.Duration }

// Empty says whether no time lies within the span.
func (s Span) Empty() bool { return s.To <= s.From }

// Grant is one moment at which a client was told that it may rely on a lease:
// the return of an acquire, or of an extension.
type Grant struct {
	Index int           // of the operation
	At    time.Duration // when it returned
	Until time.Duration // valid until
	Bent  bool          // nobody granted anything: the client's clock was bent, and its lease ends at another time
}

// Lease is everything that a history says of one token.
type Lease struct {
	Key, Process, Token string
	Fence               int64
	Invoked             time.Duration // the acquire began; the grant, if its call was not recorded
	InvokedIndex        int           // of the line of that call; -1 if it was not recorded
	Grants              []Grant       // the acquire's, then the extensions', in order
	ReleaseIndex        int           // -1: it was never released, nor did its client end
	Released            time.Duration // the release was invoked, or the client ended (if ReleaseIndex >= 0)
	Entered, Left       time.Duration // the critical section
	EnterIndex          int           // -1: it was never entered
	LeaveIndex          int           // -1: it was never left: Left is Released, or the end of the history
}

// Acquired is when the acquire returned.
func (l *Lease) Acquired() time.Duration { return l.Grants[0].At }

// Until is the last moment of validity that any grant promised.
func (l *Lease) Until() time.Duration {
	until := l.Grants[0].Until
	for _, g := range l.Grants[1:] {
		until = max(until, g.Until)
	}
	return until
}

// Holds are the spans in which the client may rely on the lease: from a grant
// until its validity ends or the release is invoked, whichever is first. One
// span, unless an extension returned only after the validity before it had
// ended. A span may be empty: the lease was over before its client knew of it.
func (l *Lease) Holds() []Span {
	var spans []Span
	for _, g := range l.Grants {
		s := Span{g.At, g.Until}
		if l.ReleaseIndex >= 0 {
			s.To = min(s.To, l.Released)
		}
		if n := len(spans); n > 0 && s.From <= spans[n-1].To {
			spans[n-1].To = max(s.From, s.To) // the latest grant rules, even where it shortens the lease
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// Leases returns the lease of each acquire that was granted, in the order in
// which they were. An acquire that failed or never returned promises nothing and
// is left out.
func Leases(ops []Op) []*Lease {
	var leases []*Lease
	type owner struct{ process, token string } // a weak lock may give one token to two clients
	byOwner := map[owner]*Lease{}
	type call struct {
		at    time.Duration
		index int
	}
	invoked := map[string]call{}
	held := map[string][]*Lease{} // by process: those that no release or crash has ended
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		switch {
		case op.F == FAcquire && op.Type == Invoke:
			invoked[op.Process] = call{op.Time, op.Index}
		case op.F == FCrash: // whatever it held: the dead rely on nothing
			for _, l := range held[op.Process] {
				if l.ReleaseIndex < 0 {
					l.ReleaseIndex, l.Released = op.Index, op.Time
				}
				if l.EnterIndex >= 0 && l.LeaveIndex < 0 {
					l.LeaveIndex, l.Left = op.Index, op.Time
				}
			}
			delete(held, op.Process)
		}
		if op.Value == nil || op.Value.Token == "" || op.F == FVote { // the most of all, and no client's
			continue
		}
		o := owner{op.Process, op.Value.Token}
		l := byOwner[o]
		switch {
		case op.F == FAcquire && op.Type == OK:
			called, known := invoked[op.Process]
			if !known {
				called = call{op.Time, -1}
			}
			delete(invoked, op.Process)
			l = &Lease{
				Key: op.Key, Process: op.Process, Token: op.Value.Token, Fence: op.Value.Fence,
				Invoked: called.at, InvokedIndex: called.index, Grants: []Grant{{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil}},
				ReleaseIndex: -1, EnterIndex: -1, LeaveIndex: -1,
			}
			byOwner[o] = l
			held[op.Process] = append(held[op.Process], l)
			leases = append(leases, l)
		case l == nil:
		case op.F == FExtend && op.Type == OK:
			l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil})
		case op.F == FClock && op.Time < l.Grants[len(l.Grants)-1].Until: // one that is over stays so
			l.Grants = append(l.Grants, Grant{Index: op.Index, At: op.Time, Until: op.Value.ValidUntil, Bent: true})
		case op.F == FRelease && op.Type == Invoke && l.ReleaseIndex < 0:
			l.ReleaseIndex, l.Released = op.Index, op.Time
		case op.F == FEnter && l.EnterIndex < 0:
			l.EnterIndex, l.Entered = op.Index, op.Time
		case op.F == FLeave && l.EnterIndex >= 0 && l.LeaveIndex < 0:
			l.LeaveIndex, l.Left = op.Index, op.Time
		}
	}
	for _, l := range leases {
		if l.EnterIndex >= 0 && l.LeaveIndex < 0 {
			if l.Left = end; l.ReleaseIndex >= 0 {
				l.Left = max(l.Released, l.Entered)
			}
		}
	}
	return leases
}
