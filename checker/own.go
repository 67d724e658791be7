package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// trespass is a command that hit, or a key that was lost to, someone else's.
type trespass struct {
	by     party
	vote   history.Vote  // the yes that gives it away: to a release or extension, or to the next SET
	victim *history.Vote // the yes to the SET whose key it was; nil: whose is not known
	set    bool          // the master never said yes to a SET of by's
	lost   bool          // not seen being done: only that the victim's key is gone
}

// ownKeys judges one thing of L1: no one releases or extends another's key.
//
// A yes to a release or an extension says that the master found the key. It was not the
// client's own where the master had refused its SET, or where, with all its SETs answered,
// the master had since said yes to the SET NX of another: the first key was gone then.
// And a key was taken away by someone where its master gave the lock away before the TTL
// was over, unless its own client released it or ended, or the master was restarted or its
// clock or memory tampered with.
//
// Where requests may come twice, a SET that was refused may have been granted by its second
// coming, so that only the keys that were taken away are judged.
func (r *run) ownKeys() *Result {
	t := r.trails()
	judged, given := 0, 0
	var all []trespass
	victims := map[int]bool{}
	for _, p := range t.places {
		sets := t.yes[p]
		for _, x := range t.byPlace[p] {
			for _, v := range append(slices.Clone(x.frees), x.extends...) {
				if !v.Yes || r.h.Header.Duplicates {
					continue
				}
				judged++
				if s, ok := r.hitAnother(x, v, sets); ok {
					all = append(all, s)
					if s.victim != nil {
						victims[s.victim.Index] = true
					}
				}
			}
		}
		for i := 1; i < len(sets); i++ {
			given++
			if s, ok := r.takenAway(sets[i-1], sets[i]); ok && !victims[s.victim.Index] {
				all = append(all, s)
			}
		}
	}
	if r.h.Header.Duplicates {
		judged = given
	}
	if judged == 0 && len(all) == 0 {
		return nil
	}
	byVote := map[int]trespass{}
	found := make([]Violation, 0, len(all))
	for _, s := range all {
		byVote[s.vote.Index] = s
		v := Violation{Key: s.vote.Key, At: s.vote.At, Until: s.vote.At, Ops: []int{s.vote.Index}, Tokens: []string{s.by.token}, Clients: []string{s.by.client}}
		if s.victim != nil {
			v.Ops = []int{s.victim.Index, s.vote.Index}
			v.Tokens, v.Clients = []string{s.victim.Token, s.by.token}, []string{s.victim.Client, s.by.client}
		}
		found = append(found, v)
	}
	res := result(OwnKeys, judged, found, func(v *Violation) { r.explainTrespass(v, byVote[v.Ops[len(v.Ops)-1]]) })
	if len(found) > 0 {
		res.Why = fmt.Sprintf("a key was released, extended or lost that was another's, %s: the first at %s on %s", count(len(found), "time", "times"), at(res.Violations[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("none of %s hit another's key, and no key was lost to one", count(judged, "release or extension", "releases and extensions")) + r.tried()
	if r.h.Header.Duplicates {
		res.Why = fmt.Sprintf("no key was lost to another client, in %s (releases and extensions are not judged: requests came twice here, and who was refused may have the key all the same)", count(judged, "change of hands", "changes of hands")) + r.tried()
	}
	r.requireEvidence(res)
	return res
}

// lastOther is the last SET of another that was answered before a time, or nil.
func lastOther(sets []history.Vote, who party, before time.Duration) *history.Vote {
	i, _ := slices.BinarySearchFunc(sets, before, func(v history.Vote, at time.Duration) int { return cmp.Compare(v.At, at) })
	for i--; i >= 0; i-- {
		if (party{sets[i].Client, sets[i].Token}) != who {
			return &sets[i]
		}
	}
	return nil
}

// hitAnother says whether a yes to a release or extension was about another's key.
func (r *run) hitAnother(x *trail, v history.Vote, sets []history.Vote) (trespass, bool) {
	if len(x.sets) == 0 || !answered(x.sets) {
		return trespass{}, false
	}
	last := lastOther(sets, x.who, sent(v)-voteSlack)
	s := trespass{by: x.who, vote: v, victim: last}
	if !said(x.sets) {
		s.set = true
		if v.Command == history.CommandExtend && last == nil {
			return s, false // extended into being: that is no one else's key
		}
		return s, true
	}
	if last == nil || sent(*last) <= latest(x.sets) {
		return trespass{}, false
	}
	if r.endedAfter(x.master, sent(*last)-voteSlack, v.At) || r.stalledIn(sent(*last), v.At) { // it may have brought the key back
		return trespass{}, false
	}
	return s, true
}

// takenAway says whether a master gave away, by its yes to SET b, the key of SET a that
// must still have been there.
func (r *run) takenAway(a, b history.Vote) (trespass, bool) {
	ttl := r.h.Header.TTL
	if a.Client == b.Client && a.Token == b.Token || ttl <= 0 {
		return trespass{}, false
	}
	// Where both were under way at once, as when held bytes arrive, the answers' order is
	// not that of the SETs: b may have come first, and have been released before a came.
	if sent(b) <= a.At {
		return trespass{}, false
	}
	x := r.trails().byID[trailID{place{a.Master, a.Key}, party{a.Client, a.Token}}]
	from := sent(a) - voteSlack
	if b.At >= from+ttl {
		return trespass{}, false
	}
	for _, v := range x.frees {
		if v.At >= from && sent(v) <= b.At+voteSlack {
			return trespass{}, false
		}
	}
	switch {
	case b.At > r.end-time.Second: // its release may not have been recorded any more
	case r.goneIn(a.Client, from, b.At+voteSlack):
	case r.restartedIn(a.Master, from, b.At), r.bentIn(a.Master, from, b.At):
	case r.stalledIn(from, b.At):
	default:
		return trespass{by: party{b.Client, b.Token}, vote: b, victim: &a, lost: true}, true
	}
	return trespass{}, false
}
