package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// orphan is a key that a master still stored although its owner no longer needed it.
type orphan struct {
	commandLog facts.CommandLog
	snapshot   *history.Snapshot
	over       time.Duration // when the owner no longer needed it
	kind       string        // unsent, undone, failed, unheard or late; see orphaned
	lease      bool          // its lease had been granted
}

// orphanMoment returns how long a key may still be stored once its owner no longer needs it.
func (r *run) orphanMoment() time.Duration {
	ttl := r.History.Header.TTL
	return max(ttl/4, min(500*time.Millisecond, ttl/2))
}

var OrphanKeys = Property{
	Name: "orphan-keys", Level: "AV", Says: "masters do not go on storing a key that its owner no longer needs", Votes: true,
	rules: &rules{judge: (*run).orphanKeys, gaps: []gap{nobodyLooked, {nil, "no attempt was over"}}},
}

var GhostKeys = Property{
	Name: "ghost-keys", Level: "AV", Says: "no master stores a key because it executed the SET after the release", Votes: true, OnlyNamed: true, NotOfLock: true,
	rules: &rules{judge: (*run).ghostKeys, gaps: []gap{nobodyLooked, {nil, "no attempt was over"}}},
}

// ghostKeys judges the same for keys whose SET was never answered and that a master set after the
// release: if the network delivers late, a client cannot prevent that, so the property is judged
// only if the scenario names it.
func (r *run) ghostKeys() *judgement {
	return r.orphans(true)
}

// orphanKeys judges one part of AV: once a lease is released, or an attempt has failed or
// was cancelled, no master stores its key for longer than orphanMoment: the key makes others wait.
//
// A snapshot shows that a master still stores the token. It counts against the lock only if the
// lock never sent this master a release, although it could; or if the master answered the SET and then the
// release, and still stores the key; or if the release got no answer although no known fault was on
// the master or the link to it. Clients that crashed or stood still, and masters that restarted
// with old keys, are excused.
func (r *run) orphanKeys() *judgement { return r.orphans(false) }

func (r *run) orphans(ghosts bool) *judgement {
	t := r.CommandLogs()
	if len(t.Snapshots) == 0 {
		return nil
	}
	ends := r.endOfNeed()
	judged := 0
	var asked []time.Duration // times of the snapshots that would have shown a key
	var all []orphan
	for x := range t.All() {
		if !x.Sets.AnyYes() && x.Sets.AllAnswered() {
			continue // the master never set the key
		}
		over, lease, ok := ends(x)
		if !ok || !r.InWindow(over) {
			continue
		}
		judged++
		if when, was := t.SnapshotAfter(x.Master, over, over+r.History.Header.TTL); was {
			asked = append(asked, when)
		}
		for _, snapshot := range t.SnapshotsListing(x) {
			if snapshot.Began() <= over {
				continue
			}
			kind := r.orphaned(x, snapshot, over)
			if kind == "" || (kind == "late") != ghosts {
				continue
			}
			all = append(all, orphan{*x, snapshot, over, kind, lease})
			break
		}
	}
	if judged == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b orphan) int { return cmp.Compare(a.snapshot.Index, b.snapshot.Index) })
	var found []proven
	for _, o := range all {
		found = append(found, proven{narrative.Violation{Key: o.commandLog.Key, At: o.over, Until: max(o.over, o.snapshot.Began()),
			Ops: []int{o.commandLog.Sets.At(0).Index, o.snapshot.Index}, Tokens: []string{o.commandLog.Party.Token}, Clients: []string{o.commandLog.Party.Client}}, func(n *narrative.Narrative) { r.explainOrphan(n, o) }})
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, late: true, needsSlack: true,
		evidence: r.need("released keys whose master was asked within a TTL", asked, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("%s remained on a master although their owners no longer needed them: the first from %s on %s", narrative.Share(t.found, t.checked, "keys"), narrative.At(first.At), first.Key)
		},
		holds: allOf("none of %s remained on a master", "released key", "released keys"),
	}
}

