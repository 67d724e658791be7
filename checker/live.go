package checker

import (
	"slices"
	"sync"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// Live judges a history by some properties while it is being recorded, with the same checkers as
// Check. Each call of Judge judges the whole history so far. Due spaces these calls so that all of
// them together cost a few times as much as the last one.
//
// Live does not judge mutual exclusion: Watch detects its violations immediately.
//
// Register Observe with a Recorder. Due and Judge may be called at any time, by one goroutine.
type Live struct {
	header history.Header
	by     []Property

	mu  sync.Mutex
	ops []history.Op // only ever appended to

	judged  int // how many operations the last Judge judged
	found   *narrative.Violation
	foundAt time.Duration // the end of the history when found was first found
}

// NewLive returns a Live that judges by the given properties.
func NewLive(header history.Header, by ...Property) *Live {
	return &Live{header: header, by: slices.DeleteFunc(slices.Clone(by), func(p Property) bool { return p.Watched })}
}

// Observe appends one operation. The caller must not change it afterwards.
func (l *Live) Observe(op history.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, op)
}

const (
	firstLook = 200 // operations before the first judgement
	growth    = 8   // a history grows by an eighth between two judgements
)

// Due reports whether enough operations were recorded since the last Judge for another one.
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

// settling returns how long a violation has to persist: an answer in flight may still explain it.
func (l *Live) settling() time.Duration { return max(200*time.Millisecond, l.header.TTL/2) }

// Judge judges the operations recorded so far. It returns a violation only if every call for at
// least 200 ms and half the TTL has found the same one, so that an answer that was in flight can no
// longer explain it; otherwise nil.
func (l *Live) Judge() *narrative.Violation {
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

// same reports whether two judgements found the same violation.
func same(a, b *narrative.Violation) bool {
	return a.Property == b.Property && a.Key == b.Key && a.At == b.At
}

// first returns the first violation in an unfinished history, or nil. It skips violations that late
// lines may still explain.
func (l *Live) first(ops []history.Op) *narrative.Violation {
	r := newRun(history.Pack(&history.History{Header: l.header, Ops: ops}))
	r.Window.To = r.End - 2*r.Slack // a late line may still explain later violations
	var first *narrative.Violation
	for _, p := range l.by {
		j := p.rules.judge(r)
		if j == nil {
			continue
		}
		for i := range j.violations {
			v := j.violations[i]
			when := v.At
			if j.late {
				when = v.Until
			}
			if when >= r.Window.To || when >= r.died.from || first != nil && first.At <= v.At {
				continue
			}
			v.Property, v.Level = p.Name, p.Level
			first = &v.Violation
		}
	}
	return first
}
