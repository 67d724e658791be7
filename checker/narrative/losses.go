package narrative

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// within reports whether a release may have been executed after the master's yes to a lease and
// before its yes to the next.
func within(v, yes, next history.Vote) bool {
	return v.Index != yes.Index && v.At >= facts.Sent(yes) && facts.Sent(v) <= next.At
}

// mayDelete reports whether a release may have deleted the key of a vote: it released the same
// lock, or another lock whose Redis key is the same.
func mayDelete(v, yes history.Vote) bool { return v.Key == yes.Key || v.Stored == yes.Stored }

// lastRelease returns the last release that a master executed between its yes to a lease and its
// yes to the next, and for which is returns true.
func (n *Narrative) lastRelease(m string, yes, next history.Vote, is func(*history.Vote) bool) (last history.Vote, found bool) {
	for v := range n.r.Replies(history.CommandRelease, m).InFlight(yes.At, next.At) {
		if v.Yes && within(v, yes, next) && is(&v) {
			last, found = v, true
		}
	}
	return last, found
}

// by returns the latest time at which a master that said yes to a lease and then to next can have
// lost the lease's key. It dates a loss whose time no event shows.
func (n *Narrative) by(yes, next history.Vote) time.Duration {
	executed, _ := n.r.ExecutedBy(yes)
	return max(executed, facts.Sent(next))
}

// releasedOwn looks for a release of the lease's own token that the master executed, including
// one that was sent earlier, for an earlier attempt with the same token.
func (n *Narrative) releasedOwn(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool { return mayDelete(*v, yes) && v.Token == a.Token })
	if !found {
		return Loss{}, false
	}
	return n.byRelease(v, a, yes, next, CauseReleased), true
}

// deleted looks for a release of another token, which should not have touched the key. Where others may hold the key, too, the release
// may have given back no more than what was its own.
func (n *Narrative) deleted(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	if !n.holdsAlone(a, yes.At) {
		return Loss{}, false
	}
	inner := n.r.Lock.Kind == history.Reentrant // of the same client
	v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool {
		return mayDelete(*v, yes) && v.Token != a.Token && !(inner && v.Client == a.Process) && !n.mayFollowRestart(m, *v) // what a restart forgot, it did not delete
	})
	if !found {
		return Loss{}, false
	}
	return n.byRelease(v, a, yes, next, CauseDeleted), true
}

// holdsAlone reports whether nobody else may hold a lease's key.
func (n *Narrative) holdsAlone(a *history.Lease, at time.Duration) bool {
	h := &n.r.History.Header
	return h.Weight(a.ModeAt(at), a.Permits) == h.Capacity()
}

// releasesOf returns the releases of a token on a master that may have deleted the key of a vote.
func (n *Narrative) releasesOf(token, m string, yes history.Vote) []history.Vote {
	var found []history.Vote
	vs := n.r.VoteIndex().ByToken(token)
	for i := range vs.IDs {
		if k := vs.Kind(i); k.Command == history.CommandRelease && k.Master == m && (k.Key == yes.Key || k.Stored == yes.Stored) {
			found = append(found, vs.At(i))
		}
	}
	return found
}

// unanswered looks for a release of the lease's own token that got no answer: the master may have
// executed it at any later time.
func (n *Narrative) unanswered(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	for _, v := range slices.Backward(n.releasesOf(a.Token, m, yes)) {
		if v.Unknown && facts.Sent(v) <= next.At {
			return n.byRelease(v, a, yes, next, CauseUnanswered), true
		}
	}
	return Loss{}, false
}

// byRelease returns the cause that a release deleted a key, or may have deleted it.
func (n *Narrative) byRelease(v history.Vote, a *history.Lease, yes, next history.Vote, why string) Loss {
	delayed := facts.Sent(v) < yes.At
	return Loss{Name: fmt.Sprint(why, " ", v.Token, " ", v.Key, " ", facts.Sent(v).Round(time.Millisecond)), Explain: func(ms []string) {
		if x := n.r.RequestOf(v); x != nil {
			n.Request(x, !delayed && why != CauseUnanswered)
		}
		e := Event{Cause: why, Ops: []int{v.Index}, Word: "deleted"}
		e.At, _ = n.r.ExecutedBy(v)
		if e.At > next.At || why == CauseUnanswered { // the master executed it before next
			e.At, e.Ops = n.by(yes, next), nil
		}
		whose, details := fmt.Sprintf("a release of %s's own token", a.Process), ""
		switch {
		case (why == CauseReleased || why == CauseUnanswered) && v.Client != "" && v.Client != a.Process:
			whose += " by " + v.Client
			details = ", which had the same token"
		case why == CauseReleased || why == CauseUnanswered:
		case v.Key != a.Key:
			whose = fmt.Sprintf("a release of %s by %s", v.Key, v.Client)
			details = ", whose key on the masters is the same"
		default:
			whose = "a release of another token by " + v.Client
		}
		if delayed {
			details += fmt.Sprintf(", which had been sent at %s, before %s said yes to this lease's SET", At(facts.Sent(v)), theyOrIt(ms))
		}
		if details != "" {
			details += ","
		}
		says := fmt.Sprintf("executed %s%s and deleted the key", whose, details)
		if why == CauseUnanswered {
			says = fmt.Sprintf("may have executed %s late and deleted the key: it was sent at %s and never answered", whose, At(facts.Sent(v)))
		} else if e.Ops != nil {
			for _, m := range ms {
				for _, y := range n.releasesOf(v.Token, m, yes) {
					if y.Key == v.Key && y.Yes && (facts.Sent(y)-facts.Sent(v)).Abs() <= facts.RequestSpread && !slices.Contains(e.Ops, y.Index) {
						e.Ops = append(e.Ops, y.Index)
					}
				}
			}
		}
		n.LostBy(ms, a, e, says)
	}}
}