// endOfNeed returns a function that finds when the owner of a command log no longer needed its
// token. ok is false if the owner always needed it or the time is unknown.
func (r *run) endOfNeed() func(*facts.CommandLog) (over time.Duration, lease, ok bool) {
	released := map[facts.Party]time.Duration{}
	granted := map[facts.Party]bool{}
	for _, l := range r.Leases {
		granted[facts.Party{Client: l.Process, Token: l.Token}] = true
	}
	for _, op := range r.History.All() {
		if op.F == history.FRelease && op.Type != history.Invoke && op.Value != nil {
			released[facts.Party{Client: op.Process, Token: op.Value.Token}] = op.Time
		}
	}
	type asker struct{ client, key string }
	h := r.History
	sets := map[asker][]int32{} // the SETs, in the order in which they were sent
	for i := range h.Len() {
		id := h.InOrder(i)
		if k := h.Kind(id); k.Command == history.CommandSet {
			party := asker{k.Client, k.Key}
			sets[party] = append(sets[party], id)
		}
	}
	for _, ids := range sets {
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(h.Sent(a), h.Sent(b)), cmp.Compare(a, b)) })
	}
	return func(x *facts.CommandLog) (time.Duration, bool, bool) {
		if r.CommandLogs().SharesToken(x) { // several clients may use one weak token
			return 0, false, false
		}
		if granted[x.Party] {
			over, ok := released[x.Party]
			return over, true, ok
		}
		first := facts.Sent(x.Sets.At(0))
		mine, i := r.AcquiresOf(x.Party.Client, x.Key, first)
		if i < 0 || mine[i].Open || mine[i].Key != x.Key || mine[i].Ended < first {
			return 0, false, false // its acquire never returned or was not recorded
		}
		over := mine[i].Ended
		all := sets[asker{x.Party.Client, x.Key}]
		at, _ := slices.BinarySearchFunc(all, first, func(id int32, at time.Duration) int { return cmp.Compare(h.Sent(id), at) })
		token := h.FindToken(x.Party.Token)
		for _, id := range all[at:] { // find the client's next attempt
			if h.TokenNumber(id) != token {
				over = min(over, h.Sent(id))
				break
			}
		}
		return over, false, true
	}
}

var Released = Property{
	Name: "released", Level: "AV", Says: "a release that succeeds has freed a quorum of masters", Title: "releases take effect", Votes: true,
	rules: &rules{judge: (*run).released, gaps: []gap{nobodyLooked, {nil, "no release of a valid lease succeeded"}}},
}

// released judges one part of AV: when a release returns ok, so few masters still store the lease that others can have a
// quorum. A lock that swallows errors reports a key as free that nobody can acquire for a TTL.
func (r *run) released() *judgement {
	t := r.CommandLogs()
	if len(t.Snapshots) == 0 {
		return nil
	}
	deny := 1 // so many masters that still store a lease leave no quorum to others
	if r.Quorum() > 1 {
		deny = max(1, r.History.Header.Masters-r.Quorum()+1)
	}
	var judged []time.Duration
	var found []proven
	for i, op := range r.History.All() {
		if op.F != history.FRelease || op.Type != history.OK || op.Value == nil || !r.InWindow(op.Time) {
			continue
		}
		l := r.LeaseAt(i)
		called, ok := r.CalledAt(op.Index)
		if l == nil || !ok || called != l.Released || called >= l.Until() {
			continue
		}
		looked := false
		v := narrative.Violation{Key: l.Key, At: op.Time, Ops: []int{op.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}}
		var stored []*history.Snapshot
		for _, m := range r.Masters() {
			x := t.ByID(facts.LogID{Place: facts.Place{Master: m, Key: l.Key}, Party: facts.Party{Client: l.Process, Token: l.Token}})
			if x == nil || x.Sets.Len() == 0 {
				continue
			}
			_, was := t.SnapshotAfter(m, op.Time, op.Time+r.History.Header.TTL)
			looked = looked || was
			if s := r.unreleased(x, called, op.Time); s != nil {
				stored = append(stored, s)
			}
		}
		if looked {
			judged = append(judged, op.Time)
		}
		if len(stored) < deny {
			continue
		}
		slices.SortStableFunc(stored, func(a, b *history.Snapshot) int { return cmp.Compare(a.Began(), b.Began()) })
		v.Until = stored[deny-1].Began()
		stored = slices.DeleteFunc(stored, func(s *history.Snapshot) bool { return s.Began() > v.Until })
		for _, s := range stored {
			v.Ops = append(v.Ops, s.Index)
		}
		found = append(found, proven{v, func(n *narrative.Narrative) { r.explainReleased(n, stored) }})
	}
	if len(judged) == 0 && len(found) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: max(len(judged), len(found))}, violations: found, late: true, needsSlack: true,
		evidence: r.need("releases whose masters were asked within a TTL", judged, MoreWork),
		violated: firstOf("releases", "succeeded and left no quorum of masters to others"),
		holds:    allOf("none of %s left fewer than a quorum of masters to others", "release", "releases"),
	}
}

