package reports

import (
	"fmt"
	"strings"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// line is one operation of the history in words.
type line struct {
	Index   int
	At      time.Duration
	Process string
	What    string
}

// evidenceOf describes the operations that prove a violation.
func evidenceOf(h *history.History, v *narrative.Violation) []line {
	var lines []line
	for _, i := range v.Ops {
		at, found := h.At(i)
		if !found {
			continue
		}
		op := &h.Ops[at]
		lines = append(lines, line{op.Index, op.Time, op.Process, tell(op)})
	}
	return lines
}

// tell describes an operation in words.
func tell(op *history.Op) string {
	var b strings.Builder
	b.WriteString(op.F)
	if op.Key != "" {
		fmt.Fprintf(&b, " %s", op.Key)
	}
	if did := map[history.Type]string{history.Invoke: "begins", history.OK: "ok", history.Fail: "fails"}[op.Type]; did != "" {
		fmt.Fprintf(&b, " %s", did)
	}
	if v := op.Value; v != nil {
		if v.Token != "" {
			fmt.Fprintf(&b, ", token %s", v.Token)
		}
		if v.ValidUntil != 0 {
			fmt.Fprintf(&b, ", valid until %s", term.Moment(v.ValidUntil))
		}
		if v.Fence != 0 {
			fmt.Fprintf(&b, ", fencing token %d", v.Fence)
		}
		if v.Command != "" {
			fmt.Fprintf(&b, ", %s of %s", v.Command, v.Client)
		}
	}
	if v := op.Value; v != nil && v.Evidence != "" && (op.F == history.FAcquire || op.F == history.FExtend || op.F == history.FRelease) {
		fmt.Fprintf(&b, ", according to %s", v.Evidence) // imported logs have it
	}
	if op.Error != "" {
		fmt.Fprintf(&b, ": %s", op.Error)
	}
	return b.String()
}
