package history

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits of the values in a history. They are far beyond any run, and prevent overflows in sums
// and products.
const (
	MaxTime    = 50 * 365 * 24 * time.Hour // the largest time or duration
	MaxMasters = 1_000
	MaxClients = 100_000
	MaxKeys    = 100_000
)

// check returns why a header cannot be used, or nil.
func (h *Header) check() error {
	for _, x := range []struct {
		name string
		is   int
		most int
	}{{"masters", h.Masters, MaxMasters}, {"quorum", h.Quorum, h.Masters}, {"clients", h.Clients, MaxClients}, {"keys", h.Keys, MaxKeys}} {
		if x.is < 0 || x.is > x.most {
			return fmt.Errorf("field %q is %d, but must be from 0 to %d", x.name, x.is, x.most)
		}
	}
	if h.TTL < 0 || h.TTL > MaxTime {
		return fmt.Errorf(`field "ttl" is %d ns, but must be from 0 to 50 years`, int64(h.TTL))
	}
	if h.Retry < 0 || h.Retry > MaxTime {
		return fmt.Errorf(`field "retry" is %d ns, but must be from 0 to 50 years`, int64(h.Retry))
	}
	return h.checkKind()
}

// checks validates every line. An error makes a history unusable: the meaning of the line is
// unknown, and any verdict might rest on it. A problem is something unusual that has one safe
// interpretation, which docs/history.md gives.
type checks struct {
	problems problems
	before   time.Duration // the time of the previous line
	ended    bool
	clients  map[string]*clientChecks
}

// clientChecks holds the calls in flight and the latest leases of one client.
type clientChecks struct {
	calls  map[callSlot]int
	died   map[callSlot]int    // the calls that were in flight when it last crashed
	leases map[string][]string // token to keys: a multi-lock has several
}

// clientMemory is the maximum number of calls and leases remembered for a client, so that a
// client that never completes its calls cannot fill the memory.
const clientMemory = 1024

func newChecks() checks { return checks{clients: map[string]*clientChecks{}} }

// op checks the operation in a line, which must have the given index.
func (c *checks) op(op *Op, index, line int, unknown []string) error {
	switch op.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("not an operation: type %s is none of invoke, ok, fail, info", quoted(string(op.Type)))
	}
	if op.Index != index {
		return fmt.Errorf("index %d where %d was expected: lines are missing, doubled or out of order", op.Index, index)
	}
	if op.Time < 0 || op.Time > MaxTime {
		return fmt.Errorf("time %d is not from 0 to 50 years", int64(op.Time))
	}
	if op.Time < c.before {
		return fmt.Errorf("time %d lies before the time of the line above", int64(op.Time))
	}
	c.before = op.Time
	if v := op.Value; v != nil {
		if err := v.check(); err != nil {
			return err
		}
	}
	if err := op.check(unknown); err != nil {
		return err
	}
	for _, name := range unknown {
		c.problems.unknownField(line, name)
	}
	if c.ended {
		c.problems.add(line, "after the end", "a line after the end mark")
	}
	c.ended = op.endsHistory()
	switch op.F {
	case FVote: // most lines
	case FAcquire, FRelease, FWrite, FCrash:
		c.client(op, line)
	default:
		if op.Process != Nemesis && !slices.Contains(knownOperations, op.F) {
			f := quoted(op.F)
			c.problems.add(line, "unknown operation "+f, fmt.Sprintf("unknown operation %s of %s: it is not judged", f, named(op.Process)))
		}
	}
	return nil
}

// knownOperations lists all operations except those of the nemesis.
var knownOperations = []string{
	FAcquire, FExtend, FRelease, FEnter, FLeave, FLost, FRead, FWrite, FMark, FApply, FVote, FPaused, FCrash, FClock, FSnapshot, FState, FStall,
	FChange, FUnseen, FDied, FElected, FUnmodelled, FRefused, FBroke, FStepped, FHung, FPanicked, FRule, FInterrupted, FEnd,
}

