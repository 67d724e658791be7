package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
)

// lostUpdate is a write that was applied though another write had replaced the value that it
// was computed from: that other write is lost.
type lostUpdate struct {
	write, lost *history.Op    // the write, and the lost write that it overwrote
	from        *history.Op    // its client's last read, or its own last write
	mine, other *history.Lease // the leases of the write and of the lost write; nil if unknown
}

// updates finds the lost updates among the writes that a resource with compare-and-set applied,
// in the order of their application. Each write ends a read-modify-write, which is atomic in
// effect if the write replaces the value that it was computed from. A client computes from the
// value that it last read or wrote under its token.
//
// updates compares values, not the times at which reads were recorded: all values of a workload
// are different. If two are the same, there is no violation. A write whose client had read
// nothing is not an update: it may replace any value, and may itself be lost.
func (r *run) updates() (lost []lostUpdate, contended []time.Duration, judged, refused int) {
	competed := r.Contended()
	leases := r.LeasesByToken()
	type known struct {
		line  int // its position
		value int64
	}
	knows := map[facts.KeyToken]known{}
	latest := map[string]known{}
	for i, op := range r.History.All() {
		if op.Value == nil || op.Value.Fenced {
			continue
		}
		writer := facts.KeyToken{Key: op.Key, Token: op.Value.Token}
		switch {
		case op.F == history.FRead && op.Type == history.OK:
			knows[writer] = known{i, op.Value.Value}
		case op.F == history.FApply && op.Type == history.Fail:
			if r.InWindow(op.Time) {
				refused++
			}
		case op.F == history.FApply && op.Type == history.OK:
			from, computed := knows[writer]
			before, replaces := latest[op.Key]
			now := known{i, op.Value.Value}
			knows[writer], latest[op.Key] = now, now
			if !computed || !r.InWindow(op.Time) {
				continue
			}
			judged++
			mine := facts.LatestBefore(leases[writer], op.Index)
			if mine != nil && competed[mine] {
				contended = append(contended, op.Time)
			}
			if replaces && from.value != before.value {
				gone := r.History.OpAt(before.line)
				lost = append(lost, lostUpdate{write: r.History.OpAt(i), lost: gone, from: r.History.OpAt(from.line), mine: mine,
					other: facts.LatestBefore(leases[facts.KeyToken{Key: op.Key, Token: gone.Value.Token}], gone.Index)})
			}
		}
	}
	return lost, contended, judged, refused
}

var NoLostUpdate = Property{
	Name: "no-lost-update", Level: "RMW", Says: "where the resource compares and sets, no update rests on a value that another has replaced",
	Helps: CompareWrites, Writes: true, Needs: CompareAndSet, NotOfLock: true,
	rules: &rules{
		judge:  (*run).noLostUpdate,
		gaps:   []gap{{func(h *history.Packed) bool { return h.Header.Resource == "" }, "the guarded resource does not compare and set"}, {nil, "nothing was written to the guarded resource"}},
		exempt: []exemption{ordersNoWrites},
	},
}

// noLostUpdate judges RMW, at a resource with compare-and-set.
func (r *run) noLostUpdate() *judgement {
	if r.History.Header.Resource == "" {
		return nil
	}
	lost, contended, judged, refused := r.updates()
	if judged+refused == 0 {
		return nil
	}
	var found []proven
	for _, u := range lost {
		found = append(found, proven{r.violation(u), func(n *narrative.Narrative) { r.explainLostUpdate(n, u) }})
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found,
		evidence: r.need("updates under contended leases", contended, MoreContention),
		violated: firstOf("updates", "were computed from a value that another had replaced"),
		holds:    allOf("none of the %s was computed from a value that another had replaced", "update", "updates"),
		note:     fmt.Sprintf("; the comparison refused %s", plural.Count(refused, "write", "writes")),
	}
}

