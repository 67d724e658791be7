package facts

import (
	"time"

	"lockpick/history"
)

// StaleWrite is a write that the guarded resource applied after it had applied
// a write of a lease that was granted later.
type StaleWrite struct {
	Write, After   *history.Op    // the stale write, and the last write of the later lease before it
	Earlier, Later *history.Lease // the leases of write and of after
}

// AppliedWrites counts the writes that a guarded resource applied and refused.
type AppliedWrites struct {
	Stale     []StaleWrite
	Judged    int             // applied writes of known leases
	Refused   int             // writes that it refused
	Uncertain int             // writes that may be stale: it is uncertain which lease is the later one
	Contended []time.Duration // when it applied the writes of contended leases
}

// Writes finds the stale writes among the writes that a guarded resource applied, in the order of
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
func (r *Run) Writes(fenced bool) AppliedWrites {
	byToken := r.LeasesByToken()
	byClient := map[keyClient][]*history.Lease{}
	if r.Lock.Reentrant() {
		for _, l := range r.Leases {
			owner := keyClient{l.Key, l.Process}
			byClient[owner] = append(byClient[owner], l)
		}
	}
	type applied struct {
		lease *history.Lease
		line  int // its position
	}
	competed := r.Contended()
	latest := map[string]applied{} // by key: the last write of the lease whose attempt began last
	var w AppliedWrites
	for i, op := range r.History.All() {
		if op.F != history.FApply || op.Value == nil || op.Value.Fenced != fenced {
			continue
		}
		if op.Type == history.Fail && r.InWindow(op.Time) {
			w.Refused++
		}
		if op.Type != history.OK {
			continue
		}
		mine := LatestBefore(byToken[KeyToken{op.Key, op.Value.Token}], op.Index)
		if mine == nil {
			continue
		}
		earliest := r.earliestBy(byToken[KeyToken{op.Key, op.Value.Token}], op.Index)
		if r.Lock.Reentrant() {
			mine = LatestBefore(byClient[keyClient{op.Key, mine.Process}], op.Index)
		}
		counts := r.InWindow(op.Time)
		if counts {
			w.Judged++
		}
		if counts && competed[mine] {
			w.Contended = append(w.Contended, op.Time)
		}
		last, wrote := latest[op.Key]
		switch {
		case !wrote || last.lease == mine || last.lease == earliest:
		case r.After(last.lease, mine):
			if _, late := r.ExcusedLate(mine, op.Time); counts && (fenced || !late) {
				w.Stale = append(w.Stale, StaleWrite{Write: r.History.OpAt(i), After: r.History.OpAt(last.line), Earlier: mine, Later: last.lease})
			}
			continue
		case counts && mine.Acquired() < last.lease.Acquired():
			w.Uncertain++
		}
		if !wrote || last.lease == earliest || r.beganBefore(last.lease, earliest) {
			latest[op.Key] = applied{earliest, i}
		}
	}
	return w
}

// StoredWrite is a write that the storage applied or refused.
type StoredWrite struct {
	Op      *history.Op
	Highest int64 // if the fence refused it: the highest fencing token before it
	Stale   bool  // it was applied after a write of a later lease
}

// Late reports whether the storage refused it, or should have.
func (w StoredWrite) Late() bool { return w.Stale || w.Op.Type == history.Fail }

// storedWrite is a StoredWrite whose line is still packed.
type storedWrite struct {
	position int32
	stale    bool
	highest  int64
}

// StoredUnder returns what the storage did with the writes under a lease, in order: the writes that the storage
// without a fence applied, and those that the storage with a fence or a mark refused.
func (r *Run) StoredUnder(l *history.Lease) (all []StoredWrite) {
	packed := r.storedUnder.get(func() map[*history.Lease][]storedWrite {
		effects := map[*history.Lease][]storedWrite{}
		granted, highest := r.LeasesByToken(), map[string]int64{}
		stale := map[int]bool{}
		for _, s := range r.Writes(false).Stale {
			stale[s.Write.Index] = true
		}
		for i, op := range r.History.All() {
			if op.F != history.FApply || op.Value == nil {
				continue
			}
			w := storedWrite{position: int32(i), stale: stale[op.Index]}
			switch {
			case op.Value.Fenced && op.Type == history.OK:
				highest[op.Key] = max(highest[op.Key], op.Value.Fence)
				continue
			case op.Value.Fenced:
				w.highest = highest[op.Key]
			}
			if writer := LatestBefore(granted[KeyToken{op.Key, op.Value.Token}], op.Index); writer != nil {
				effects[writer] = append(effects[writer], w)
			}
		}
		return effects
	})[l]
	for _, w := range packed {
		all = append(all, StoredWrite{Op: r.History.OpAt(int(w.position)), Highest: w.highest, Stale: w.stale})
	}
	return all
}
