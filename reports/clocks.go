package reports

import (
	"slices"
	"time"

	"lockpick/history"
)

// clockNoise is how far off a clock may seem for no other reason than that an answer
// takes its time.
const clockNoise = 100 * time.Millisecond

// clocksOf lists what the masters said of their clocks: the master's number, when, and
// how far its clock was ahead of the true one, in microseconds. Nothing if all clocks
// were right all the time: there is nothing to see then.
func clocksOf(h *history.History, t *timeline) [][]int64 {
	said := [][]int64{}
	off := false
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != history.FLook || op.Value == nil || op.Value.Offset == nil {
			continue
		}
		master := slices.Index(t.masters, op.Process)
		if master < 0 {
			continue
		}
		said = append(said, []int64{int64(master), micros(op.Time), micros(*op.Value.Offset)})
		off = off || op.Value.Offset.Abs() > clockNoise
	}
	if !off {
		return [][]int64{}
	}
	return said
}
