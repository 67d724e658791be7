package checker

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"lockpick/history"
)

// votes is a selection of a history's votes, by their ids. A vote is unpacked only while it is
// examined, to save memory.
type votes struct {
	h   *history.Packed
	ids []int32
}

func (vs votes) len() int { return len(vs.ids) }

func (vs votes) at(i int) history.Vote { return vs.h.Vote(vs.ids[i]) }

func (vs votes) kind(i int) *history.VoteKind { return vs.h.Kind(vs.ids[i]) }

// all yields the votes in order.
func (vs votes) all() iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		for _, id := range vs.ids {
			if !yield(vs.h.Vote(id)) {
				return
			}
		}
	}
}

// any reports whether is returns true for any of the votes.
func (vs votes) any(is func(*history.Vote) bool) bool {
	for _, id := range vs.ids {
		v := vs.h.Vote(id)
		if is(&v) {
			return true
		}
	}
	return false
}

// since returns how many of the votes, which are in order, arrived before t.
func (vs votes) since(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(vs.ids, t, func(id int32, t time.Duration) int {
		if vs.h.At(id) < t {
			return -1
		}
		return 1
	})
	return i
}

// asked yields, in order, the votes that arrived at from or later and whose command was sent by to.
func (vs votes) asked(from, to time.Duration) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		if len(vs.ids) == 0 {
			return
		}
		last := to + vs.h.LongestTook() // votes that arrive after last were sent after to
		for _, id := range vs.ids[vs.since(from):] {
			if vs.h.At(id) > last {
				return
			}
			if vs.h.Sent(id) <= to && !yield(vs.h.Vote(id)) {
				return
			}
		}
	}
}

// answered reports whether every vote is an answer: a master may execute an unanswered command at
// any later time.
func answered(vs votes) bool {
	for i := range vs.ids {
		if vs.kind(i).Unknown {
			return false
		}
	}
	return true
}

// latest returns when the last of some votes arrived.
func latest(vs votes) (last time.Duration) {
	for _, id := range vs.ids {
		last = max(last, vs.h.At(id))
	}
	return last
}

// said reports whether any of some votes is a yes.
func said(vs votes) bool {
	for i := range vs.ids {
		if vs.kind(i).Yes {
			return true
		}
	}
	return false
}

// evidence indexes the votes by token, and the masters' states by master.
type evidence struct {
	h       *history.Packed
	byToken []int32 // the ids of the votes, by token, in order
	begin   []int32 // by token: where its votes begin in byToken; one more element says where the last token's votes end
	states  map[string][]state
}

// state is a recorded state of a master's process.
type state struct {
	at   time.Duration
	is   string // up, paused, down
	line int
	keys map[string]string // token by key that it stored; nil if that was not recorded
}

// lookup returns the evidence.
func (r *run) lookup() *evidence { return r.evidence.get(r.indexEvidence) }

func (r *run) indexEvidence() *evidence {
	h := r.h
	e := &evidence{h: h, byToken: make([]int32, h.Len()), begin: make([]int32, len(h.Tokens())+1), states: map[string][]state{}}
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
			e.states[op.Process] = append(e.states[op.Process], state{op.Time, op.Value.State, op.Index, op.Value.Keys})
		}
	}
	return e
}

// token returns the votes on commands with a token, in order.
func (e *evidence) token(token string) votes {
	n := e.h.FindToken(token)
	if n < 0 {
		return votes{h: e.h}
	}
	return votes{e.h, e.byToken[e.begin[n]:e.begin[n+1]]}
}

// between yields, in order, the votes that arrived in [from, to].
func (e *evidence) between(from, to time.Duration) iter.Seq[history.Vote] {
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
func about(v *history.VoteKind, l *history.Lease) bool {
	return v.Key == l.Key && (v.Client == "" || v.Client == l.Process)
}

// of yields the votes on a lease's token, in order.
func (e *evidence) of(l *history.Lease) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		vs := e.token(l.Token)
		for i, id := range vs.ids {
			if about(vs.kind(i), l) && !yield(e.h.Vote(id)) {
				return
			}
		}
	}
}

// asked yields, in order, the votes on a lease's token that arrived at from or later and whose
// command was sent by to.
func (e *evidence) asked(l *history.Lease, from, to time.Duration) iter.Seq[history.Vote] {
	return func(yield func(history.Vote) bool) {
		vs := e.token(l.Token)
		last := to + e.h.LongestTook() // votes that arrive after last were sent after to
		for _, id := range vs.ids[vs.since(from):] {
			if e.h.At(id) > last {
				return
			}
			if about(e.h.Kind(id), l) && e.h.Sent(id) <= to && !yield(e.h.Vote(id)) {
				return
			}
		}
	}
}

// voted reports whether any vote on a lease was recorded.
func (e *evidence) voted(l *history.Lease) bool {
	for range e.of(l) {
		return true
	}
	return false
}

// votedOn reports whether any vote on a command for a lease was recorded.
func (e *evidence) votedOn(l *history.Lease, command string) bool {
	for v := range e.of(l) {
		if v.Command == command {
			return true
		}
	}
	return false
}

// yes returns the yes votes on a lease for a command that arrived by the time of the grant. If
// these are fewer than a quorum, it adds the yes votes that arrived up to slack later on commands
// sent by then: a recorder may learn of a reply after the lock did.
func (e *evidence) yes(l *history.Lease, command string, since, grant, slack time.Duration, quorum int) []history.Vote {
	var votes, asked []history.Vote
	for v := range e.asked(l, since, grant) {
		switch {
		case !v.Yes || v.Command != command:
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

// masters returns the names of the masters that cast some votes, each once.
func masters(votes []history.Vote) []string {
	var names []string
	for _, v := range votes {
		names = append(names, v.Master)
	}
	return set(names)
}

// replies returns the votes of a master on a command, in order.
func (r *run) replies(command, master string) votes {
	return r.answered.get(command, func(command string) map[string]votes {
		ids := map[string][]int32{}
		for i := range r.h.Len() {
			id := r.h.InOrder(i)
			if k := r.h.Kind(id); k.Command == command {
				ids[k.Master] = append(ids[k.Master], id)
			}
		}
		byMaster := map[string]votes{}
		for master, mine := range ids {
			byMaster[master] = votes{r.h, mine}
		}
		return byMaster
	})[master]
}

// votesFor returns the votes by which a lease was granted.
func (r *run) votesFor(l *history.Lease) []history.Vote {
	return r.lookup().yes(l, history.CommandSet, l.Invoked, l.Acquired(), r.slack, r.quorum())
}

// voters returns the masters by whose votes a lease was granted.
func (r *run) voters(l *history.Lease) []string { return masters(r.votesFor(l)) }

// sent returns the latest time at which a command can have been sent.
func sent(v history.Vote) time.Duration { return v.At - v.Took }

// keeps reports whether a vote shows that its master stored the key for its token.
func keeps(v history.Vote) bool {
	return v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend)
}

// lifetime returns how long a key lives after a vote: the TTL of the command, or the lock's TTL.
func (r *run) lifetime(v history.Vote) time.Duration {
	if v.TTL > 0 {
		return v.TTL
	}
	return r.h.Header.TTL
}

// longestLife returns the longest lifetime of any key in the history.
func (r *run) longestLife() time.Duration {
	longest := r.h.Header.TTL
	for i := range r.h.Kinds() {
		longest = max(longest, r.h.Kinds()[i].TTL)
	}
	return longest
}

// set returns names sorted by their numbers (m2 before m10), each once.
func set(names []string) []string {
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