// alsoReleased names the last release of another key that the master executed in between.
func (n *Narrative) alsoReleased(m string, a *history.Lease, yes, next history.Vote) string {
	if v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool { return v.Key != a.Key }); found {
		return fmt.Sprintf("meanwhile %s executed a release of %s by %s", m, v.Key, v.Client)
	}
	return ""
}

func (n *Narrative) expired(_ string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	ttl := n.r.Lifetime(yes)
	if ttl <= 0 || facts.Sent(next) < yes.At+ttl {
		return Loss{}, false
	}
	return n.byExpiry(a, yes, next, ttl, CauseExpired), true
}

func (n *Narrative) mayHaveExpired(_ string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	ttl := n.r.Lifetime(yes)
	if ttl <= 0 || next.At < facts.Sent(yes)+ttl {
		return Loss{}, false
	}
	return n.byExpiry(a, yes, next, ttl, CauseMayExpired), true
}

func (n *Narrative) byExpiry(a *history.Lease, yes, next history.Vote, ttl time.Duration, why string) Loss {
	return Loss{Name: why + yes.Token, Explain: func(ms []string) {
		how := "expired"
		if why == CauseMayExpired {
			how = "may have expired"
		}
		end := min(yes.At+ttl, max(facts.Sent(next), facts.Sent(yes)+ttl))
		n.LostBy(ms, a, Event{At: end, Cause: why, Word: "expired", Text: fmt.Sprintf("the key of %s %s on %s: the last yes to it came by %s, and its TTL was %s",
			a.Process, how, fault.Enumerate(ms), At(yes.At), At(ttl))}, "")
	}}
}

// restarted looks for a restart of the master before next after which no record shows that it
// still stored the key.
func (n *Narrative) restarted(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	executed, _ := n.r.ExecutedBy(next)
	return n.restartedBetween(m, a, facts.Sent(yes), executed)
}

// restartedMeanwhile looks for a restart after next was sent and before it was answered.
func (n *Narrative) restartedMeanwhile(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	if !n.mayFollowRestart(m, next) {
		return Loss{}, false
	}
	return n.restartedBetween(m, a, facts.Sent(yes), next.At)
}

// mayFollowRestart reports whether a master that was down while a request was in flight was up again before its answer.
// The request may have reached the master only then: a link held it, or the client had to reconnect.
func (n *Narrative) mayFollowRestart(m string, v history.Vote) bool {
	executed, _ := n.r.ExecutedBy(v)
	return slices.ContainsFunc(n.r.StatesOf(m, executed, v.At), func(s facts.State) bool { return s.Status == "up" })
}

// disturbed looks for faults of a master's clock or memory, which can expire or evict a key
// without a restart.
func (n *Narrative) disturbed(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	from, to := facts.Sent(yes), next.At
	for _, f := range slices.Backward(n.r.FaultsWithin(from, to)) {
		if !f.Installed || !slices.Contains(f.Masters, m) || f.Began >= to || f.To <= from {
			continue
		}
		kind := fault.Of(f.Name)
		clock := kind.Clock == fault.MasterClock
		if !clock && !kind.Evicts {
			continue
		}
		return Loss{Name: fmt.Sprintf("fault %d", f.ID), Explain: func(ms []string) {
			n.Fault(f, false, ms)
			e := Event{At: max(f.From, n.by(yes, next)), Cause: CauseMemory, Fault: f.ID}
			says := fmt.Sprintf("no longer stored the key of %s: a full master may evict a key", a.Process)
			if clock {
				e.Cause, says = CauseClock, fmt.Sprintf("no longer stored the key of %s: by the master's clock, its TTL was over", a.Process)
				switch jump := f.Params["clock"]; {
				case strings.HasPrefix(jump, "+") && f.From > from:
					e.At, e.Ops = f.From, []int{f.Index}
				case strings.HasPrefix(jump, "-") && f.Healed && f.To < to:
					e.At, e.Ops = f.To, []int{f.HealIndex} // the clock was set forward to the right time
				}
			}
			n.LostBy(ms, a, e, says)
		}}, true
	}
	return Loss{}, false
}

