package checker

import (
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
)

var HolderLoss = Property{
	Name: "holder-loss", Level: "DF", Says: "a key whose holder is gone is granted to another within a bound", Helps: CrashClients,
	rules: &rules{judge: (*run).holderLoss, gaps: []gap{{nil, "no lock's holder was lost while another asked for it"}}},
}

// holderLoss judges one part of DF: a key whose holder has crashed or stands still is
// granted to another client within a bound.
func (r *run) holderLoss() *judgement {
	var mine []facts.Wait
	judged := 0
	for _, d := range r.Waits() {
		if lost, _ := r.LostHolder(d); !lost {
			continue
		}
		mine = append(mine, d)
		if d.Granted != nil && r.InWindow(d.To) {
			judged++
		}
	}
	h := &r.History.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL)+h.Settle, r.renewing, judged, "once its holder was gone", r.explainHolderGone)
}

// renewing returns the extra time for a lock that renews the leases of a hung holder. A lease without an
// end that its holder's process goes on to extend is not over while that process lives.
func (r *run) renewing(d facts.Wait) time.Duration {
	if _, stopped := r.LostHolder(d); !stopped {
		return 0
	}
	if l := r.LastLease(d.Key, d.From); l.Grants[len(l.Grants)-1].Endless() && r.AutoExtended(l) {
		return history.Endless
	}
	return r.History.Header.HungHolder
}

// explainHolderGone adds the last lease before a wait and the pauses and crashes of its holder.
func (r *run) explainHolderGone(n *narrative.Narrative, d facts.Wait) {
	l := r.LastLease(d.Key, d.From)
	if l == nil {
		return
	}
	n.Lease(l, d.From)
	n.ClientFaults(l.Process, l.Acquired(), d.To, false)
}