// check returns an error if a field of a value is out of range.
func (v *Value) check() error {
	if v.Took|v.TTL|v.Delay|v.Bound < 0 || v.Took > MaxTime || v.TTL > MaxTime || v.Delay > MaxTime || v.Bound > MaxTime {
		for _, x := range v.durations() {
			if x.is < 0 || x.is > MaxTime {
				return fmt.Errorf("field %q is %d ns, but must be from 0 to 50 years", "value."+x.name, int64(x.is))
			}
		}
	}
	if v.Mode != "" && v.Mode != ModeRead && v.Mode != ModeWrite {
		return fmt.Errorf(`field "value.mode" is %s, but must be read, write or absent`, quoted(v.Mode))
	}
	if v.Permits < 0 || v.Permits > MaxPermits {
		return fmt.Errorf(`field "value.permits" is %d, but must be from 0 to %d`, v.Permits, MaxPermits)
	}
	if v.ValidUntil > MaxTime || v.ValidUntil < -MaxTime {
		return fmt.Errorf(`field "value.valid_until" is %d ns, more than 50 years from the run's beginning`, int64(v.ValidUntil))
	}
	if v.Offset != nil && (*v.Offset > MaxTime || *v.Offset < -MaxTime) {
		return fmt.Errorf(`field "value.offset" is %d ns, more than 50 years`, int64(*v.Offset))
	}
	for key, at := range v.Expires {
		if at > MaxTime || at < -MaxTime {
			return fmt.Errorf(`field "value.expires" says %d ns of %s, more than 50 years from the run's beginning`, int64(at), quoted(key))
		}
	}
	return nil
}

type namedDuration struct {
	name string
	is   time.Duration
}

func (v *Value) durations() []namedDuration {
	return []namedDuration{{"took", v.Took}, {"ttl", v.TTL}, {"delay", v.Delay}, {"bound", v.Bound}}
}

// check returns an error if an operation lacks a required field.
func (op *Op) check(unknown []string) error {
	missingField := op.missingField()
	if missingField == "" {
		return nil
	}
	text := fmt.Sprintf("%s %s of %s has no %q", op.F, op.Type, named(op.Process), missingField)
	if len(unknown) > 0 {
		text += ", but the unknown field " + quoted(unknown[0])
	}
	return errors.New(text)
}

// missingField returns the name of a required field that an operation does not have, or "".
func (op *Op) missingField() string {
	v := op.Value
	switch op.F {
	case FVote, FChange, FState, FSnapshot, FStall, FRead, FWrite, FMark:
		if v == nil {
			return "value"
		}
	case FEnter, FLeave, FApply:
		switch {
		case v == nil:
			return "value"
		case v.Token == "":
			return "value.token"
		}
	case FAcquire, FExtend:
		switch {
		case op.Type != OK:
		case v == nil:
			return "value"
		case v.Token == "":
			return "value.token"
		case v.ValidUntil == 0:
			return "value.valid_until"
		}
	}
	return ""
}

// client finds calls without an invocation, and releases of another key than that of the lease.
func (c *checks) client(op *Op, line int) {
	x := c.clients[op.Process]
	if x == nil || op.F == FCrash {
		anew := &clientChecks{calls: map[callSlot]int{}, leases: map[string][]string{}}
		if x != nil {
			anew.died = x.calls
		}
		x = anew
		c.clients[op.Process] = x
	}
	if op.F == FCrash {
		return
	}
	token := op.token()
	slot := callSlot{process: op.Process, f: op.F, key: op.Key, token: token}
	if op.F == FAcquire {
		slot.token = ""
	}
	switch {
	case op.Type == Invoke:
		if len(x.calls) >= clientMemory {
			clear(x.calls)
		}
		x.calls[slot]++
	case x.calls[slot] > 1:
		x.calls[slot]--
	case x.calls[slot] == 1:
		delete(x.calls, slot)
	case op.Type == Info && x.died[slot] > 0: // the unknown outcome of a call before the crash
		x.died[slot]--
	default:
		c.problems.add(line, "no invocation of "+op.F, fmt.Sprintf("%s %s of %s has no invocation", op.F, op.Type, named(op.Process)))
	}
	switch {
	case op.F == FAcquire && op.Type == OK:
		if len(x.leases) >= clientMemory {
			clear(x.leases)
		}
		if !slices.Contains(x.leases[token], op.Key) {
			x.leases[token] = append(x.leases[token], op.Key)
		}
	case op.F == FRelease:
		keys, known := x.leases[token]
		if known && !slices.Contains(keys, op.Key) {
			c.problems.add(line, "release of another key", fmt.Sprintf("%s releases %s, but its lease is on %s", named(op.Process), quoted(op.Key), quoted(keys[0])))
			keys = nil
		}
		if op.Type == Invoke {
			break
		}
		if x.leases[token] = slices.DeleteFunc(keys, func(key string) bool { return key == op.Key }); len(x.leases[token]) == 0 {
			delete(x.leases, token)
		}
	}
}
