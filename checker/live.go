package checker

import (
	"slices"
	"sync"
	"time"

	"lockpick/history"
)

// Live judges a history by some properties while it is being recorded, with the checkers that judge
// it afterwards. Each look judges all of it so far, and costs as much: Due spaces the
// looks so that all of them together cost a few times what the last one does.
//
// Mutual exclusion is left to Watch, which knows at once.
//
// Register Observe with a Recorder. Due and Judge may be called at any time, by one goroutine.
type Live struct {
	header history.Header
	by     []Property

	mu  sync.Mutex
	ops []history.Op // only ever appended to

	judged  int // operations at the last look
	found   *Violation
	foundAt time.Duration // the end of the history then
}

// NewLive judges by some properties.
func NewLive(header history.Header, by ...Property) *Live {
	return &Live{header: header, by: slices.DeleteFunc(slices.Clone(by), func(p Property) bool { return p == MutualExclusion })}
}

// Observe takes in one operation, which must not be changed any more.
func (l *Live) Observe(op history.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, op)
}

const (
	firstLook = 200 // operations before the first look
	growth    = 8   // a history has grown by an eighth from look to look
)

// Due says whether enough was recorded since the last look for another one.
func (l *Live) Due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.ops)
	if n == 0 || len(l.by) == 0 {
		return false
	}
	if l.found != nil && l.ops[n-1].Time >= l.foundAt+l.settling() {
		return true
	}
	return n >= max(firstLook, l.judged+l.judged/growth)
}

// settling is how long a violation has to last: an answer that is still on its way may explain it.
func (l *Live) settling() time.Duration { return max(200*time.Millisecond, l.header.TTL/2) }

// Judge looks at what was recorded so far. It returns the first violation that was found by an
// earlier look already, before all commands that were on their way then had been answered, or nil.
func (l *Live) Judge() *Violation {
	l.mu.Lock()
	ops := slices.Clip(l.ops)
	l.mu.Unlock()
	l.judged = len(ops)
	before := l.found
	l.found = l.first(ops)
	switch end := ops[len(ops)-1].Time; {
	case l.found == nil:
	case before == nil || !same(before, l.found):
		l.foundAt = end
	case end >= l.foundAt+l.settling():
		return l.found
	}
	return nil
}

// same says whether two looks found the same violation.
func same(a, b *Violation) bool {
	return a.Property == b.Property && a.Key == b.Key && a.At == b.At
}

// first is the first violation that a history shows which is not over yet.
func (l *Live) first(ops []history.Op) *Violation {
	r := newRun(history.Pack(&history.History{Header: l.header, Ops: ops}))
	r.window.To = r.end - 2*r.slack // what comes then may yet be explained by a line that is late
	var first *Violation
	for _, p := range l.by {
		j := judges[p](r)
		if j == nil {
			continue
		}
		for i := range j.violations {
			v := j.violations[i]
			when := v.At
			if j.late {
				when = v.Until
			}
			if when >= r.window.To || when >= r.died.from || first != nil && first.At <= v.At {
				continue
			}
			v.Property, v.Level = p.Name, p.Level
			first = &v
		}
	}
	return first
}
