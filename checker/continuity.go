package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// revival is an extension granted by masters that had not stored the token without a break since
// the grant before it.
type revival struct {
	lease         *history.Lease
	before, grant history.Grant
	whole         []string                     // masters that may have stored the key all the time
	taken         map[string]history.Vote      // by master: its later vote for another token
	lapsed        map[string]history.Vote      // by master whose key had expired: its last vote before that
	missed        map[string]*history.Snapshot // by master: the snapshot that did not list the key
}

var Continuity = Property{
	Name: "continuity", Level: "EXT", Says: "an extension revives no key that was gone", Helps: ExtendLeases, Votes: true, Needs: Extensions,
	rules: &rules{judge: (*run).continuity, gaps: []gap{cannotExtend, noExtension, noExtensionByVotes}, exempt: []exemption{extensionVotesUnknown}},
}

// continuity judges EXT: the lease that an extension prolongs has never been lost. A master that
// said yes to the extension has created the key anew if, since the grant before, it said yes to
// the SET of another token, or said yes to no command for longer than the TTL. If the other
// masters are not a quorum, the extension has revived a lost lease.
func (r *run) continuity() *judgement {
	q, ttl := r.Quorum(), r.History.Header.TTL
	if q == 0 || ttl <= 0 {
		return nil
	}
	var judged []time.Duration
	var found []proven
	for _, l := range r.Leases {
		for i, g := range l.Grants[1:] {
			asked, ok := r.CalledAt(g.Index)
			if g.Skewed || !ok || !r.InWindow(g.At) {
				continue
			}
			voted, x := r.unbroken(l, l.Grants[i], g, asked, ttl)
			if voted < q {
				continue // the property extension judges this
			}
			judged = append(judged, g.At)
			if len(x.whole) < q {
				found = append(found, proven{onLeases(g.At, g.At, []int{x.before.Index, g.Index}, l), func(n *narrative.Narrative) { r.explainRevival(n, x) }})
			}
		}
	}
	if len(judged) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.needs("extensions with recorded votes", judged, minExtensions, minExtensionsUnderFaults, MoreExtensions),
		violated: firstOf("extensions", "revived a key that had been gone"),
		holds:    allOf("none of %s revived a key that had been gone", "extension", "extensions"),
	}
}

// unbroken finds the masters that may have said yes to an extension and may have stored the
// token all the time since the grant before it.
func (r *run) unbroken(l *history.Lease, before, g history.Grant, asked, ttl time.Duration) (voted int, x revival) {
	x = revival{lease: l, before: before, grant: g, taken: map[string]history.Vote{}, lapsed: map[string]history.Vote{}, missed: map[string]*history.Snapshot{}}
	t := r.CommandLogs()
	for _, m := range r.Masters() {
		p := facts.Place{Master: m, Key: l.Key}
		mine := t.ByID(facts.LogID{Place: p, Party: facts.Party{Client: l.Process, Token: l.Token}})
		if mine == nil {
			continue
		}
		var yes, earlier *history.Vote
		unknown := false
		for _, vs := range []facts.Votes{mine.Sets, mine.Extensions} {
			for v := range vs.All() {
				switch now := v.Command == history.CommandExtend && v.At >= asked && facts.Sent(v) <= g.At+r.Slack; {
				case !v.Yes:
					unknown = unknown || !v.Refused() && (now || v.At <= g.At)
				case now && yes == nil:
					yes = &v
				case facts.Sent(v) < asked && (earlier == nil || v.At > earlier.At):
					earlier = &v
				}
			}
		}
		if unknown {
			voted++
			x.whole = append(x.whole, m)
			continue
		}
		if yes == nil {
			continue
		}
		voted++
		if earlier == nil || r.StalledIn(earlier.At, yes.At) {
			x.whole = append(x.whole, m)
			continue
		}
		u := lastOther(t.Granted[p], mine.Party, facts.Sent(*yes)-r.Slack)
		missed := t.SnapshotWithout(p, l.Token, earlier.At, facts.Sent(*yes)-r.Slack)
		switch { // a restart may restore a key that was gone before it
		case u != nil && facts.Sent(*u) > earlier.At && !r.EndedAfter(m, facts.Sent(*u)-r.Slack, yes.At):
			x.taken[m] = *u
		case missed != nil && !r.EndedAfter(m, missed.Began(), yes.At):
			x.missed[m] = missed
		case r.RestartedIn(m, facts.Sent(*earlier), yes.At):
			x.whole = append(x.whole, m)
		case facts.Sent(*yes) > earlier.At+ttl+ttl/50+r.Slack && !r.DisturbedIn(m, facts.Sent(*earlier), yes.At):
			x.lapsed[m] = *earlier
		default:
			x.whole = append(x.whole, m)
		}
	}
	return voted, x
}

// explainRevival explains that an extension revived a key that had been gone.
func (r *run) explainRevival(n *narrative.Narrative, x revival) {
	v := n.Violation
	l := x.lease
	v.Summary = fmt.Sprintf("%s's lease on %s was extended at %s though its key was gone from a quorum's masters meanwhile", l.Process, v.Key, narrative.At(v.At))
	n.Extension(l, x.before, x.grant)
	var gone []string
	narrative.EachLoss(r.Masters(), func(m string) narrative.Loss {
		if u, ok := x.taken[m]; ok {
			gone = append(gone, m)
			return narrative.Loss{Name: "taken by " + u.Token, Explain: func(ms []string) {
				n.LostBy(ms, l, narrative.Event{At: u.At, Cause: narrative.CauseTaken, Word: "taken", Ops: []int{u.Index}},
					fmt.Sprintf("set the key for %s: that of %s was gone", narrative.Again(u.Client, l.Process), l.Process))
			}}
		}
		if snapshot := x.missed[m]; snapshot != nil {
			gone = append(gone, m)
			return narrative.Loss{Name: "missed at " + narrative.At(snapshot.Time), Explain: func(ms []string) {
				n.LostBy(ms, l, narrative.Event{At: snapshot.Time, Cause: narrative.CauseSeen, Word: "gone", Ops: []int{snapshot.Index}}, fmt.Sprintf("did not store the key of %s", l.Process))
			}}
		}
		if u, ok := x.lapsed[m]; ok {
			gone = append(gone, m)
			end := u.At + r.Lifetime(u)
			return narrative.Loss{Name: "lapsed at " + narrative.At(end), Explain: func(ms []string) {
				n.LostBy(ms, l, narrative.Event{At: end, Cause: narrative.CauseExpired, Word: "expired", Text: fmt.Sprintf("the key of %s expired on %s", l.Process, fault.Enumerate(ms))}, "")
			}}
		}
		return narrative.Loss{}
	})
	n.Violated(fmt.Sprintf("the extension created the key of %s anew on %s", l.Process, fault.Enumerate(gone)))
}
