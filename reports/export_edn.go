package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"lockpick/history"
)

// exportEDN writes the history of one key for Knossos' model of a mutex: one operation per line,
// each a map with :index, :time (ns), :process (a number), :type, :f and :value.
//
// A mutex knows no leases, so each hold becomes an acquire and a release. The acquire has the times
// of its call and its return. The release has the time when the client could no longer rely on the
// lease, because the lease ended or the client called release. The holds are disjoint if and only
// if that history is linearizable. Failed acquires are written as failed. Acquires that never
// returned are left out, because no client relied on them.
func exportEDN(w io.Writer, x *Export) error {
	type line struct {
		at      time.Duration
		order   int // at equal times: releases before the returns of acquires, so that only real overlaps count
		process int
		typ, f  string
	}
	if kind := x.History.Header.LockKind(); !kind.OneToken() {
		return fmt.Errorf("the format edn is for the model of a mutex, and the lock is a %s", kind.Words())
	}
	key := x.key()
	var lines []line
	var free []time.Duration // by process: end of its last operation
	take := func(from, to time.Duration) int {
		for p, at := range free {
			if at <= from {
				free[p] = to
				return p
			}
		}
		free = append(free, to)
		return len(free) - 1
	}
	ops := x.History.Ops
	leases := history.Leases(ops)
	slices.SortStableFunc(leases, func(a, b *history.Lease) int { return cmp.Compare(a.Invoked, b.Invoked) })
	for _, l := range leases {
		if l.Key != key {
			continue
		}
		for i, hold := range l.Holds() {
			if hold.Empty() {
				continue
			}
			invoked := hold.From
			if i == 0 {
				invoked = l.Invoked
			}
			p := take(invoked, hold.To+1)
			lines = append(lines,
				line{invoked, 0, p, "invoke", "acquire"}, line{hold.From, 2, p, "ok", "acquire"},
				line{hold.To, 1, p, "invoke", "release"}, line{hold.To, 1, p, "ok", "release"})
		}
	}
	calls := history.CallsOf(ops)
	for i := range ops {
		op := &ops[i]
		if op.Key != key || op.F != history.FAcquire || op.Type != history.Fail {
			continue
		}
		invoked := op.Time
		if began, ok := calls.Invocation(i); ok {
			invoked = ops[began].Time
		}
		p := take(invoked, op.Time+1)
		lines = append(lines, line{invoked, 0, p, "invoke", "acquire"}, line{op.Time, 2, p, "fail", "acquire"})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	out := bufio.NewWriter(w)
	for i, l := range lines {
		fmt.Fprintf(out, "{:index %d, :time %d, :process %d, :type :%s, :f :%s, :value nil}\n", i, l.at.Nanoseconds(), l.process, l.typ, l.f)
	}
	return out.Flush()
}
