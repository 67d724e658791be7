package checker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// These properties are judged only by claims. A lock that violates them is not unsafe: it
// wastes time.
var (
	noSplitVotes = Property{
		Name: "no-split-votes", Level: "AV", Says: "clients never share the masters so that nobody can have a quorum", OnlyClaims: true,
		rules: &rules{claim: SplitVotes, failed: "the votes were split %d times"},
	}
	noOwnRefusals = Property{
		Name: "no-own-refusals", Level: "AV", Says: "no master refuses a client because of the client's own key", OnlyClaims: true,
		rules: &rules{claim: ownRefusals, failed: "masters refused clients for their own keys %d times"},
	}
	freeAfterRelease = Property{
		Name: "free-after-release", Level: "AV", Says: "a lock that was released is granted to another who waits for it, long before its keys would have ended", OnlyClaims: true,
		rules: &rules{claim: lingering, failed: "a lock that was released was unavailable %d times"},
	}
)

// ContentionProperties lists the properties that only claims judge.
var ContentionProperties = []Property{freeAfterRelease, noOwnRefusals, noSplitVotes}

// JudgeClaim judges a history by a property that only claims judge.
func (p Property) JudgeClaim(h *history.History) Result {
	found := p.rules.claim(h)
	votes := 0
	for i := range h.Ops {
		if h.Ops[i].F == history.FVote {
			votes++
		}
	}
	needed := Evidence{What: "recorded votes", Got: votes, Need: MinEvidence, Advice: MoreWork, Help: wordingFor(&h.Header)[MoreWork]}
	r := Result{
		Property: p, Verdict: Holds, Checked: votes, Evidence: []Evidence{needed}, Count: len(found), Why: fmt.Sprintf("in %d votes it did not happen", votes),
	}
	if needed.Got < needed.Need {
		r.Verdict = Invalid
		r.lack(&r.Evidence[0])
	}
	if len(found) > 0 {
		r.Verdict, r.Short, r.Key = Violated, nil, found[0].Key
		for i := range found {
			r.take(&found[i])
		}
		r.Why = fmt.Sprintf(p.rules.failed, len(found)) + fmt.Sprintf(": the first at %.3fs on %s", found[0].At.Seconds(), found[0].Key)
	}
	return r
}

// SplitVotes finds the times at which clients begin to split the votes: each master that is up
// stores a token, the masters store more than one token, and no quorum stores the same one. A key
// counts as stored from the yes to its SET until the yes to its release or the end of the TTL.
func SplitVotes(h *history.History) []narrative.Violation {
	type stored struct {
		client, token string
		until         time.Duration
	}
	byKey := map[string]map[string]stored{} // key, master
	split := map[string]bool{}
	down := map[string]bool{}
	var found []narrative.Violation
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F == history.FState && op.Value != nil {
			down[op.Process] = op.Value.State != "up"
			continue
		}
		at := byKey[op.Key]
		if at == nil {
			at = map[string]stored{}
			byKey[op.Key] = at
		}
		if op.F == history.FRelease && op.Type == history.Invoke { // the lock will delete the keys, even if no answer is recorded
			maps.DeleteFunc(at, func(_ string, s stored) bool { return s.client == op.Process })
		}
		if op.F != history.FVote || op.Value == nil {
			continue
		}
		switch v := op.Value; {
		case v.Command == history.CommandSet:
			// A client that begins a new attempt has given up the previous one.
			maps.DeleteFunc(at, func(_ string, s stored) bool { return s.client == v.Client && s.token != v.Token })
			if v.Yes {
				at[op.Process] = stored{v.Client, v.Token, op.Time + h.Header.TTL}
			}
		case v.Command == history.CommandRelease && at[op.Process].token == v.Token:
			delete(at, op.Process)
		}
		if !op.Value.Yes {
			continue
		}
		free := 0
		votes := map[string]int{}
		var clients []string
		most := 0
		for m := 1; m <= h.Header.Masters; m++ {
			name := fmt.Sprintf("m%d", m)
			s, taken := at[name]
			switch {
			case down[name]:
			case !taken || s.until <= op.Time:
				free++
			default:
				votes[s.token]++
				most = max(most, votes[s.token])
				if !slices.Contains(clients, s.client) {
					clients = append(clients, s.client)
				}
			}
		}
		now := free == 0 && len(votes) > 1 && most < h.Header.LeastVotes()
		if now && !split[op.Key] {
			slices.Sort(clients)
			found = append(found, narrative.Violation{
				Level: "AV", Key: op.Key, At: op.Time, Until: op.Time, Ops: []int{op.Index}, Clients: clients,
				Summary: fmt.Sprintf("at %.3fs %d clients shared the masters of %s, and none could have a quorum: %v", op.Time.Seconds(), len(clients), op.Key, clients),
			})
		}
		split[op.Key] = now
	}
	return found
}

