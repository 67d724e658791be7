package checker_test

import (
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// finding is the oracle's judgement of a property before conclude turns it into a verdict.
type finding struct {
	untested bool
	slack    bool
	late     bool // a violation is complete only at its end
	found    []violation
	rows     []row
	invalid  bool
}

type violation struct {
	key       string
	at, until time.Duration
}

type row struct{ got, need int }

func (f *finding) add(key string, at time.Duration) {
	f.found = append(f.found, violation{key, at, at})
}

// needs counts evidence: all given times, and the times in the faulty period.
func (o *oracle) needs(at []time.Duration, total, faulty int) []row {
	rows := []row{{len(at), total}}
	installed := slices.ContainsFunc(o.faults, func(f *fault) bool { return f.installed })
	if installed || len(o.requested()) > 0 {
		n := 0
		for _, t := range at {
			if o.inFaultyPeriod(t) {
				n++
			}
		}
		rows = append(rows, row{n, faulty})
	}
	return rows
}

func (o *oracle) need(at []time.Duration) []row { return o.needs(at, 10, 3) }

// opinion is the oracle's verdict on a property.
type opinion struct {
	verdict checker.Verdict // "" if it was not tested
	keys    []string        // the keys of violations that convict
	count   int
	found   bool // there was a violation, even if it does not convict
	rows    []row
}

// conclude applies the rule that gives the verdict of every property.
func (o *oracle) conclude(f finding) opinion {
	if f.untested {
		return opinion{}
	}
	x := opinion{rows: f.rows, found: len(f.found) > 0}
	died := never
	for _, op := range o.ops {
		if op.F == history.FDied || op.F == history.FStepped {
			took := 2 * time.Second
			if op.Value.Took > 0 {
				took = op.Value.Took
			}
			died = min(died, op.Time-took)
			break
		}
	}
	for _, v := range f.found {
		if f.late && v.until < died || !f.late && v.at < died {
			x.count++
			if !slices.Contains(x.keys, v.key) {
				x.keys = append(x.keys, v.key)
			}
		}
	}
	slices.Sort(x.keys)
	n := len(o.ops)
	ended := n > 0 && o.ops[n-1].F == history.FEnd
	ineffective := slices.ContainsFunc(o.requested(), func(name string) bool {
		return !slices.ContainsFunc(o.faults, func(f *fault) bool { return f.name == name && o.tookEffect(f) })
	})
	short := slices.ContainsFunc(f.rows, func(r row) bool { return r.got < r.need })
	switch {
	case x.count > 0:
		x.verdict = checker.Violated
	case len(f.found) > 0:
		x.verdict = checker.Invalid
	case o.interrupted < never, o.h.Format >= 2 && !ended:
		x.verdict = checker.Unknown
	case died < never, o.stood(0, o.end) > 0.5, ineffective, f.invalid, f.slack && 4*o.slack > o.ttl, short:
		x.verdict = checker.Invalid
	default:
		x.verdict = checker.Holds
	}
	return x
}
