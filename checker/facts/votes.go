package facts

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"lockpick/history"
)

// Votes is a selection of a history's votes, by their ids. A vote is unpacked only while it is
// examined, to save memory.
type Votes struct {
	History *history.Packed
	IDs     []int32
}

// Len, At and Kind return how many votes there are, one of them, and what one has in common with its like.
func (vs Votes) Len() int { return len(vs.IDs) }

func (vs Votes) At(i int) history.Vote { return vs.History.Vote(vs.IDs[i]) }

func (vs Votes) Kind(i int) *history.VoteKind { return vs.History.Kind(vs.IDs[i]) }

// All yields the votes in order.
func (vs Votes) All() iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		for _, id := range vs.IDs {
			if !yield(vs.History.Vote(id)) {
				return
			}
		}
	}
}

// Any reports whether is returns true for any of the votes.
func (vs Votes) Any(is func(*history.Vote) bool) bool {
	for _, id := range vs.IDs {
		v := vs.History.Vote(id)
		if is(&v) {
			return true
		}
	}
	return false
}

// CountBefore returns how many of the votes, which are in order, arrived before t.
func (vs Votes) CountBefore(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(vs.IDs, t, func(id int32, t time.Duration) int {
		if vs.History.At(id) < t {
			return -1
		}
		return 1
	})
	return i
}

// InFlight yields, in order, the votes that arrived at from or later and whose command was sent by to.
func (vs Votes) InFlight(from, to time.Duration) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		if len(vs.IDs) == 0 {
			return
		}
		last := to + vs.History.LongestTook() // votes that arrive after last were sent after to
		for _, id := range vs.IDs[vs.CountBefore(from):] {
			if vs.History.At(id) > last {
				return
			}
			if vs.History.Sent(id) <= to && !yield(vs.History.Vote(id)) {
				return
			}
		}
	}
}

// AnyOf reports whether is returns true for what any of the votes has in common with its like.
func (vs Votes) AnyOf(is func(*history.VoteKind) bool) bool {
	return slices.ContainsFunc(vs.IDs, func(id int32) bool { return is(vs.History.Kind(id)) })
}

// AllAnswered reports whether every vote is an answer: a master may execute an unanswered command at
// any later time.
func (vs Votes) AllAnswered() bool {
	return !vs.AnyOf(func(k *history.VoteKind) bool { return k.Unknown })
}

// AnyYes reports whether any of the votes is a yes.
func (vs Votes) AnyYes() bool { return vs.AnyOf(func(k *history.VoteKind) bool { return k.Yes }) }

// LastAnswer returns when the last of some votes arrived.
func (vs Votes) LastAnswer() (last time.Duration) {
	for _, id := range vs.IDs {
		last = max(last, vs.History.At(id))
	}
	return last
}

// VoteIndex indexes the votes by token, and the masters' states by master.
type VoteIndex struct {
	h       *history.Packed
	byToken []int32 // the ids of the votes, by token, in order
	begin   []int32 // by token: where its votes begin in byToken; one more element says where the last token's votes end
	states  map[string][]State
}

// State is a recorded state of a master's process.
type State struct {
	At     time.Duration
	Status string // up, paused, down
	Line   int
	Keys   map[string]string // token by key that it stored; nil if that was not recorded
}

// VoteIndex returns the votes by token, and the states by master.
func (r *Run) VoteIndex() *VoteIndex { return r.voteIndex.get(r.findVoteIndex) }

func (r *Run) findVoteIndex() *VoteIndex {
	h := r.History
	e := &VoteIndex{h: h, byToken: make([]int32, h.Len()), begin: make([]int32, len(h.Tokens())+1), states: map[string][]State{}}
	for i := range h.Len() {
		e.begin[h.TokenNumber(int32(i))+1]++
	}
	for i := 1; i < len(e.begin); i++ {
		e.begin[i] += e.begin[i-1]
	}
	next := slices.Clone(e.begin)
	for i := range h.Len() {
		id := h.InOrder(i)
		token := h.TokenNumber(id)
		e.byToken[next[token]] = id
		next[token]++
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F == history.FState && op.Value != nil {
			e.states[op.Process] = append(e.states[op.Process], State{op.Time, op.Value.State, op.Index, op.Value.Keys})
		}
	}
	return e
}

// ByToken returns the votes on commands with a token, in order.
func (e *VoteIndex) ByToken(token string) Votes {
	n := e.h.FindToken(token)
	if n < 0 {
		return Votes{History: e.h}
	}
	return Votes{e.h, e.byToken[e.begin[n]:e.begin[n+1]]}
}

// Between yields, in order, the votes that arrived in [from, to].
func (e *VoteIndex) Between(from, to time.Duration) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		for i := e.h.Since(from); i < e.h.Len(); i++ {
			id := e.h.InOrder(i)
			if e.h.At(id) > to || !yield(e.h.Vote(id)) {
				return
			}
		}
	}
}