// ownRefusals finds the masters that said no to a SET and then yes to the release of the
// same token: the SET was refused because of the client's own key. An extension that the client gave up proves nothing: a master
// may carry it out at any later time, and create the key.
func ownRefusals(h *history.History) []narrative.Violation {
	type attempt struct{ master, client, key, token string }
	refused, gaveUp := map[attempt]*history.Op{}, map[attempt]bool{}
	var found []narrative.Violation
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != history.FVote || op.Value == nil {
			continue
		}
		v := op.Value
		a := attempt{op.Process, v.Client, op.Key, v.Token}
		switch {
		case op.Type == history.Info && v.Command == history.CommandExtend:
			gaveUp[a] = true
		case op.Type == history.Info && v.Command != history.CommandRelease, v.Yes && v.Command == history.CommandExtend:
			delete(refused, a) // it may have created the key since
		case v.Command == history.CommandSet && !v.Yes && op.Type == history.OK && op.Error == "":
			refused[a] = op
		case v.Command == history.CommandRelease && v.Yes && op.Type == history.OK && refused[a] != nil && !gaveUp[a]:
			no := refused[a]
			delete(refused, a)
			found = append(found, narrative.Violation{
				Level: "AV", Key: op.Key, At: no.Time, Until: op.Time, Ops: []int{no.Index, op.Index}, Clients: []string{v.Client}, Tokens: []string{v.Token},
				Summary: fmt.Sprintf("%s refused %s the key %s at %.3fs for a key that was %s's own", op.Process, v.Client, op.Key, no.Time.Seconds(), v.Client),
				Reason: []string{
					fmt.Sprintf("At %.3fs %s said no to the SET of %s.", no.Time.Seconds(), op.Process, v.Client),
					fmt.Sprintf("By %.3fs it had released the same token for %s: it had stored it all the time.", op.Time.Seconds(), v.Client),
				},
			})
		}
	}
	return found
}

// lingering finds the releases of valid leases after which another client's acquire of the key
// was pending all the time, and no other client was granted the key for four fifths of a TTL.
func lingering(h *history.History) []narrative.Violation {
	patience := h.Header.TTL * 4 / 5
	r := facts.New(history.Pack(h))
	var found []narrative.Violation
	for _, l := range r.Leases {
		until := l.Released + patience
		if l.ReleaseIndex < 0 || h.Ops[l.ReleaseIndex].F != history.FRelease || l.Released >= l.Until() || until > r.End {
			continue
		}
		if slices.ContainsFunc(r.Leases, func(x *history.Lease) bool {
			return x.Key == l.Key && x.Process != l.Process && x.Acquired() > l.Released && x.Acquired() <= until
		}) {
			continue
		}
		waiting := facts.Acquire{Open: true} // of those that waited all the time, the one that returned first
		for _, a := range r.Acquires() {
			if a.Key == l.Key && a.Client != l.Process && !a.Open && a.Invoked <= l.Released+time.Second && a.Ended >= until && (waiting.Open || a.Ops[1] < waiting.Ops[1]) {
				waiting = a
			}
		}
		if waiting.Open {
			continue
		}
		found = append(found, narrative.Violation{
			Level: "AV", Key: l.Key, At: l.Released, Until: until, Ops: []int{l.ReleaseIndex}, Clients: []string{l.Process, waiting.Client}, Tokens: []string{l.Token},
			Summary: fmt.Sprintf("%s released %s at %.3fs, and nobody else was granted it by %.3fs, although %s asked for it all the time", l.Process, l.Key, l.Released.Seconds(), until.Seconds(), waiting.Client),
		})
	}
	return found
}
