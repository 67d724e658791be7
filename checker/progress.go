package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

var Progress = Property{
	Name: "progress", Level: "AV", Says: "while nothing is wrong and nobody holds the lock, a client that asks is granted it soon",
	rules: &rules{judge: (*run).progress, gaps: []gap{{nil, "nobody had to wait while nothing was wrong"}}},
}

// progress judges one part of AV: while there is no fault and nobody holds the lock, some waiting
// client is soon granted it. Clients that split the votes again and again violate it. The time
// shortly after a fault, a pause, a crash or a missing answer does not count: earlier keys may
// still be stored for a TTL.
func (r *run) progress() *judgement {
	waits := r.quietWaits()
	judged := 0
	for _, d := range waits {
		if d.Granted != nil && r.InWindow(d.To) {
			judged++
		}
	}
	return r.judgeWaits(waits, progressPatience(r.History.Header.Clients)+r.History.Header.Settle, nothing, judged, "while nothing was wrong and nobody held it", r.explainDivided)
}

// quietWaits returns the waits in which nothing was wrong, nor shortly before.
func (r *run) quietWaits() []facts.Wait {
	ttl := r.History.Header.TTL
	after := ttl + ttl/10 + time.Second
	if settle := r.History.Header.Settle; settle > 0 {
		after += ttl + settle // a new leader lets all leases begin anew
	}
	var but []history.Span
	for _, f := range r.Faults {
		if f.Installed {
			to := f.To + after
			if fault.Of(f.Name).Clock == fault.MasterClock {
				to = r.End + 1 // the changed expiries of the keys last
			}
			but = append(but, history.Span{From: f.Began, To: to})
		}
	}
	for _, s := range r.Stalls() {
		but = append(but, history.Span{From: s.From, To: s.To + after})
	}
	for _, all := range r.Pauses {
		for _, p := range all {
			but = append(but, history.Span{From: p.From, To: p.To + after})
		}
	}
	for _, l := range r.Leases { // its keys are released late or expire
		if l.ReleaseIndex < 0 || l.Released >= l.Until() || r.History.Op(l.ReleaseIndex).F == history.FCrash {
			but = append(but, history.Span{From: l.Until(), To: l.Until() + after})
		}
	}
	for _, op := range r.History.All() {
		if op.F == history.FCrash || op.F == history.FRelease && (op.Type == history.Info || op.Type == history.Fail) || op.F == history.FVote && op.Type == history.Info {
			but = append(but, history.Span{From: op.Time, To: op.Time + after})
		}
	}
	var silent []history.Span
	for i := range r.History.Len() {
		if id := int32(i); r.History.Kind(id).Unknown || r.History.Kind(id).Error != "" {
			t := r.History.Recorded(id)
			if n := len(silent); n > 0 && t <= silent[n-1].To {
				silent[n-1].To = t + after
				continue
			}
			silent = append(silent, history.Span{From: t, To: t + after})
		}
	}
	but = append(but, silent...)
	return r.WaitsExcept(facts.Union(but, 0))
}

// progressPatience returns how long it may take without any fault if nobody holds the lock: the
// only delay is a split vote, which a random backoff soon ends.
func progressPatience(clients int) time.Duration {
	return 2*time.Second + time.Duration(clients)*200*time.Millisecond
}

// splits counts the attempts within a wait, and the attempts that got both yes and no votes.
func (r *run) splits(d facts.Wait) (tried, split int) {
	type votes struct{ yes, no bool }
	byParty := map[facts.Party]votes{}
	for v := range r.VoteIndex().Between(d.From, d.To) {
		if v.Key != d.Key || v.Command != history.CommandSet || v.Unknown || v.Error != "" {
			continue
		}
		x := byParty[facts.Party{Client: v.Client, Token: v.Token}]
		x.yes, x.no = x.yes || v.Yes, x.no || !v.Yes
		byParty[facts.Party{Client: v.Client, Token: v.Token}] = x
	}
	for _, x := range byParty {
		tried++
		if x.yes && x.no {
			split++
		}
	}
	return tried, split
}

// explainDivided adds how many attempts within a wait split the masters' votes.
func (r *run) explainDivided(n *narrative.Narrative, d facts.Wait) {
	if tried, split := r.splits(d); tried > 0 {
		n.Note(d.To, fmt.Sprintf("from %s to %s there were %s, and in %d of them some masters said yes and some no", narrative.At(d.From), narrative.At(d.To), plural.Count(tried, "attempt", "attempts"), split))
	}
}
