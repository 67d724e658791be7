package checker

import (
	"time"

	"lockpick/history"
)

// staleWrite is a write that the guarded resource applied after it had applied
// a write of a lease that was granted later.
type staleWrite struct {
	write, after   *history.Op    // the stale write, and the last write of the later lease before it
	earlier, later *history.Lease // the leases of write and of after
}

// appliedWrites counts the writes that a guarded resource applied and refused.
type appliedWrites struct {
	stale     []staleWrite
	judged    int             // applied writes of known leases
	refused   int             // writes that it refused
	uncertain int             // writes that may be stale: it is uncertain which lease is the later one
	contended []time.Duration // when it applied the writes of contended leases
}

// writes finds the stale writes among the writes that a guarded resource applied, in the order of
// their application: after a write of a lease, the resource must apply no write of an earlier
// lease. A lease is certainly earlier only if it was granted before the attempt of the other began:
// of two concurrent acquires, either may have come first. The acquire of a write's lease decides:
// an extension, even one that revived the lease, does not make the lease later. A write whose token
// no granted lease has cannot be ordered and is left out.
//
// If a token was granted twice, the write counts for the latest lease with the token where the
// write itself may be stale, and for the earliest where another write may be, so that no violation
// rests on a choice between them. No lock is convicted because of a write that is late because the
// machine stood still; but a fence has to refuse such a write, too.
//
// The holder of a re-entrant lock may have acquired it again since: its write counts for its latest lease.
func (r *run) writes(fenced bool) appliedWrites {
	byToken := r.leasesByToken()
	byClient := map[keyClient][]*history.Lease{}
	if r.law.nests() {
		for _, l := range r.leases {
			of := keyClient{l.Key, l.Process}
			byClient[of] = append(byClient[of], l)
		}
	}
	type applied struct {
		lease *history.Lease
		op    *history.Op
	}
	competed := r.contended()
	latest := map[string]applied{} // by key: the last write of the lease whose attempt began last
	var w appliedWrites
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F != history.FApply || op.Value == nil || op.Value.Fenced != fenced {
			continue
		}
		if op.Type == history.Fail && r.counts(op.Time) {
			w.refused++
		}
		if op.Type != history.OK {
			continue
		}
		mine := latestBy(byToken[keyToken{op.Key, op.Value.Token}], op.Index)
		if mine == nil {
			continue
		}
		earliest := r.earliestBy(byToken[keyToken{op.Key, op.Value.Token}], op.Index)
		if r.law.nests() {
			mine = latestBy(byClient[keyClient{op.Key, mine.Process}], op.Index)
		}
		counts := r.counts(op.Time)
		if counts {
			w.judged++
		}
		if counts && competed[mine] {
			w.contended = append(w.contended, op.Time)
		}
		last, wrote := latest[op.Key]
		switch {
		case !wrote || last.lease == mine || last.lease == earliest:
		case r.after(last.lease, mine):
			if _, late := r.excusedLate(mine, op.Time); counts && (fenced || !late) {
				w.stale = append(w.stale, staleWrite{write: op, after: last.op, earlier: mine, later: last.lease})
			}
			continue
		case counts && mine.Acquired() < last.lease.Acquired():
			w.uncertain++
		}
		if !wrote || last.lease == earliest || r.beganBefore(last.lease, earliest) {
			latest[op.Key] = applied{earliest, op}
		}
	}
	return w
}

// storedWrite is a write that the storage applied or refused.
type storedWrite struct {
	op      *history.Op
	highest int64 // if the fence refused it: the highest fencing token before it
	stale   bool  // it was applied after a write of a later lease
}

func (w storedWrite) late() bool { return w.stale || w.op.Type == history.Fail }

// storedUnder returns what the storage did with the writes under a lease, in order: the writes that the storage
// without a fence applied, and those that the storage with a fence or a mark refused.
func (r *run) storedUnder(l *history.Lease) []storedWrite {
	return r.effects.get(func() map[*history.Lease][]storedWrite {
		effects := map[*history.Lease][]storedWrite{}
		granted, highest := r.leasesByToken(), map[string]int64{}
		stale := map[int]bool{}
		for _, s := range r.writes(false).stale {
			stale[s.write.Index] = true
		}
		for i := range r.h.Ops {
			op := &r.h.Ops[i]
			if op.F != history.FApply || op.Value == nil {
				continue
			}
			w := storedWrite{op: op, stale: stale[op.Index]}
			switch {
			case op.Value.Fenced && op.Type == history.OK:
				highest[op.Key] = max(highest[op.Key], op.Value.Fence)
				continue
			case op.Value.Fenced:
				w.highest = highest[op.Key]
			}
			if of := latestBy(granted[keyToken{op.Key, op.Value.Token}], op.Index); of != nil {
				effects[of] = append(effects[of], w)
			}
		}
		return effects
	})[l]
}
