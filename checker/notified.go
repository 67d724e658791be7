package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// unaware is a section or a write that a client began although it could have known that its lease
// was over.
type unaware struct {
	op    *history.Op
	lease *history.Lease // nil: the client had none
	since time.Duration  // when the lease was over
	lost  *history.Op    // the extension whose votes showed that it was lost; nil: its validity had ended, or it was released
}

var Notified = Property{
	Name: "notified", Level: "L3", Says: "a client whose lease is over is told, and begins nothing more under it", Title: "the holder is told of the loss",
	rules: &rules{judge: (*run).notified, gaps: []gap{nobodyEntered}, exempt: []exemption{sharesHolds}},
}

// notified judges one part of L3: the lock notifies a client whose lease is over, and the client
// then begins no critical section and no write under it.
//
// No lock can notify a client in time if the client stood still between its check and the next
// operation, or if its machine stalled: such operations are not judged. A lease is over when its
// validity ends, when it is released, or when so many masters have said no to one extension that no
// quorum can store the token. Masters may refuse an upgrade because others read.
func (r *run) notified() *judgement {
	slack := max(r.Slack, r.History.Header.TTL/20)
	lost := r.lostBy()
	still := 0
	var judged []time.Duration
	var found []proven
	for i, op := range r.History.All() {
		if op.Value == nil || op.Value.Token == "" || !r.InWindow(op.Time) || op.F != history.FEnter && (op.F != history.FWrite || op.Type != history.Invoke) {
			continue
		}
		judged = append(judged, op.Time)
		l := r.LeaseAt(i)
		u := unaware{lease: l}
		switch {
		case l == nil: // the client had no lease, so no stall can excuse it
			u.since = op.Time
		case lost[l] != nil && op.Time > lost[l].Time+slack:
			u.lost, u.since = lost[l], lost[l].Time
		default:
			if u.since = facts.LeaseEnd(l, op.Time); op.Time <= u.since+slack {
				continue
			}
		}
		if op.F == history.FWrite && !r.Written(op) {
			continue
		}
		if l != nil {
			if r.PausedIn(op.Process, u.since-slack, op.Time) || r.StalledIn(u.since-slack, op.Time) {
				still++
				continue
			}
		}
		u.op = r.History.OpAt(i)
		v := narrative.Violation{Key: op.Key, At: op.Time, Until: op.Time, Ops: []int{op.Index}, Tokens: []string{op.Value.Token}, Clients: []string{op.Process}}
		if u.lost != nil {
			v.Ops = []int{u.lost.Index, op.Index}
		}
		found = append(found, proven{v, func(n *narrative.Narrative) { r.explainUnaware(n, u) }})
	}
	if len(judged) == 0 {
		return nil
	}
	j := &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need("critical sections and writes", judged, MoreWork),
		violated: firstOf("sections and writes", "were begun by a client whose lease was over, and which had not stood still"),
		holds:    allOf("of %s none was begun under a lease that was over", "section or write", "sections and writes"),
	}
	if still > 0 {
		j.note = fmt.Sprintf("; %d were begun by clients that had just stood still and could not be told", still)
	}
	return j
}

// lostBy finds, for each lease, the first extension that so many masters refused that the lock
// knew that no quorum can store the token. It returns the line that completed the extension.
func (r *run) lostBy() map[*history.Lease]*history.Op {
	q, n := r.Quorum(), r.History.Header.Masters
	found := map[*history.Lease]*history.Op{}
	if q == 0 || n == 0 {
		return found
	}
	t := r.CommandLogs()
	for i, op := range r.History.All() {
		if op.F != history.FExtend || op.Type == history.Invoke || op.Value == nil || op.Value.Mode == history.ModeWrite {
			continue
		}
		l := r.LeaseAt(i)
		if l == nil || found[l] != nil {
			continue
		}
		asked, ok := r.CalledAt(op.Index)
		if !ok {
			continue
		}
		no := 0
		for _, m := range r.Masters() {
			if x := t.ByID(facts.LogID{Place: facts.Place{Master: m, Key: l.Key}, Party: facts.Party{Client: l.Process, Token: l.Token}}); x != nil {
				for v := range x.Extensions.InFlight(asked, op.Time) {
					if v.Refused() && facts.Sent(v) >= asked && v.At <= op.Time {
						no++
						break
					}
				}
			}
		}
		if no > n-q {
			found[l] = r.History.OpAt(i)
		}
	}
	return found
}

// explainUnaware explains that a client entered its section or began a write under a lease that was
// over.
func (r *run) explainUnaware(n *narrative.Narrative, u unaware) {
	v := n.Violation
	did, kind, word := "entered its critical section on "+v.Key, narrative.EventEntered, "enter"
	if u.op.F == history.FWrite {
		did, kind, word = "began a write to "+v.Key, narrative.EventSent, "write"
	}
	client := u.op.Process
	n.Add(narrative.Event{At: v.At, Kind: kind, Client: client, Key: v.Key, Token: u.op.Value.Token, Value: u.op.Value.Value, Word: word, Ops: []int{u.op.Index}, Text: client + " " + did})
	if u.lease == nil || u.op.Time < u.lease.Acquired() {
		v.Summary = fmt.Sprintf("%s %s at %s without a lease", client, did, narrative.At(v.At))
		n.Violated(fmt.Sprintf("by %s %s had been granted nothing under this token", narrative.At(v.At), client))
		return
	}
	v.Summary = fmt.Sprintf("%s %s at %s, %s after its lease was over", client, did, narrative.At(v.At), narrative.At(v.At-u.since))
	n.Lease(u.lease, u.op.Time)
	if u.lost != nil {
		n.LostLease(u.lease, u.lost)
	} else {
		n.LeaseEnded(u.lease, u.since)
	}
	n.Violated(fmt.Sprintf("%s %s, %s after its lease was over, and it had not stood still since", client, did, narrative.At(v.At-u.since)))
}
