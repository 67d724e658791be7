package checker

import (
	"time"

	"lockpick/history"
)

// pause is a time in which a client stood still.
type pause struct {
	from, to time.Duration
	point    string // where in the client's loop it was stopped
	line     int    // the line that shows its beginning
	endLine  int    // the line that shows its end
	ended    bool   // a line shows that its client continued
	cut      bool   // its client crashed or was stopped again first. If neither ended nor cut, to is the end of the history
}

// pauses returns the pauses of each client, in order.
func pauses(ops []history.Op) map[string][]pause {
	all := map[string][]pause{}
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		if op.F != history.FPaused && op.F != history.FCrash {
			continue
		}
		mine := all[op.Process]
		if n := len(mine); n > 0 && !mine[n-1].ended && !mine[n-1].cut && (op.F == history.FCrash || op.Type == history.Invoke) {
			mine[n-1].to, mine[n-1].cut = op.Time, true // its client crashed, or continued without a line that shows it
		}
		if op.F == history.FCrash {
			continue
		}
		if op.Type == history.Invoke {
			p := pause{from: op.Time, line: op.Index}
			if op.Value != nil {
				p.point = op.Value.Point
			}
			all[op.Process] = append(mine, p)
			continue
		}
		if n := len(mine); n > 0 && !mine[n-1].ended && !mine[n-1].cut {
			mine[n-1].to, mine[n-1].endLine, mine[n-1].ended = op.Time, op.Index, true
		}
	}
	for _, mine := range all {
		for i := range mine {
			if !mine[i].ended && !mine[i].cut {
				mine[i].to = end
			}
		}
	}
	return all
}

// stops returns when a client stood still.
func (r *run) stops(client string) []history.Span {
	var spans []history.Span
	for _, p := range r.pauses[client] {
		spans = append(spans, history.Span{From: p.from, To: p.to})
	}
	return spans
}