// violation returns a lost update as a Violation. Its Ops prove it: the grants, the read or write
// of the value that the update was computed from, the lost write, the mark that made the comparison
// succeed, and the write.
func (r *run) violation(u lostUpdate) narrative.Violation {
	v := narrative.Violation{Key: u.write.Key, At: u.write.Time, Until: u.write.Time}
	leases := slices.DeleteFunc([]*history.Lease{u.other, u.mine}, func(l *history.Lease) bool { return l == nil })
	slices.SortStableFunc(leases, func(a, b *history.Lease) int { return int(a.Acquired() - b.Acquired()) })
	for _, l := range leases {
		v.Ops = append(v.Ops, l.Grants[0].Index)
		v.Tokens = append(v.Tokens, l.Token)
		v.Clients = append(v.Clients, l.Process)
	}
	more := []int{u.from.Index, u.lost.Index}
	if m := r.MarkOf(u.write); m != nil {
		more = append(more, m.Index)
	}
	slices.Sort(more)
	v.Ops = append(append(v.Ops, more...), u.write.Index)
	return v
}

// client names the client of the write, if it is known; loser names the client of the lost update.
func (u lostUpdate) client() string { return holder(u.mine) }

func (u lostUpdate) loser() string { return narrative.Again(holder(u.other), u.client()) }

func holder(l *history.Lease) string {
	if l == nil {
		return "an unknown client"
	}
	return l.Process
}

// explainLostUpdate explains that an update is lost: the value that a write was computed from and
// when it was read, the write that replaced it, why the comparison accepted the later write, and
// why two clients wrote.
func (r *run) explainLostUpdate(n *narrative.Narrative, u lostUpdate) {
	v := n.Violation
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s though %s had replaced the value that it was computed from: that update is lost",
		u.client(), v.Key, narrative.At(v.At), u.loser())
	r.explainWrites(n, u)
	if u.from.F == history.FApply {
		n.Write(facts.StoredWrite{Op: u.from}, u.client(), false)
	} else {
		n.Add(narrative.Event{At: u.from.Time, Kind: narrative.EventRead, Client: u.client(), Key: v.Key, Token: u.from.Value.Token, Value: u.from.Value.Value, Word: "read", Ops: []int{u.from.Index},
			Text: fmt.Sprintf("%s read %d", u.client(), u.from.Value.Value)})
	}
	n.Mark(u.lost, holder(u.other))
	n.Mark(u.write, u.client())
	n.Write(facts.StoredWrite{Op: u.lost}, holder(u.other), false)
	n.Write(facts.StoredWrite{Op: u.write}, u.client(), false)
	passed := fmt.Sprintf("no token of %s was ever put into the storage, which should have refused the write", u.client())
	if m := r.MarkOf(u.write); m != nil {
		passed = fmt.Sprintf("%s's token was put there only after that, so the comparison could not tell", u.client())
		if m.Index < u.lost.Index {
			passed = fmt.Sprintf("%s's token had been put there before that: the storage should have refused one of the two", u.client())
		}
	}
	n.Violated(fmt.Sprintf("%s computed %d from %d, which %s had replaced by %d, so that update is lost; %s",
		u.client(), u.write.Value.Value, u.from.Value.Value, u.loser(), u.lost.Value.Value, passed))
}

// explainWrites adds why two clients wrote under leases of which at most one should be held at a time.
func (r *run) explainWrites(n *narrative.Narrative, u lostUpdate) {
	if u.mine == nil || u.other == nil || u.mine == u.other {
		return
	}
	if o, ok := r.leaseOverlap(u.mine, u.other); ok && o.from() <= u.write.Time {
		r.explainOverlap(n, o)
		return
	}
	earlier, later, acted := u.mine, u.other, u.write.Time
	if u.other.Acquired() < u.mine.Acquired() {
		earlier, later, acted = u.other, u.mine, u.lost.Time
	}
	if facts.LeaseEnd(earlier, acted) >= acted { // its client wrote while the lease was valid
		n.Lease(earlier, acted)
	} else {
		n.Outlived(earlier, acted)
	}
	n.Lease(later, 0)
}
