package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// orphan is a key that a master still stored although its owner no longer needed it.
type orphan struct {
	commandLog commandLog
	snapshot   *history.Op
	over       time.Duration // when the owner no longer needed it
	kind       string        // unsent, undone, failed, unheard or late; see orphaned
	lease      bool          // its lease had been granted
}

// orphanMoment returns how long a key may still be stored once its owner no longer needs it.
func (r *run) orphanMoment() time.Duration {
	ttl := r.h.Header.TTL
	return max(ttl/4, min(500*time.Millisecond, ttl/2))
}

var OrphanKeys = Property{
	Name: "orphan-keys", Level: "AV",
	Says:  "masters do not go on storing a key that its owner no longer needs",
	Votes: true,
	rules: &rules{
		judge: (*run).orphanKeys,
		gaps:  []gap{nobodyLooked, {nil, "no attempt was over"}},
	},
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
	t := r.commandLogs()
	if len(t.taken) == 0 {
		return nil
	}
	ends := r.endOfNeed()
	judged := 0
	var asked []time.Duration // times of the snapshots that would have shown a key
	var all []orphan
	for x := range t.all() {
		if !said(x.sets) && answered(x.sets) {
			continue // the master never set the key
		}
		over, lease, ok := ends(x)
		if !ok || !r.counts(over) {
			continue
		}
		judged++
		if when, was := t.askedAfter(x.master, over, over+r.h.Header.TTL); was {
			asked = append(asked, when)
		}
		for _, snapshot := range t.snapshots(x) {
			if snapshotBegan(snapshot) <= over {
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
	type proof struct {
		snapshot int
		token    string
	}
	bySnapshot := map[proof]orphan{}
	found := make([]Violation, 0, len(all))
	for _, o := range all {
		bySnapshot[proof{o.snapshot.Index, o.commandLog.who.token}] = o
		found = append(found, Violation{Key: o.commandLog.key, At: o.over, Until: max(o.over, snapshotBegan(o.snapshot)),
			Ops: []int{o.commandLog.sets.at(0).Index, o.snapshot.Index}, Tokens: []string{o.commandLog.who.token}, Clients: []string{o.commandLog.who.client}})
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, late: true, needsSlack: true,
		evidence: r.need("released keys whose master was asked within a TTL", asked, moreWork),
		explain:  func(n *narrative) { r.explainOrphan(n, bySnapshot[proof{n.v.Ops[1], n.v.Tokens[0]}]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s remained on a master although their owners no longer needed them: the first from %s on %s", share(t.found, t.checked, "keys"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("none of %s remained on a master", count(t.checked, "released key", "released keys"))
		},
	}
}

// askedAfter returns when the first snapshot of a master between two times was taken.
func (t *commandLogs) askedAfter(master string, from, to time.Duration) (time.Duration, bool) {
	for snapshot := range t.snapshotsWithin(master, from, to) {
		return snapshotEnded(snapshot), true
	}
	return 0, false
}

// endOfNeed returns a function that finds when the owner of a command log no longer needed its
// token. ok is false if the owner always needed it or the time is unknown.
func (r *run) endOfNeed() func(*commandLog) (over time.Duration, lease, ok bool) {
	released := map[party]time.Duration{}
	granted := map[party]bool{}
	for _, l := range r.leases {
		granted[party{l.Process, l.Token}] = true
	}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FRelease && op.Type != history.Invoke && op.Value != nil {
			released[party{op.Process, op.Value.Token}] = op.Time
		}
	}
	byClient := map[string][]attempt{}
	for _, a := range r.attempts() {
		byClient[a.client] = append(byClient[a.client], a)
	}
	type asker struct{ client, key string }
	h := r.h
	sets := map[asker][]int32{} // the SETs, in the order in which they were sent
	for i := range h.Len() {
		id := h.InOrder(i)
		if k := h.Kind(id); k.Command == history.CommandSet {
			of := asker{k.Client, k.Key}
			sets[of] = append(sets[of], id)
		}
	}
	for _, ids := range sets {
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(h.Sent(a), h.Sent(b)), cmp.Compare(a, b)) })
	}
	return func(x *commandLog) (time.Duration, bool, bool) {
		if r.commandLogs().sharing(x) { // several clients may use one weak token
			return 0, false, false
		}
		if granted[x.who] {
			over, ok := released[x.who]
			return over, true, ok
		}
		first := sent(x.sets.at(0))
		mine := byClient[x.who.client]
		i, exact := slices.BinarySearchFunc(mine, first, func(a attempt, at time.Duration) int { return cmp.Compare(a.invoked, at) })
		if !exact {
			i--
		}
		if i < 0 || mine[i].open || mine[i].key != x.key || mine[i].ended < first {
			return 0, false, false // its acquire never returned or was not recorded
		}
		over := mine[i].ended
		all := sets[asker{x.who.client, x.key}]
		at, _ := slices.BinarySearchFunc(all, first, func(id int32, at time.Duration) int { return cmp.Compare(h.Sent(id), at) })
		token := h.FindToken(x.who.token)
		for _, id := range all[at:] { // find the client's next attempt
			if h.TokenNumber(id) != token {
				over = min(over, h.Sent(id))
				break
			}
		}
		return over, false, true
	}
}

