package checker

import (
	"iter"
	"time"

	"lockpick/history"
)

// evidence is what explanations look up: votes by token, and the masters' states.
type evidence struct {
	votes  []history.Vote
	byName map[string][]int // indices in votes, by token
	states map[string][]state
}

// state is what a master's process was at some time.
type state struct {
	at   time.Duration
	is   string // up, paused, down
	line int
	keys map[string]string // what it stored; nil if it was not asked
}

// lookup builds the evidence at its first use: a history without violations
// needs none.
func (r *run) lookup() *evidence {
	if r.evidence != nil {
		return r.evidence
	}
	e := &evidence{votes: history.Votes(r.h.Ops), byName: map[string][]int{}, states: map[string][]state{}}
	for i := range e.votes {
		e.byName[e.votes[i].Token] = append(e.byName[e.votes[i].Token], i)
	}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FState && op.Value != nil {
			e.states[op.Process] = append(e.states[op.Process], state{op.Time, op.Value.State, op.Index, op.Value.Keys})
		}
	}
	r.evidence = e
	return e
}

// of yields the votes on a lease's token, in order.
func (e *evidence) of(l *history.Lease) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		for _, i := range e.byName[l.Token] {
			v := e.votes[i]
			if v.Key == l.Key && (v.Client == "" || v.Client == l.Process) && !yield(v) {
				return
			}
		}
	}
}

// voted says whether any vote on a lease was recorded.
func (e *evidence) voted(l *history.Lease) bool {
	for range e.of(l) {
		return true
	}
	return false
}

// votedOn says whether any vote on a command for a lease was recorded.
func (e *evidence) votedOn(l *history.Lease, command string) bool {
	for v := range e.of(l) {
		if v.Command == command {
			return true
		}
	}
	return false
}

// yes returns the yes votes on a lease for a command that came in by a time,
// the grant's. If they are fewer than a quorum, it adds those that the client had
// asked for by then: a recorder may learn of a reply after the lock did.
func (e *evidence) yes(l *history.Lease, command string, since, grant time.Duration, quorum int) []history.Vote {
	var votes, asked []history.Vote
	for v := range e.of(l) {
		switch {
		case !v.Yes || v.Command != command || v.At < since:
		case v.At <= grant:
			votes = append(votes, v)
		case v.At-v.Took <= grant:
			asked = append(asked, v)
		}
	}
	if len(votes) < quorum {
		return append(votes, asked...)
	}
	return votes
}

// masters names those that cast some votes, each once.
func masters(votes []history.Vote) []string {
	var names []string
	for _, v := range votes {
		names = append(names, v.Master)
	}
	return set(names)
}
