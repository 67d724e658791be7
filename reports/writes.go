package reports

import (
	"time"

	"lockpick/history"
)

// effect says whether a write was applied or rejected.
type effect int

const (
	applied effect = iota
	stale          // applied after a write of a later lease
	fenced         // rejected by its fencing token, or by the resource's comparison
)

// write is one write that reached the guarded resource.
type write struct {
	attempt int // attempt of its lease; -1: unknown
	client  int // -1: unknown
	key     int
	at      time.Duration
	effect  effect
	value   int64
	fence   int64
	twin    bool // on the fenced copy of the resource
	index   int
}

// addWrites classifies each write: it compares the order in which the resource applied writes with
// the order in which their leases were granted, separately for the plain resource and its fenced
// copy.
func (t *timeline) addWrites(ops []history.Op, n *names, byToken map[string]int) {
	type register struct {
		key  string
		twin bool
	}
	newest := map[register]time.Duration{} // grant of the latest lease with an applied write
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
