package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// lifetimeSlack returns how long after its TTL plus a fiftieth of it a key may still be seen: both
// snapshots may have been taken late, and Redis counts in ms.
func (r *run) lifetimeSlack() time.Duration {
	return min(max(2*r.Slack, 5*time.Millisecond), 150*time.Millisecond)
}

// sameEnd returns how much a key's expiry may differ between two answers of a master although
// nobody has set or extended the key in between: the answers are in ms, and the master does not
// read its clock at the same instant.
func (r *run) sameEnd() time.Duration { return r.lifetimeSlack() / 3 }

// stored is a key in successive snapshots of a master that all give the same expiry by the
// master's clock: nobody set or extended the key in between.
type stored struct {
	master, key, token string
	end                time.Duration // its expiry, on the master's own clock
	mortal             bool          // the key has an expiry
	since, seen        time.Duration // the latest time of the first snapshot, and the earliest of the last one
	ops                []int         // the first snapshot and the one that showed the overrun
}

var KeyLifetime = Property{
	Name: "key-lifetime", Level: "L1", Says: "a master keeps no token longer than its TTL", Votes: true, ToleratesStalls: true, Reported: true,
	rules: &rules{judge: (*run).keyLifetime, gaps: []gap{nobodyLooked}},
}

// keyLifetime judges one part of L1: a master keeps no token longer than its TTL after
// the token was last set or extended there.
//
// It uses only the masters' snapshots. A client does not know when a command was executed: a
// master may execute a SET or an extension without an answer much later, when held bytes arrive or
// the paused master continues. But each of them changes the key's expiry. As long as the expiry
// stays the same, by the master's own clock, the master executed none, and the TTL must run out.
func (r *run) keyLifetime() *judgement {
	ttl := r.History.Header.TTL
	allowed, same := ttl+ttl/50+r.lifetimeSlack(), r.sameEnd()
	snapshots, withExpiries, tokens := 0, 0, 0
	type seen struct{ master, key, token string }
	all := map[seen]*stored{}
	over := map[seen]*stored{}
	waiting := map[string][]*stored{} // by master: the keys whose TTL is not over yet
	var order []seen
	var caught []time.Duration // the times of snapshots that would have shown an overrun
	for look := range r.History.Looks() {
		if r.InWindow(look.Time) {
			snapshots++
		}
		if !look.HasExpiries() {
			continue // the snapshot has no expiries
		}
		withExpiries++
		asked := look.Began()
		waiting[look.Master] = slices.DeleteFunc(waiting[look.Master], func(s *stored) bool {
			if asked > s.since+allowed {
				if r.InWindow(look.Time) {
					caught = append(caught, look.Time)
				}
				return true
			}
			return false
		})
		for key, token := range look.Tokens() {
			id := seen{look.Master, key, token}
			end, mortal := look.Expiry(key)
			s := all[id]
			if s == nil || s.mortal != mortal || (end-s.end).Abs() > same {
				s = &stored{master: look.Master, key: key, token: id.token, end: end, mortal: mortal, since: look.Time, ops: []int{look.Index}}
				all[id] = s
				if r.InWindow(look.Time) {
					tokens++
				}
				waiting[look.Master] = append(waiting[look.Master], s)
			}
			if over[id] == s {
				continue // the overrun is proven
			}
			s.seen = asked
			if s.seen <= s.since+allowed {
				continue
			}
			if over[id] == nil {
				over[id] = s
				if r.InWindow(look.Time) {
					order = append(order, id)
				}
				s.ops = append(s.ops[:1], look.Index)
			}
		}
	}
	if withExpiries == 0 || ttl <= 0 {
		return nil
	}
	var found []proven
	for _, id := range order {
		s := over[id]
		found = append(found, proven{narrative.Violation{Key: s.key, At: s.since + ttl, Until: s.seen, Ops: s.ops, Tokens: []string{s.token}}, func(n *narrative.Narrative) { r.explainOverlong(n, s) }})
	}
	return &judgement{
		tally: tally{checked: tokens}, violations: found, late: true, needsSlack: true,
		evidence: r.need("stored tokens whose master was asked again after their TTL", caught, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("%s outlived the TTL of %s on a master: the first on %s", narrative.Share(t.found, t.checked, "stored tokens"), narrative.At(ttl), first.Key)
		},
		holds: func(tally) string {
			return fmt.Sprintf("in %s of the masters' keys no token was older than its TTL", plural.Count(snapshots, "snapshot", "snapshots"))
		},
	}
}

// explainOverlong explains that a master stored a key for longer than its TTL: what its
// snapshots listed, and how its clock was changed.
func (r *run) explainOverlong(n *narrative.Narrative, s *stored) {
	v := n.Violation
	ttl := r.History.Header.TTL
	v.Summary = fmt.Sprintf("%s still stored a token of %s at %s, at least %s after it was last set or extended there: the TTL is %s",
		s.master, s.key, narrative.At(s.seen), narrative.At(s.seen-s.since), narrative.At(ttl))
	first, last := r.History.Op(s.ops[0]), r.History.Op(s.ops[1])
	when := "without an expiry"
	if s.mortal {
		when = "to expire at " + narrative.At(s.end) + " by the master's own clock"
		if first.Value.Offset != nil {
			when = fmt.Sprintf("to expire %s later by the master's own clock", narrative.At(s.end-first.Time-*first.Value.Offset))
		}
	}
	n.Add(narrative.Event{At: first.Time, Kind: narrative.EventSnapshot, Masters: []string{s.master}, Key: s.key, Token: s.token, Until: s.end, Word: "stored", Ops: s.ops[:1],
		Text: fmt.Sprintf("%s stored the key of %s, %s", s.master, s.key, when)})
	n.Add(narrative.Event{At: last.Time, Kind: narrative.EventSnapshot, Masters: []string{s.master}, Key: s.key, Token: s.token, Until: s.end, Word: "stored", Ops: s.ops[1:2],
		Text: fmt.Sprintf("%s still stored it, with the same expiry: nobody had set or extended it since", s.master)})
	explained := !s.mortal
	for _, f := range r.Faults {
		if fault.Of(f.Name).Clock == fault.MasterClock && f.Installed && slices.Contains(f.Masters, s.master) && f.Began <= s.seen {
			explained = true
			n.Fault(f, false, []string{s.master})
		}
	}
	if !explained {
		n.Unexplained(narrative.Event{At: s.seen, Masters: []string{s.master}, Text: fmt.Sprintf("no recorded fault of %s's clock explains it", s.master)})
	}
	n.Violated(fmt.Sprintf("at %s %s had stored the token for at least %s, longer than the TTL of %s", narrative.At(s.seen), s.master, narrative.At(s.seen-s.since), narrative.At(ttl)))
}
