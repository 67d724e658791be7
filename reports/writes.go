package reports

import (
	"time"

	"lockpick/history"
)

// effect is what became of a write.
type effect int

const (
	applied effect = iota
	stale          // applied, although one of a later lease had been
	fenced         // refused by its fencing token, or by the resource's comparison
)

// write is one write that reached the guarded resource.
type write struct {
	attempt int // whose lease it belongs to, -1: of no known lease
	client  int // -1: unknown
	key     int
	at      time.Duration
	effect  effect
	value   int64
	fence   int64
	twin    bool // on the fenced copy of the resource
	index   int
}

// addWrites judges each write by the order in which the resource applied them
// and in which their leases were granted, for the plain resource and for its
// fenced twin apart.
func (t *timeline) addWrites(ops []history.Op, n *names, byToken map[string]int) {
	type register struct {
		key  string
		twin bool
	}
	newest := map[register]time.Duration{} // the grant of the latest lease that was applied
	for i := range ops {
		op := &ops[i]
		if op.F != history.FApply || op.Value == nil {
			continue
		}
		w := write{
			attempt: -1, client: n.clients.of(op.Value.Client), key: n.keys.of(op.Key), at: op.Time,
			value: op.Value.Value, fence: op.Value.Fence, twin: op.Value.Fenced, index: op.Index,
		}
		if at, ok := byToken[op.Value.Token]; ok {
			w.attempt, w.client = at, t.attempts[at].client
		}
		switch r := (register{op.Key, op.Value.Fenced}); {
		case op.Type == history.Fail:
			w.effect = fenced
		case w.attempt >= 0 && t.attempts[w.attempt].lease != nil:
			acquired := t.attempts[w.attempt].lease.Acquired()
			if acquired < newest[r] {
				w.effect = stale
			}
			newest[r] = max(newest[r], acquired)
		}
		t.writes = append(t.writes, w)
	}
}