// unreleased returns a snapshot that proves that a master had not confirmed a release by the time of its return: the master
// said yes to the SET, answered no release, and still stores the token. It returns nil if there is none.
func (r *run) unreleased(x *facts.CommandLog, called, returned time.Duration) *history.Snapshot {
	t := r.CommandLogs()
	again := func(v *history.Vote) bool { return facts.Sent(*v) >= called }
	confirmed := func(v *history.Vote) bool { return !v.Unknown && v.Error == "" && v.At <= returned+r.Slack }
	if !x.Sets.AnyYes() || t.SharesToken(x) || x.Sets.Any(again) || x.Extensions.Any(again) || x.Releases.Any(confirmed) {
		return nil
	}
	for _, s := range t.SnapshotsListing(x) {
		if s.Began() > returned+r.Slack && !r.RestartedIn(x.Master, called, s.Time) {
			return s
		}
	}
	return nil
}

// explainReleased explains that a release returned ok although too many masters still stored its key.
func (r *run) explainReleased(n *narrative.Narrative, stored []*history.Snapshot) {
	v := n.Violation
	client, token := v.Clients[0], v.Tokens[0]
	var masters []string
	for _, s := range stored {
		masters = append(masters, s.Master)
	}
	for _, a := range r.Requests(v.Key, facts.Party{Client: client, Token: token}) {
		if a.Sent <= v.Until {
			n.Request(a, false)
		}
	}
	n.AddAt(narrative.AfterLines, narrative.Event{At: v.At, Kind: narrative.EventOver, Client: client, Key: v.Key, Token: token, Word: "over", Text: fmt.Sprintf("the release of %s succeeded", client)})
	for _, s := range stored {
		n.Add(narrative.Event{At: s.Time, Kind: narrative.EventSnapshot, Masters: []string{s.Master}, Client: client, Key: v.Key, Token: token, Word: "stored", Ops: []int{s.Index},
			Text: fmt.Sprintf("%s stored the token of %s", s.Master, client)})
	}
	v.Summary = fmt.Sprintf("the release of %s on %s succeeded at %s, and %s still stored its key", client, v.Key, narrative.At(v.At), fault.Enumerate(masters))
	n.Violated(fmt.Sprintf("%s had answered no release and still stored the key, so that no quorum was left to others", fault.Enumerate(masters)))
}

