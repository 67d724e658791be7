package watch

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"lockpick/history"
)

// lease is an attempt that a quorum granted.
type lease struct {
	a         *attempt
	from      time.Duration // when the yes that completed the quorum arrived
	until     time.Duration
	to        time.Duration // when it and its release are over at the latest
	process   string
	extension []extension
}

// drift returns what Redlock subtracts from a TTL for clocks that run at different rates.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// leases returns all leases in the order of their first commands.
func (l *Lint) leases() []lease {
	var all []lease
	for _, a := range l.attempts {
		q := l.quorum(a.cell)
		if len(a.yes) < q || !l.isLock(a.cell) {
			continue
		}
		yes := slices.Sorted(slices.Values(a.yes))
		x := lease{a: a, from: yes[q-1], to: a.released}
		if a.release > 0 && a.release <= x.from {
			continue // the client gave up the attempt before the quorum was complete
		}
		if a.ttl > 0 {
			x.until = a.sent + a.ttl - drift(a.ttl)
			if x.until <= x.from {
				continue // the lease was over before it began
			}
		}
		if a.ttl == 0 { // without a TTL, it lasts until it is released, or until now
			x.until = a.release
			if a.release == 0 {
				x.until = time.Since(l.start)
			}
			x.until = max(x.until, x.from) + 1
		}
		x.to = max(x.to, x.until, x.from)
		for _, e := range a.extended {
			if e.yes >= q && (a.release == 0 || e.at < a.release) && e.at < x.until {
				x.extension = append(x.extension, e)
				x.until = max(x.until, e.sent+e.ttl-drift(e.ttl))
				x.to = max(x.to, x.until)
			}
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b lease) int { return cmp.Compare(a.a.sent, b.a.sent) })
	// Number the processes so that each has one lease at a time.
	var ends []time.Duration
	for i := range all {
		p := slices.IndexFunc(ends, func(end time.Duration) bool { return end < all[i].a.sent })
		if p < 0 {
			p = len(ends)
			ends = append(ends, 0)
		}
		ends[p] = all[i].to
		all[i].process = fmt.Sprintf("c%d", p+1)
	}
	return all
}

// WriteHistory writes the observed leases as a history of clients. Tokens are hashed. The history
// shows the leases that masters granted, not the beliefs of their holders: a lease lasts for its TTL
// minus the drift that Redlock allows for, or until its release was sent.
func (l *Lint) WriteHistory(w io.Writer) error {
	all := l.leases()
	keys, clients := map[*cell]bool{}, map[string]bool{}
	var ops []history.Op
	for _, x := range all {
		a := x.a
		keys[a.cell], clients[x.process] = true, true
		add := func(at time.Duration, typ history.Type, f string, until time.Duration) {
			ops = append(ops, history.Op{Time: at, Process: x.process, Type: typ, F: f, Key: a.cell.key,
				Value: &history.Value{Token: a.token, ValidUntil: until, Evidence: fmt.Sprintf("connection %d", a.conn)}})
		}
		until := x.until
		if a.ttl > 0 {
			until = a.sent + a.ttl - drift(a.ttl)
		}
		ops = append(ops, history.Op{Time: a.sent, Process: x.process, Type: history.Invoke, F: history.FAcquire, Key: a.cell.key})
		add(x.from, history.OK, history.FAcquire, until)
		for _, e := range x.extension {
			add(e.sent, history.Invoke, history.FExtend, 0)
			add(e.at, history.OK, history.FExtend, e.sent+e.ttl-drift(e.ttl))
		}
		if a.release > 0 {
			add(a.release, history.Invoke, history.FRelease, 0)
			add(max(a.release, a.released), history.OK, history.FRelease, 0)
		}
	}
	slices.SortStableFunc(ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	now := time.Duration(0)
	h := history.Header{Format: history.FormatVersion, Name: "watch", Started: l.start.UTC(), Driver: history.Imported,
		Clients: len(clients), Keys: len(keys), TTL: l.figures(time.Second).TTL, Nemesis: "none"}
	r, err := history.NewRecorder(w, h, func() time.Duration { return now })
	if err != nil {
		return err
	}
	for _, op := range ops {
		now = op.Time
		r.Record(op)
	}
	r.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	return r.Err()
}