// shortened looks for an extension by another client that changed the key's expiry: a wrong lock
// may extend a key without comparing its token first.
func (n *Narrative) shortened(m string, a *history.Lease, yes, next history.Vote) (Loss, bool) {
	var by history.Vote
	for v := range n.r.Replies(history.CommandExtend, m).InFlight(yes.At, next.At) {
		if v.Yes && v.Token != a.Token && v.Token != next.Token && within(v, yes, next) && mayDelete(v, yes) && !n.mayFollowRestart(m, v) {
			by = v
		}
	}
	if by.Master == "" {
		return Loss{}, false
	}
	end := by.At + n.r.Lifetime(by)
	if next.At < facts.Sent(by)+n.r.Lifetime(by) {
		return Loss{}, false
	}
	return Loss{Name: "shortened by " + by.Token, Explain: func(ms []string) {
		n.LostBy(ms, a, Event{At: min(end, max(facts.Sent(next), yes.At)), Cause: CauseExpired, Word: "expired", Text: n.shortenedText(ms, a, by)}, "")
	}}, true
}

func (n *Narrative) shortenedText(ms []string, a *history.Lease, by history.Vote) string {
	return fmt.Sprintf("the key of %s expired on %s: by %s %s had extended it for %s, although it was not its own",
		a.Process, fault.Enumerate(ms), At(by.At), Again(by.Client, a.Process), At(n.r.Lifetime(by).Round(time.Millisecond)))
}

func (n *Narrative) restartedBetween(m string, a *history.Lease, from, to time.Duration) (Loss, bool) {
	back := func(after time.Duration) (facts.State, bool) {
		for _, s := range n.r.StatesOf(m, after, to) {
			if s.Status == "up" {
				return s, true
			}
		}
		return facts.State{}, false
	}
	survived := func(s facts.State, seen bool) bool {
		return seen && s.Keys != nil && a.Token != "" && s.Keys[a.Key] == a.Token
	}
	what := "key"
	if a.Token == "" {
		what = "counter"
	}
	// gone adds that masters no longer stored the key when they were up again.
	gone := func(ms []string, after time.Duration) {
		for _, m := range ms {
			for _, s := range n.r.StatesOf(m, after, to) {
				if s.Status == "up" {
					n.up(m, s, false)
					ms = slices.DeleteFunc(slices.Clone(ms), func(x string) bool { return x == m })
					break
				}
			}
		}
		if len(ms) > 0 {
			n.LostBy(ms, a, Event{At: to, Cause: CauseRestart}, fmt.Sprintf("had come back without the %s of %s", what, a.Key))
		}
	}
	for _, f := range slices.Backward(n.r.FaultsWithin(from, to)) {
		if !fault.Of(f.Name).EndsMaster() || !f.Installed || !slices.Contains(f.Masters, m) {
			continue
		}
		struck, _ := n.r.StruckAt(f, m)
		if struck <= from || struck >= to {
			continue
		}
		up, seen := back(struck)
		if survived(up, seen) {
			continue
		}
		return Loss{Name: fmt.Sprintf("fault %d", f.ID), Explain: func(ms []string) {
			n.Fault(f, false, ms)
			gone(ms, struck)
		}}, true
	}
	for _, s := range slices.Backward(n.r.StatesOf(m, from, to)) {
		if s.Status != "down" {
			continue
		}
		up, seen := back(s.At)
		if !seen || survived(up, seen) {
			continue
		}
		return Loss{Name: "down " + At(s.At), Explain: func(ms []string) {
			n.Add(Event{At: s.At, Kind: EventDown, Masters: ms, Word: "down", Ops: []int{s.Line},
				Text: fmt.Sprintf("%s went down, %s, which no recorded fault explains", fault.Enumerate(ms), fault.Persistence(n.r.History.Header.Persistence))})
			gone(ms, s.At)
		}}, true
	}
	return Loss{}, false
}

// CountersLost adds the restarts, between two grants, of masters that had voted for the earlier
// lease, since a restart may lose the counter. It reports whether there were any.
func (n *Narrative) CountersLost(a, b *history.Lease) bool {
	found := false
	counter := &history.Lease{Key: a.Key, Process: a.Process}
	EachLoss(n.r.Voters(a), func(m string) Loss {
		c, ok := n.restartedBetween(m, counter, a.Invoked, b.Acquired())
		found = found || ok
		return c
	})
	return found
}
