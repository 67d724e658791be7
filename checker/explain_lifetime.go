package checker

import (
	"fmt"
	"slices"

	"lockpick/history/fault"
)

// explainOverlong explains that a master stored a key for longer than its TTL: what its
// snapshots listed, and how its clock was changed.
func (r *run) explainOverlong(v *Violation, s *stored) {
	ttl := r.h.Header.TTL
	v.Summary = fmt.Sprintf("%s still stored a token of %s at %s, at least %s after it was last set or extended there: the TTL is %s",
		s.master, s.key, at(s.seen), at(s.seen-s.since), at(ttl))
	n := r.narrate(v)
	first, last := r.h.Op(s.ops[0]), r.h.Op(s.ops[1])
	when := "without an expiry"
	if s.mortal {
		when = "to expire at " + at(s.end) + " by the master's own clock"
		if first.Value.Offset != nil {
			when = fmt.Sprintf("to expire %s later by the master's own clock", at(s.end-first.Time-*first.Value.Offset))
		}
	}
	n.add(Event{At: first.Time, Kind: EventSnapshot, Masters: []string{s.master}, Key: s.key, Token: s.token, Until: s.end, Word: "stored", Ops: s.ops[:1],
		Text: fmt.Sprintf("%s stored the key of %s, %s", s.master, s.key, when)})
	n.add(Event{At: last.Time, Kind: EventSnapshot, Masters: []string{s.master}, Key: s.key, Token: s.token, Until: s.end, Word: "stored", Ops: s.ops[1:2],
		Text: fmt.Sprintf("%s still stored it, with the same expiry: nobody had set or extended it since", s.master)})
	explained := !s.mortal
	for _, f := range r.faults {
		if fault.Of(f.Name).Clock == fault.MasterClock && f.Installed && slices.Contains(f.Masters, s.master) && f.Began <= s.seen {
			explained = true
			n.fault(f, false, []string{s.master})
		}
	}
	if !explained {
		n.unexplained(Event{At: s.seen, Masters: []string{s.master}, Text: fmt.Sprintf("no recorded fault of %s's clock explains it", s.master)})
	}
	n.violated(fmt.Sprintf("at %s %s had stored the token for at least %s, longer than the TTL of %s", at(s.seen), s.master, at(s.seen-s.since), at(ttl)))
}
