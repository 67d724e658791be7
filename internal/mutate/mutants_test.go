package mutate

// mutant is one fault planted in the code: in the file, new stands in the place of old,
// which must be there exactly once.
type mutant struct {
	file, old, new string
}

// mutants are the faults that the tests of checker and history must notice.
var mutants = []mutant{
	// What a lease is, and when it is relied on.
	{"history/lease.go", `over = l.Released`, `over = l.Released + over/2`},                                                         // a release ends nothing
	{"history/lease.go", `over = min(over, l.Lost)`, `over = max(over, l.Lost)`},                                                    // nor does the lock's word
	{"history/lease.go", `max(op.Time-op.Value.Delay, l.Grants[len(l.Grants)-1].At)`, `max(op.Time, l.Grants[len(l.Grants)-1].At)`}, // which counts from when it was heard
	{"history/lease.go", `l.Released = began`, `l.Released = op.Time`},                                                              // a release without an invocation ends late
	{"history/lease.go", `case op.F == FClock && op.Time <`, `case op.F == FClock && op.Time <=`},                                   // a bent clock revives what is over
	{"history/lease.go", `n > 0 && s.From <= spans[n-1].To`, `n > 0 && s.From < spans[n-1].To`},                                     // an extension at the end begins a new stretch
	{"history/lease.go", `spans[n-1].To = max(s.From, s.To)`, `spans[n-1].To = max(spans[n-1].To, s.To)`},                           // an extension cannot shorten
	{"history/lease.go", `lives[op.Process]++`, `lives[op.Process] += 0`},                                                           // one life for ever
	{"history/lease.go", `l.crash(op)`, `_ = l`},                                                                                    // a crash ends no lease
	{"history/lease.go", `if l := a.open[n-1]; l.ReleaseIndex < 0 {`, `if l := a.open[n-1]; true {`},                                // the latest lease, released or not
	{"history/lease.go", `a = byOwner[anywhere]`, `a = nil`},                                                                        // no line names another key
	{"history/calls.go", `p.life == client.lives || op.Type == Info`, `true`},                                                       // a call ends in the next life
	{"history/calls.go", `c.began[i] = int32(-2 - client.last)`, `c.began[i] = -1`},                                                 // no bound for a call without an invocation
	{"history/vote.go", `At: op.Time - op.Value.Delay`, `At: op.Time`},                                                              // the delay is forgotten
	{"history/vote.go", `Yes: op.Type == OK && op.Value.Yes`, `Yes: op.Type == Info || op.Value.Yes`},                               // unknown counts as yes
	{"history/vote.go", `Unknown: op.Type == Info`, `Unknown: false`},                                                               // unknown counts as no
	{"history/vote.go", `cmp.Or(op.Value.RedisKey, op.Key)`, `op.Key`},                                                              // the lock's name is the key
	{"history/fault.go", `f.Healed, f.To, f.HealIndex, f.TookEffect, f.Evidence = true, op.Time, op.Index, v.TookEffect, v.Evidence`, `f.Healed, f.To, f.HealIndex, f.TookEffect, f.Evidence = true, f.From, op.Index, v.TookEffect, v.Evidence`}, // a fault ends where it begins
	{"history/fault.go", `f.Installed, f.From, f.Index = true, op.Time, op.Index`, `f.Installed, f.From, f.Index = true, 0, op.Index`},                                                                                                            // it was there from the start
	{"history/fault.go", `if f.Skipped == "" && !f.Healed {`, `if f.Healed {`},                                                                                                                                                                    // one that never healed ends at once
	{"history/decode.go", `n = 10*n + int64(`, `n = 8*n + int64(`},
	{"history/decode.go", `n = -n`, `n = +n`},
	{"history/read.go", `case h.Format > FormatVersion:`, `case h.Format >= FormatVersion:`},
	{"history/recorder.go", `op.Value.Delay = late`, `op.Value.Delay = 0`},
	{"history/recorder.go", `r.ended = op.endsHistory()`, `r.ended = false`}, // a history goes on after its end

	// The rule for verdicts and the evidence.
	{"checker/validity.go", `MinEvidence = 10`, `MinEvidence = 9`},
	{"checker/validity.go", `MinUnderFaults = 3`, `MinUnderFaults = 2`},
	{"checker/validity.go", `MaxStalled = 0.5`, `MaxStalled = 0.9`},
	{"checker/validity.go", `if e.Got < e.Need {`, `if e.Got+1 < e.Need {`},
	{"checker/validity.go", `return v.At >= r.died.from`, `return v.At > r.died.from`},
	{"checker/validity.go", `return v.Until >= r.died.from`, `return v.At >= r.died.from`},                          // a wait counts from its beginning
	{"checker/validity.go", `if r.tookEffect(f) {`, `if f.Installed {`},                                             // what had no effect is evidence
	{"checker/validity.go", `To: f.To + r.h.Header.TTL + 1`, `To: f.To + 1`},                                        // the faulty period ends with the fault
	{"checker/validity.go", `To: f.To + r.h.Header.TTL + 1`, `To: f.To + r.h.Header.TTL`},                           // its last instant
	{"checker/validity.go", `r.slack > ttl/4`, `r.slack > ttl/2`},                                                   // it resolves what it cannot
	{"checker/validity.go", `case r.h.Header.Format >= 2 && !r.ended:`, `case r.h.Header.Format >= 3 && !r.ended:`}, // a history that was cut short holds
	{"checker/validity.go", `case r.died.how != "":`, `case r.died.how == "never":`},                                // a master that died is nothing
	{"checker/validity.go", `op.Time - noticed`, `op.Time - 0*noticed`},                                             // it died when it was noticed
	{"checker/validity.go", `p.ended && p.from < f.To && p.to > f.Began`, `p.ended && p.from < f.To`},               // any earlier pause is an effect
	{"checker/contention.go", `if other.client == l.Process {`, `if false {`},                                       // a client competes with itself
	{"checker/contention.go", `l.Acquired()+r.h.Header.TTL+1`, `l.Acquired()+r.h.Header.TTL`},                       // the last instant of a TTL
	{"checker/contention.go", `other.until >= l.Acquired()`, `other.until > l.Acquired()`},                          // that of an acquire
	{"checker/contention.go", `if deadOnArrival(l) {`, `if false {`},                                                // who competes for nothing
	{"checker/contention.go", `sent(v) >= l.Invoked && sent(v) <= l.Acquired()`, `sent(v) <= l.Acquired()`},         // votes of an earlier acquire
	{"checker/contention.go", `return line > earlier.Grants[0].Index`, `return line < earlier.Grants[0].Index`},     // ties the wrong way round
	{"checker/contention.go", `return began > earlier.Acquired()`, `return later.Acquired() > earlier.Acquired()`},  // by the order of the returns
	{"checker/pause.go", `op.F == history.FCrash || op.Type == history.Invoke) {`, `op.Type == history.Invoke) {`},  // a pause outlives its client

	// L2 and L3.
	{"checker/sweep.go", `if s.from < longest.to {`, `if s.from <= longest.to {`},
	{"checker/sweep.go", `if s.to > longest.to {`, `if s.to < longest.to {`},
	{"checker/sweep.go", `if longest == nil || longest.key != s.key {`, `if longest == nil {`}, // keys are mixed up
	{"checker/expiredgrant.go", `g.At <= g.Until+max(arrivalSlack, r.slack)`, `g.At <= g.Until+r.slack`},
	{"checker/section.go", `delete(inside, op.Process)`, `_ = 0`},                                                                                   // a crash ends no section
	{"checker/section.go", `case op.F == history.FLeave || op.F == history.FRelease && op.Type == history.Invoke:`, `case op.F == history.FLeave:`}, // nor a release
	{"checker/section.go", `case op.F == history.FPaused:`, `case op.F == "never":`},                                                                // a pause shows nobody
	{"checker/notified.go", `max(r.slack, r.h.Header.TTL/20)`, `r.h.Header.TTL/20`},
	{"checker/notified.go", `if no > n-q {`, `if no >= n-q {`},                                        // one refusal too few
	{"checker/notified.go", `op.Time > lost[l].Time+slack`, `op.Time > lost[l].Time`},                 // no slack
	{"checker/notified.go", `if op.F == history.FWrite && !r.written(op) {`, `if false {`},            // a write that was given up
	{"checker/notified.go", `r.stoppedIn(op.Process, u.since-slack, op.Time) ||`, ``},                 // who stood still could be told
	{"checker/notified.go", `!v.Yes && !v.Unknown && sent(v) >= asked`, `!v.Yes && sent(v) >= asked`}, // silence is a refusal
	{"checker/exclusion.go", `if !second.illegal[k] && !second.undecided {`, `if false {`},            // porcupine is not asked

	// L1.
	{"checker/tokens.go", `if before == nil {`, `if before == nil || before.Process == l.Process {`}, // one client may use a token twice
	{"checker/votes.go", `b.answers >= b.needs`, `b.answers >= b.needs-1`},
	{"checker/votes.go", `return since - r.h.Header.TTL/20`, `return since`},                                                                           // a client may notice late
	{"checker/votes.go", `}) || r.askedUncalled(l)`, `})`},                                                                                             // what was sent without a call
	{"checker/votes.go", `if counts && v.Yes && sent(v) >= from-r.slack && v.At <= g.At+r.slack {`, `if counts && v.Yes && sent(v) >= from-r.slack {`}, // an answer that came later
	{"checker/votes.go", `if counts && v.Yes && sent(v) >= from-r.slack && v.At <= g.At+r.slack {`, `if counts && v.Yes && v.At <= g.At+r.slack {`},    // one of an earlier acquire
	{"checker/votes.go", `if counts && v.Yes && sent(v) >= from-r.slack && v.At <= g.At+r.slack {`, `if counts && (v.Yes || v.Unknown) && sent(v) >= from-r.slack && v.At <= g.At+r.slack {`},
	{"checker/minvalidity.go", `if may >= q {`, `if may >= q-1 {`},
	{"checker/minvalidity.go", `v.At+cmp.Or(v.TTL, ttl)`, `v.At+cmp.Or(ttl, v.TTL)`},                                                                            // the TTL that was asked for
	{"checker/minvalidity.go", `range vs.asked(l.Invoked-r.slack, g.At+r.slack)`, `range vs.asked(0, g.At+r.slack)`},                                            // votes of an earlier acquisition
	{"checker/minvalidity.go", `l.Token, last, min(end, relied)); snapshot != nil {`, `l.Token, last, min(end, relied)); snapshot == nil && snapshot != nil {`}, // what a snapshot showed
	{"checker/minvalidity.go", `!v.Yes && !v.Unknown && sent(v) > from`, `!v.Yes && sent(v) > from`},                                                            // silence is a refusal
	{"checker/lifetime.go", `5*time.Millisecond), 150*time.Millisecond)`, `5*time.Millisecond), 50*time.Millisecond)`},
	{"checker/lifetime.go", `s.mortal != mortal || (end-s.end).Abs() > same`, `s.mortal != mortal || (end-s.end).Abs() > 1000*same`}, // its end moved
	{"checker/lifetime.go", `if s.seen <= s.since+allowed {`, `if s.seen < s.since+allowed {`},
	{"checker/ownership.go", `if x.sets.len() == 0 || !answered(x.sets) {`, `if x.sets.len() == 0 {`},    // a SET that nobody answered
	{"checker/ownership.go", `return s, last != nil && r.stillThere(*last, v)`, `return s, last != nil`}, // the other's key was gone
	{"checker/ownership.go", `return s, !created`, `return s, !created || created`},                      // an extension created the key
	{"checker/ownership.go", `if sent(b) <= a.At {`, `if false {`},                                       // both were under way
	{"checker/ownership.go", `if b.At >= from+ttl {`, `if b.At > from+ttl {`},
	{"checker/ownership.go", `case r.stalledIn(from, b.At):`, `case false:`},
	{"checker/disturbances.go", `return from <= to2 && from2 <= to }`, `return from < to2 && from2 < to }`}, // times that touch
	{"checker/commandlog.go", `snapshotEnded(snapshot) < to && snapshot.Value`, `snapshotEnded(snapshot) <= to && snapshot.Value`},
	{"checker/commandlog.go", `snapshot.Value.Keys[t.stored(p)] != token`, `snapshot.Value.Keys[p.key] != token`}, // the lock's name is the key

	// L4, L5, RMW, FM, EXT.
	{"checker/writes.go", `mine := latestBy(byToken[owner{op.Key, op.Value.Token}], op.Index)`, `mine := byToken[owner{op.Key, op.Value.Token}][0]`}, // by the token, not the acquisition
	{"checker/writes.go", `case r.after(last.lease, mine):`, `case mine.Acquired() < last.lease.Acquired():`},                                        // acquires that ran at once
	{"checker/section.go", `before[i], s.to = s.to, max(s.from, over)`, `before[i], s.to = s.to, max(s.to, over)`},                                   // who stands still leaves late
	{"checker/writes.go", `counts && (fenced || !late) {`, `counts && (fenced || !late || true) {`},                                                  // and writes late
	{"checker/extension.go", `return over, over < at && r.inTime(over, at)`, `return over, over < at`},                                               // without standing still, too
	{"checker/writes.go", `op.Value.Fenced != fenced {`, `false {`},                                                                                  // both resources are one
	{"checker/update.go", `if before != nil && from.Value.Value != before.Value.Value {`, `if before != nil && from != before {`},                    // lines, not values
	{"checker/update.go", `if op.Value == nil || op.Value.Fenced {`, `if op.Value == nil {`},
	{"checker/fencing.go", `if n > 0 && highest[n-1].Fence >= l.Fence {`, `if n > 0 && highest[n-1].Fence > l.Fence {`}, // equal tokens
	{"checker/extension.go", `if at <= end {`, `if at < end {`},
	{"checker/extension.go", `minExtensions            = 5`, `minExtensions            = 4`},
	{"checker/continuity.go", `if len(x.whole) < q {`, `if len(x.whole) < q-1 {`},
	{"checker/continuity.go", `case now && v.Unknown, !now && v.Unknown && v.At <= g.At:`, `case now && v.Unknown:`}, // an earlier command that nobody answered
	{"checker/continuity.go", `earlier.At+ttl+ttl/50+r.slack`, `earlier.At+ttl`},                                     // no slack
	{"checker/continuity.go", `&& !r.bentIn(m, sent(*earlier), yes.At):`, `:`},                                       // a bent clock keeps keys

	// DF and AV.
	{"checker/liveness.go", `a.ok && a.ended <= h.at+h.bound`, `a.ok && a.ended < h.at+h.bound`},
	{"checker/liveness.go", `case a.ok && took <= h.bound:`, `case a.ok:`},                                                             // a grant that comes too late
	{"checker/liveness.go", `return a.dropped || !a.ok && a.ended >= r.interrupted.at`, `return !a.ok && a.ended >= r.interrupted.at`}, // whose client ended
	{"checker/liveness.go", `if a.ops[0] < h.index {`, `if a.ended < h.at {`},                                                          // acquires of before the healing
	{"checker/starvation.go", `2*ttl + 5*time.Second`, `ttl + 5*time.Second`},
	{"checker/starvation.go", `					s.From = at
`, ``}, // a lease of no length ends a wait
	{"checker/starvation.go", `spare := len(used) - r.quorum()`, `spare := len(used) - r.quorum() - 1`},
	{"checker/starvation.go", `min(a.ended, r.interrupted.at)`, `a.ended`}, // what the harness cancelled
	{"checker/starvation.go", `took := d.to - d.from; took <= bound || took <=`, `took := d.to - d.from; took <= 2*bound || took <=`},
	{"checker/starvation.go", `to = r.end + 1 // the`, `to += 0 // the`}, // a bent clock's effects last
	{"checker/starvation.go", `r.h.Op(l.ReleaseIndex).F == history.FCrash {
		return "ended", l.Released`, `false {
		return "ended", l.Released`}, // a holder that crashed is not lost
	{"checker/quorum.go", `if yes < q {`, `if yes <= q {`},
	{"checker/quorum.go", `if x.by-s.began > ttl/2 {`, `if x.by-s.began >= ttl/2 {`},
	{"checker/quorum.go", `a.votes.kind(i).Master == master`, `a.votes.kind(i).Master == ""`},                 // all attempts with a token are one
	{"checker/orphan.go", `max(ttl/4, min(500*time.Millisecond, ttl/2))`, `max(ttl/4, 500*time.Millisecond)`}, // it is not scaled
	{"checker/orphan.go", `if again(over) || heard.len() > 0 && again(latest(heard)) {`, `if again(over) {`},
	{"checker/orphan.go", `case heard.len() > 0 && seen > latest(heard):`, `case heard.len() > 0:`}, // a snapshot of before the release
	{"checker/calls.go", `case op.F == wrong:`, `case op.F == history.FHung:`},
}
