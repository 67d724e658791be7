package facts

import (
	"time"

	"lockpick/history"
)

// Pause is a time in which a client stood still.
type Pause struct {
	From, To time.Duration
	Point    string // where in the client's loop it was stopped
	Line     int    // the line that shows its beginning
	EndLine  int    // the line that shows its end
	Ended    bool   // a line shows that its client continued
	cut      bool   // its client crashed or was stopped again first. If neither ended nor cut, to is the end of the history
}

// pauses returns the pauses of each client, in order.
func pauses(ops []history.Op) map[string][]Pause {
	all := map[string][]Pause{}
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		if op.F != history.FPaused && op.F != history.FCrash {
			continue
		}
		mine := all[op.Process]
		if n := len(mine); n > 0 && !mine[n-1].Ended && !mine[n-1].cut && (op.F == history.FCrash || op.Type == history.Invoke) {
			mine[n-1].To, mine[n-1].cut = op.Time, true // its client crashed, or continued without a line that shows it
		}
		if op.F == history.FCrash {
			continue
		}
		if op.Type == history.Invoke {
			p := Pause{From: op.Time, Line: op.Index}
			if op.Value != nil {
				p.Point = op.Value.Point
			}
			all[op.Process] = append(mine, p)
			continue
		}
		if n := len(mine); n > 0 && !mine[n-1].Ended && !mine[n-1].cut {
			mine[n-1].To, mine[n-1].EndLine, mine[n-1].Ended = op.Time, op.Index, true
		}
	}
	for _, mine := range all {
		for i := range mine {
			if !mine[i].Ended && !mine[i].cut {
				mine[i].To = end
			}
		}
	}
	return all
}

// PausesOf returns when a client stood still.
func (r *Run) PausesOf(client string) []history.Span {
	var spans []history.Span
	for _, p := range r.Pauses[client] {
		spans = append(spans, history.Span{From: p.From, To: p.To})
	}
	return spans
}
