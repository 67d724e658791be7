package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// backed says whether a quorum of masters had answered yes to a grant's own commands when
// it returned. The commands of an acquire are its SETs; those of an extension are its extends,
// and SETs that create a lost key anew. It is unknown if nobody observed the votes, or the
// harness stood still.
//
// If a lease is also extended without a call, or an extend was sent without a call, no call
// certainly belongs to the extension. Then every command counts that was sent since the grant
// before, or, if extends were in flight at that time, since the first of a series of extends
// without a pause. All extensions that have returned since then share these commands and the
// commands that the earlier extensions may rest on.
func (o *oracle) backed(a *acquisition, i int) (backed, known bool) {
	backed, known, _ = o.rests(a, i)
	return backed, known
}

// rests returns the same as backed, and from when on the commands count.
func (o *oracle) rests(a *acquisition, i int) (backed, known bool, since time.Duration) {
	g := a.grants[i]
	extensions := 1
	since = a.called
	first := since // the earliest time at which a command that counts was sent
	before := 0    // the grant that it extends; a clock change grants nothing
	if i > 0 {
		for j := range i {
			if !a.grants[j].skewed {
				before = j
			}
		}
		since = a.grants[before].at
		itself := slices.ContainsFunc(a.grants[1:], func(x grant) bool { return !x.skewed && x.asked < 0 }) || o.askedUncalled(a)
		if g.asked >= 0 && !itself {
			since = max(since, o.ops[g.asked].Time)
		}
		first = since
		if itself {
			for j := before; j > 0; j-- { // that call may still be pending, if the extension that returned was the lock's own
				if x := a.grants[j]; !x.skewed && x.asked >= 0 {
					since = min(since, o.ops[x.asked].Time)
					break
				}
			}
			since -= o.ttl / 20 // a client may notice an answer so late
			for earlier := true; earlier; {
				earlier = false
				for _, v := range o.votes {
					if !o.of(v, a) || v.command != history.CommandExtend || v.sent > since || v.at <= since {
						continue
					}
					if waiting := o.waiting(a, v); waiting < since {
						since, earlier = waiting, true
					}
				}
			}
			first = since
			for j, x := range a.grants[:i] {
				if j > 0 && !x.skewed && x.at > since+o.slack {
					if backed, known, from := o.rests(a, j); backed || !known {
						extensions++
						first = min(first, from)
					}
				}
			}
		}
	}
	if !o.observed(a) || o.stalled(first, g.at+o.slack) {
		return false, false, since
	}
	yes := map[string]int{}
	for _, v := range o.votes {
		own := v.command == history.CommandSet && (i == 0 || v.sent > a.grants[before].at) || i > 0 && v.command == history.CommandExtend
		if o.of(v, a) && own && v.yes && v.sent >= first-o.slack && v.at <= g.at+o.slack {
			yes[v.master]++
		}
	}
	together := 0
	for _, n := range yes {
		together += min(n, extensions)
	}
	return len(yes) >= o.q && together >= extensions*o.q, true, since
}

// askedUncalled says whether an extend of a lease was sent while no call to extend it was pending.
// A call is pending until the next line of its client about extending this lease.
func (o *oracle) askedUncalled(a *acquisition) bool {
	about := func(op history.Op) bool {
		return op.F == history.FExtend && op.Process == a.client && op.Key == a.key && op.Value != nil && op.Value.Token == a.token
	}
	for _, v := range o.votes {
		if v.command != history.CommandExtend || !o.of(v, a) {
			continue
		}
		called := false
		for i, op := range o.ops {
			if !about(op) || op.Type != history.Invoke || op.Time > v.sent {
				continue
			}
			next := slices.IndexFunc(o.ops[i+1:], about)
			called = called || next < 0 || o.ops[i+1+next].Time >= v.sent
		}
		if !called {
			return true
		}
	}
	return false
}

// quorum finds the acquires that returned a lease though fewer than a quorum of masters had
// answered yes to their SETs.
func (o *oracle) quorum() (f finding) {
	var at []time.Duration
	for _, a := range o.acqs {
		backed, known := o.backed(a, 0)
		if !known {
			continue
		}
		at = append(at, a.grant)
		if !backed {
			f.add(a.key, a.grant)
		}
	}
	f.untested, f.slack = len(at) == 0, true
	f.rows = o.need(at)
	return f
}

// waiting returns the earliest time at which an extend may have begun to wait for the answer of the
// same master to an earlier extend.
func (o *oracle) waiting(a *acquisition, v *vote) time.Duration {
	since := v.sent
	for _, u := range o.votes {
		if o.of(u, a) && u.command == history.CommandExtend && u.master == v.master && u.sent < v.sent && u.at <= v.sent && u.at >= v.sent-o.slack {
			since = min(since, o.waiting(a, u))
		}
	}
	return since
}
