package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// lookSlack is how much longer than its TTL a key may be seen: from a master's carrying
// out a command to the client's hearing of it, and from a look to its record.
const lookSlack = 500 * time.Millisecond

// overrun is a key that a master still stored when its TTL was over.
type overrun struct {
	master, key, token string
	since, seen        time.Duration // when it was last set or extended, and last seen
	ops                []int
}

// keyLifetime judges one thing of L1: a master keeps no token longer than its TTL after
// it was last set or extended there. It rests on what the masters say of themselves now
// and then, so it is left out where nobody asked them.
func (r *run) keyLifetime() *Result {
	ttl := r.h.Header.TTL
	looks := 0
	since := map[[3]string]time.Duration{} // by master, key, token
	over := map[[3]string]*overrun{}
	begun := map[[3]string]int{}
	var order [][3]string
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		v := op.Value
		switch {
		case v == nil:
		case op.F == history.FVote && op.Type == history.OK && v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend):
			id := [3]string{op.Process, op.Key, v.Token}
			since[id], begun[id] = op.Time, op.Index
		case op.F == history.FLook:
			looks++
			for key, token := range v.Keys {
				id := [3]string{op.Process, key, token}
				at, known := since[id]
				if !known { // its SET was never answered: it is at least as old as this look
					since[id], begun[id] = op.Time, op.Index
					continue
				}
				if op.Time <= at+ttl+lookSlack {
					continue
				}
				if over[id] == nil {
					over[id] = &overrun{master: op.Process, key: key, token: token, since: at, ops: []int{begun[id], op.Index}}
					order = append(order, id)
				}
				over[id].seen = op.Time
			}
		}
	}
	if looks == 0 || ttl <= 0 {
		return nil
	}
	var found []Violation
	byLook := map[int][]overrun{}
	slices.SortStableFunc(order, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
	for _, id := range order {
		o := over[id]
		byLook[o.ops[1]] = append(byLook[o.ops[1]], *o)
		found = append(found, Violation{Key: o.key, At: o.since + ttl, Until: o.seen, Ops: o.ops, Tokens: []string{o.token}})
	}
	res := result(KeyLifetime, len(since), found, func(v *Violation) {
		i := slices.IndexFunc(byLook[v.Ops[1]], func(o overrun) bool { return o.token == v.Tokens[0] && o.key == v.Key && o.since+ttl == v.At })
		o := byLook[v.Ops[1]][i]
		v.Summary = fmt.Sprintf("%s still stored a token of %s at %s, %s after it was last set or extended there: the TTL is %s",
			o.master, o.key, at(o.seen), at(o.seen-o.since), at(ttl))
		r.explain(v, r.explainOverrun(o))
	})
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s outlived the TTL of %s on a master: the first on %s", share(len(found), len(since), "stored tokens"), at(ttl), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("in %s of the masters no token was older than its TTL", count(looks, "look", "looks")) + r.tried()
	r.requireEvidence(res)
	return res
}

// explainOverrun looks for what bent the master's clock.
func (r *run) explainOverrun(o overrun) []reason {
	steps := []reason{
		{at: o.since, text: fmt.Sprintf("By %s %s had set or extended the key of %s.", at(o.since), o.master, o.key)},
		{at: o.seen, text: fmt.Sprintf("At %s it still stored it.", at(o.seen))},
	}
	explained := false
	for _, f := range r.faults {
		if f.Name != "clock" || !f.Installed || !slices.Contains(f.Masters, o.master) || f.Began > o.seen {
			continue
		}
		explained = true
		steps = append(steps, reason{at: f.From, faults: []int{f.ID}, text: fmt.Sprintf("From %s to %s the clock of %s was off%s (clock #%d).", at(f.From), at(f.To), o.master, by(f.Params["clock"]), f.ID)})
	}
	if !explained {
		steps = append(steps, reason{at: o.seen, text: "No recorded fault of its clock explains it."})
	}
	return steps
}