// orphaned returns why the lock is to blame for a key in a snapshot, or "" if it is not. "unsent":
// the lock never sent a release. "undone": the master answered the release but still stores the
// key. "late": the master set the key after it answered the release. "failed": the master answered the
// release with an error. "unheard": the master did not answer it.
func (r *run) orphaned(x *facts.CommandLog, snapshot *history.Snapshot, over time.Duration) string {
	began := facts.Sent(x.Sets.At(0)) - r.Slack
	seen := snapshot.Began()
	if r.CrashedIn(x.Party.Client, began, snapshot.Time) || r.PausedIn(x.Party.Client, began, snapshot.Time) || r.RestartedIn(x.Master, began, snapshot.Time) {
		return ""
	}
	late := seen > over+r.orphanMoment()
	heard, failed := facts.Votes{History: r.History}, facts.Votes{History: r.History} // releases that were answered, and those that were answered with an error
	for i, id := range x.Releases.IDs {
		switch k := x.Releases.Kind(i); {
		case k.Unknown:
		case k.Error != "":
			failed.IDs = append(failed.IDs, id)
		default:
			heard.IDs = append(heard.IDs, id)
		}
	}
	clean := x.Sets.AllAnswered() && x.Extensions.AllAnswered()
	again := func(since time.Duration) bool { // the lock set or extended the token again
		later := func(v *history.Vote) bool { return facts.Sent(*v) > since }
		return x.Sets.Any(later) || x.Extensions.Any(later)
	}
	if again(over) || heard.Len() > 0 && again(heard.LastAnswer()) {
		return ""
	}
	switch {
	case x.Releases.Len() == 0:
		// A lock that reports its votes itself reports each release. The masters' account has only those that were sent,
		// and nothing is sent over a link that is cut.
		reportsVotes := x.Sets.Kind(0).Form == ""
		if late && !r.StalledIn(over, snapshot.Time) && (reportsVotes || r.Reachable(x.Party.Client, x.Master, began, snapshot.Time)) {
			return "unsent"
		}
	case heard.Len() > 0 && seen > heard.LastAnswer():
		if clean {
			return "undone"
		}
		return "late"
	case heard.Len() == 0 && failed.Len() > 0:
		if late && clean && failed.LastAnswer() < seen && !r.StalledIn(began, snapshot.Time) && r.Reachable(x.Party.Client, x.Master, began, snapshot.Time) {
			return "failed"
		}
	case heard.Len() == 0 && late && clean && x.Releases.LastAnswer() < seen && !r.StalledIn(began, snapshot.Time) && r.Reachable(x.Party.Client, x.Master, began, snapshot.Time):
		return "unheard"
	}
	return ""
}

// explainOrphan explains that a master still stored a key that its owner no longer needed.
func (r *run) explainOrphan(n *narrative.Narrative, o orphan) {
	v := n.Violation
	x := &o.commandLog
	v.Summary = fmt.Sprintf("%s still stored a token of %s for %s at %s, %s after %s last needed it", x.Master, x.Party.Client, v.Key, narrative.At(v.Until), narrative.At(v.Until-o.over), x.Party.Client)
	for _, a := range r.Requests(x.Key, x.Party) {
		if a.SentTo(x.Master) && a.Sent <= o.snapshot.Time {
			n.OneMaster(a, x.Master)
		}
	}
	what := "attempt"
	if o.lease {
		what = "release of its lease"
	}
	n.AddAt(narrative.AfterLines, narrative.Event{At: o.over, Kind: narrative.EventOver, Client: x.Party.Client, Key: x.Key, Token: x.Party.Token, Word: "over", Text: fmt.Sprintf("the %s of %s was over", what, x.Party.Client)})
	var why string
	switch o.kind {
	case "unsent":
		why = fmt.Sprintf("%s never sent %s a release", x.Party.Client, x.Master)
	case "undone":
		why = fmt.Sprintf("%s had answered the release, and stored the key all the same", x.Master)
	case "late":
		why = fmt.Sprintf("%s executed the SET after the release, so it stored a key that nobody needed any more", x.Master)
	case "failed":
		why = fmt.Sprintf("%s answered the release with an error (%s), though no recorded fault was on it or on the way", x.Master, x.Releases.Kind(x.Releases.Len()-1).Error)
	case "unheard":
		why = fmt.Sprintf("%s did not answer the release, though no recorded fault was on it or on the way", x.Master)
		if e := x.Releases.Kind(x.Releases.Len() - 1).Error; e != "" {
			why += " (" + e + ")"
		}
	}
	n.Add(narrative.Event{At: o.snapshot.Time, Kind: narrative.EventSnapshot, Masters: []string{x.Master}, Client: x.Party.Client, Key: x.Key, Token: x.Party.Token, Word: "stored", Ops: []int{o.snapshot.Index},
		Text: fmt.Sprintf("%s stored the token of %s", x.Master, x.Party.Client)})
	n.Violated(why)
}