// about reports whether a vote is on a lease.
func about(key, client string, l *history.Lease) bool {
	return key == l.Key && (client == "" || client == l.Process)
}

// OnLease yields the votes on a lease's token, in order.
func (e *VoteIndex) OnLease(l *history.Lease) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		vs := e.ByToken(l.Token)
		for i, id := range vs.IDs {
			if k := vs.Kind(i); about(k.Key, k.Client, l) && !yield(e.h.Vote(id)) {
				return
			}
		}
	}
}

// InFlight yields, in order, the votes on a lease's token that arrived at from or later and whose
// command was sent by to.
func (e *VoteIndex) InFlight(l *history.Lease, from, to time.Duration) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		for v := range e.ByToken(l.Token).InFlight(from, to) {
			if about(v.Key, v.Client, l) && !yield(v) {
				return
			}
		}
	}
}

// Voted reports whether any vote on a lease was recorded.
func (e *VoteIndex) Voted(l *history.Lease) bool {
	for range e.OnLease(l) {
		return true
	}
	return false
}

// Record is how much of the votes on a lease is known.
type Record int

const (
	NotRecorded    Record = iota
	PartlyRecorded        // one of them may have been a yes, and it is not known
	Recorded
)

// Recorded returns how much of the votes on a command for a lease is known.
func (e *VoteIndex) Recorded(l *history.Lease, command string) Record {
	known := NotRecorded
	for v := range e.OnLease(l) {
		if v.Command != command {
			continue
		}
		if v.Maybe {
			return PartlyRecorded
		}
		known = Recorded
	}
	return known
}

// Granting returns the yes votes on a lease for a command that arrived by the time of the grant. If
// these are fewer than a quorum, it adds the yes votes that arrived up to slack later on commands
// sent by then: a recorder may learn of a reply after the lock did. A SET that was sent before since is one of
// an earlier acquire. Of an extension that is not known, as a lock may extend by itself.
func (e *VoteIndex) Granting(l *history.Lease, command string, since, grant, slack time.Duration, quorum int) []history.Vote {
	var votes, asked []history.Vote
	for v := range e.InFlight(l, since, grant) {
		switch {
		case !v.Yes || v.Command != command || command == history.CommandSet && Sent(v) < since-slack:
		case v.At <= grant:
			votes = append(votes, v)
		case v.At <= grant+slack:
			asked = append(asked, v)
		}
	}
	if len(votes) < quorum {
		return append(votes, asked...)
	}
	return votes
}

// MastersOf returns the names of the masters that cast some votes, each once.
func MastersOf(votes []history.Vote) []string {
	var names []string
	for _, v := range votes {
		names = append(names, v.Master)
	}
	return Distinct(names)
}

// Replies returns the votes of a master on a command, in order.
func (r *Run) Replies(command, master string) Votes {
	return r.answered.get(command, func(command string) map[string]Votes {
		ids := map[string][]int32{}
		for i := range r.History.Len() {
			id := r.History.InOrder(i)
			if k := r.History.Kind(id); k.Command == command {
				ids[k.Master] = append(ids[k.Master], id)
			}
		}
		byMaster := map[string]Votes{}
		for master, mine := range ids {
			byMaster[master] = Votes{r.History, mine}
		}
		return byMaster
	})[master]
}

// GrantingVotes returns the votes by which a lease was granted.
func (r *Run) GrantingVotes(l *history.Lease) []history.Vote {
	return r.VoteIndex().Granting(l, history.CommandSet, l.Invoked, l.Acquired(), r.Slack, r.Quorum())
}

// Voters returns the masters by whose votes a lease was granted.
func (r *Run) Voters(l *history.Lease) []string { return MastersOf(r.GrantingVotes(l)) }

// Sent returns the latest time at which a command can have been sent.
func Sent(v history.Vote) time.Duration { return v.At - v.Took }

// StoresKey reports whether a vote shows that its master stored the key for its token.
func StoresKey(v history.Vote) bool {
	return v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend)
}

// Lifetime returns how long a key lives after a vote: the TTL of the command, or the lock's TTL.
func (r *Run) Lifetime(v history.Vote) time.Duration {
	if v.TTL > 0 {
		return v.TTL
	}
	return r.History.Header.TTL
}

// longestLife returns the longest lifetime of any key in the history.
func (r *Run) longestLife() time.Duration {
	longest := r.History.Header.TTL
	for i := range r.History.Kinds() {
		longest = max(longest, r.History.Kinds()[i].TTL)
	}
	return longest
}

// Distinct returns names sorted by their numbers (m2 before m10), each once.
func Distinct(names []string) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, byNumber)
	return slices.Compact(names)
}

// byNumber orders the names of processes by number: a shorter name has the smaller number.
func byNumber(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}