// orphaned returns why the lock is to blame for a key in a snapshot, or "" if it is not. "unsent":
// the lock never sent a release. "undone": the master answered the release but still stores the
// key. "late": the master set the key after it answered the release. "failed": the master answered the
// release with an error. "unheard": the master did not answer it.
func (r *run) orphaned(x *commandLog, snapshot *history.Op, over time.Duration) string {
	began := sent(x.sets.at(0)) - r.slack
	seen := snapshotBegan(snapshot)
	if r.goneIn(x.who.client, began, snapshot.Time) || r.stoppedIn(x.who.client, began, snapshot.Time) || r.restartedIn(x.master, began, snapshot.Time) {
		return ""
	}
	late := seen > over+r.orphanMoment()
	heard, failed := votes{h: r.h}, votes{h: r.h} // releases that were answered, and those that were answered with an error
	for i, id := range x.frees.ids {
		switch k := x.frees.kind(i); {
		case k.Unknown:
		case k.Error != "":
			failed.ids = append(failed.ids, id)
		default:
			heard.ids = append(heard.ids, id)
		}
	}
	clean := answered(x.sets) && answered(x.extends)
	again := func(since time.Duration) bool { // the lock set or extended the token again
		later := func(v *history.Vote) bool { return sent(*v) > since }
		return x.sets.any(later) || x.extends.any(later)
	}
	if again(over) || heard.len() > 0 && again(latest(heard)) {
		return ""
	}
	switch {
	case x.frees.len() == 0:
		// A lock that reports its votes itself reports each release. The masters' account has only those that were sent,
		// and nothing is sent over a link that is cut.
		told := x.sets.kind(0).Form == ""
		if late && !r.stalledIn(over, snapshot.Time) && (told || r.reachable(x.who.client, x.master, began, snapshot.Time)) {
			return "unsent"
		}
	case heard.len() > 0 && seen > latest(heard):
		if clean {
			return "undone"
		}
		return "late"
	case heard.len() == 0 && failed.len() > 0:
		if late && clean && latest(failed) < seen && !r.stalledIn(began, snapshot.Time) && r.reachable(x.who.client, x.master, began, snapshot.Time) {
			return "failed"
		}
	case heard.len() == 0 && late && clean && latest(x.frees) < seen && !r.stalledIn(began, snapshot.Time) && r.reachable(x.who.client, x.master, began, snapshot.Time):
		return "unheard"
	}
	return ""
}

// explainOrphan explains that a master still stored a key that its owner no longer needed.
func (r *run) explainOrphan(n *narrative, o orphan) {
	v := n.v
	x := &o.commandLog
	v.Summary = fmt.Sprintf("%s still stored a token of %s for %s at %s, %s after %s last needed it", x.master, x.who.client, v.Key, at(v.Until), at(v.Until-o.over), x.who.client)
	for _, a := range r.requests(x.key, x.who) {
		if a.of(x.master) && a.sent <= o.snapshot.Time {
			n.only(a, x.master)
		}
	}
	what := "attempt"
	if o.lease {
		what = "release of its lease"
	}
	n.addAt(afterLines, Event{At: o.over, Kind: EventOver, Client: x.who.client, Key: x.key, Token: x.who.token, Word: "over", Text: fmt.Sprintf("the %s of %s was over", what, x.who.client)})
	var why string
	switch o.kind {
	case "unsent":
		why = fmt.Sprintf("%s never sent %s a release", x.who.client, x.master)
	case "undone":
		why = fmt.Sprintf("%s had answered the release, and stored the key all the same", x.master)
	case "late":
		why = fmt.Sprintf("%s executed the SET after the release, so it stored a key that nobody needed any more", x.master)
	case "failed":
		why = fmt.Sprintf("%s answered the release with an error (%s), though no recorded fault was on it or on the way", x.master, x.frees.kind(x.frees.len()-1).Error)
	case "unheard":
		why = fmt.Sprintf("%s did not answer the release, though no recorded fault was on it or on the way", x.master)
		if e := x.frees.kind(x.frees.len() - 1).Error; e != "" {
			why += " (" + e + ")"
		}
	}
	n.add(Event{At: o.snapshot.Time, Kind: EventSnapshot, Masters: []string{x.master}, Client: x.who.client, Key: x.key, Token: x.who.token, Word: "stored", Ops: []int{o.snapshot.Index},
		Text: fmt.Sprintf("%s stored the token of %s", x.master, x.who.client)})
	n.violated(why)
}
