package reports

import (
	"slices"
	"time"

	"lockpick/history"
)

// clockNoise is the largest offset of a clock that may be due to the delay of the reply alone.
const clockNoise = 100 * time.Millisecond

// clocksOf lists the masters' clock readings: the master's number, the time of the reading, and how
// far the clock was ahead of the true one; both times in microseconds. It is empty if no clock was
// ever off by more than clockNoise, because then there is nothing to show.
func clocksOf(h *history.History, t *timeline) [][]int64 {
	said := [][]int64{}
	off := false
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != history.FSnapshot || op.Value == nil || op.Value.Offset == nil {
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
