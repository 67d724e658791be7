package checker

import (
	"time"

	"lockpick/history"
)

var HolderLoss = Property{
	Name: "holder-loss", Level: "DF",
	Says: "a key whose holder is gone is granted to another within a bound",
	Help: "--faults client-kill",
	rules: &rules{
		judge: (*run).holderLoss,
		gaps:  []gap{{nil, "no lock's holder was lost while another asked for it"}},
	},
}

// holderLoss judges one part of DF: a key whose holder has crashed or stands still is
// granted to another client within a bound.
func (r *run) holderLoss() *judgement {
	var mine []starvation
	judged := 0
	for _, d := range r.starvations() {
		if how, _ := r.lostHolder(d); how == "" {
			continue
		}
		mine = append(mine, d)
		if d.granted != nil && r.counts(d.to) {
			judged++
		}
	}
	h := &r.h.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL), r.renewing, judged, "once its holder was gone", (*narrative).holderGone)
}

// renewing returns the extra time for a lock that renews the leases of a hung holder. A lease without an
// end that its holder's process goes on to extend is not over while that process lives.
func (r *run) renewing(d starvation) time.Duration {
	if how, _ := r.lostHolder(d); how != stoodStill {
		return 0
	}
	if l := r.last(d.key, d.from); l.Grants[len(l.Grants)-1].Endless() && r.extendsItself(l) {
		return history.Endless
	}
	return r.h.Header.HungHolder
}

// holderGone adds the last lease before a wait and the pauses and crashes of its holder.
func (n *narrative) holderGone(d starvation) {
	l := n.r.last(d.key, d.from)
	if l == nil {
		return
	}
	n.lease(l, d.from)
	n.clientFaults(l.Process, l.Acquired(), d.to, false)
}
