package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/history"
)

// parse reads a history in the notation of the golden files: one operation a line,
// in order of time. It skips empty lines and lines that begin with #.
//
//	<time> <process>[,<process>…] <f> [<word> …] [<name>=<value> …]
//
//	0ms     c1 acquire invoke k0
//	3ms     m1,m2,m3 vote set yes k0 t1 c1          also: no, silent, maybe; took=2ms, delay=1s, ttl=2s, stored=lock:k0, form=SET_EX_NX
//	4ms     c1 acquire ok k0 t1 until=2s fence=1    also: fail, info; error=…; uninvoked
//	5ms     c1 enter k0 t1                          also: leave
//	5ms     c1 paused invoke point=before-write
//	5ms     c1 hung k0 command=acquire              also: panicked; error=…
//	6ms     c1 write invoke k0 t1 value=7
//	7ms     resource apply ok k0 t1 value=7 fence=1 [fenced]
//	7ms     c1 read ok k0 t1 value=7
//	7ms     resource mark ok k0 t1
//	8ms     nemesis kill install 4 m3,m4 c1         also: skip, error=…; invoke install, if it began before
//	8ms     m3 change evicted k0                    also: the other kinds of changes; c1, who did it
//	9ms     m3 state up keys=k0:t1                  also: keys=none, if it stored nothing
//	9ms     m3 look keys=k0:t1@2s,k1:t2@never       also: keys=none@never; without @, expiries were not read
//	10ms    nemesis kill heal 4 [bit] [evidence=…]  (also: stuck, error=…; invoke heal)
//	11ms    nemesis healed bound=5s                 (also: m4 if it did not come back; fail error=…)
//	12ms    c1 clock k0 t1 rate=2 until=3s
//	12ms    c1 extend ok k0 t1 until=4s
//	13ms    c1 release invoke k0 t1
//	14ms    c8,c9 takes k0 12                       12 leases of 1ms each, one after the other, the clients in turn
//
// An underscore in a value is a space. parse adds an invocation at the same time to a granted
// acquire and to a change of a fault that have none, unless they are uninvoked. WriteHistory writes
// this notation.
func parse(header history.Header, text string) (*history.History, error) {
	h := &history.History{Header: header}
	taken := 0
	calling := openCalls{}
	for n, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: %q: a time, a process and an operation are needed", n+1, line)
		}
		at, err := time.ParseDuration(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if k := len(h.Ops); k > 0 && at < h.Ops[k-1].Time {
			return nil, fmt.Errorf("line %d: %s lies before the line above", n+1, at)
		}
		processes := strings.Split(fields[1], ",")
		if fields[2] == "takes" {
			times, err := strconv.Atoi(fields[4])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			for i := range times {
				taken++
				h.Ops = append(h.Ops, take(at, processes[i%len(processes)], fields[3], fmt.Sprintf("x%d", taken), int64(taken))...)
				at += 2 * time.Millisecond
			}
			continue
		}
		for _, process := range processes {
			words := slices.DeleteFunc(slices.Clone(fields[3:]), func(w string) bool { return w == uninvoked })
			op, err := parseOp(at, process, fields[2], words)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			if calling.lacks(&op) && len(words) == len(fields)-3 {
				h.Ops = append(h.Ops, invocation(op))
			}
			h.Ops = append(h.Ops, op)
		}
	}
	for i := range h.Ops {
		h.Ops[i].Index = i
	}
	return h, nil
}

// uninvoked is the word for a completion whose invocation the history lacks.
const uninvoked = "uninvoked"

// openCalls holds the acquires and the changes of faults that have begun.
type openCalls map[string]bool

// lacks reports whether op is one that parse adds an invocation to. It keeps op in mind.
func (c openCalls) lacks(op *history.Op) bool {
	call := ""
	switch {
	case op.F == history.FAcquire:
		call = op.Process
	case op.Value != nil && op.Value.Phase != "":
		call = fmt.Sprint(op.F, op.Value.ID, op.Value.Phase)
	default:
		return false
	}
	open := c[call]
	c[call] = op.Type == history.Invoke
	return !open && op.Type != history.Invoke && (op.F != history.FAcquire || op.Type == history.OK)
}

// invocation returns the invocation of a completed call, at the same time.
func invocation(op history.Op) history.Op {
	v := op.Value
	op.Type, op.Error = history.Invoke, ""
	if op.F == history.FAcquire {
		op.Value = nil
		if v.Mode != "" || v.Permits != 0 {
			op.Value = &history.Value{Mode: v.Mode, Permits: v.Permits}
		}
	}
	return op
}

// take returns the operations of a lease of a millisecond, from its acquire to its release.
func take(at time.Duration, process, key, token string, fence int64) []history.Op {
	at2 := at + time.Millisecond
	lease := &history.Value{Token: token, ValidUntil: at + 2*time.Second, Fence: fence}
	return []history.Op{
		{Time: at, Process: process, Type: history.Invoke, F: history.FAcquire, Key: key},
		{Time: at, Process: process, Type: history.OK, F: history.FAcquire, Key: key, Value: lease},
		{Time: at2, Process: process, Type: history.Invoke, F: history.FRelease, Key: key, Value: &history.Value{Token: token}},
		{Time: at2, Process: process, Type: history.OK, F: history.FRelease, Key: key, Value: &history.Value{Token: token}},
	}
}

func parseOp(at time.Duration, process, f string, words []string) (history.Op, error) {
	v := &history.Value{}
	op := history.Op{Time: at, Process: process, F: f, Type: history.Info, Value: v}
	phase := ""
	for i, w := range words {
		name, value, pair := strings.Cut(w, "=")
		value = strings.ReplaceAll(value, "_", " ")
		var err error
		switch {
		case pair && name == "until":
			v.ValidUntil, err = time.ParseDuration(value)
		case pair && name == "took":
			v.Took, err = time.ParseDuration(value)
		case pair && name == "bound":
			v.Bound, err = time.ParseDuration(value)
		case pair && name == "rate":
			v.Rate, err = strconv.ParseFloat(value, 64)
		case pair && name == "mode":
			v.Mode = value
		case pair && name == "permits":
			v.Permits, err = strconv.Atoi(value)
		case pair && name == "fence":
			v.Fence, err = strconv.ParseInt(value, 10, 64)
		case pair && name == "value":
			v.Value, err = strconv.ParseInt(value, 10, 64)
		case pair && name == "delay":
			v.Delay, err = time.ParseDuration(value)
		case pair && name == "ttl":
			v.TTL, err = time.ParseDuration(value)
		case pair && name == "stored":
			v.RedisKey = value
		case pair && name == "form":
			v.Form = value
		case pair && name == "command":
			v.Command = value
		case pair && name == "point":
			v.Point = value
		case pair && name == "error":
			op.Error = value
		case pair && name == "evidence":
			v.Evidence = value
		case pair && name == "keys":
			err = parseKeys(v, value)
		case w == "invoke" || w == "ok" || w == "fail" || w == "info":
			op.Type = history.Type(w)
		case w == "fenced":
			v.Fenced = true
		case w == "at-least":
			v.AtLeast = true
		case w == "bit":
			v.TookEffect = true
		case f == history.FVote && w == "yes":
			op.Type, v.Yes = history.OK, true
		case f == history.FVote && w == "no":
			op.Type = history.OK
		case f == history.FVote && w == "silent":
			op.Type = history.Info
		case f == history.FVote && w == "maybe":
			op.Type, v.Yes = history.Info, true
		case f == history.FVote && i == 0:
			v.Command = w
		case f == history.FChange && i == 0:
			v.Command = w
		case f == history.FState:
			v.State = w
		case w == "install" || w == "heal" || w == "skip" || w == "stuck":
			phase = w
		case phase != "" && v.ID == 0:
			v.ID, err = strconv.Atoi(w)
		case (phase != "" || f == history.FHealed) && strings.HasPrefix(w, "m"):
			v.Masters = strings.Split(w, ",")
		case phase != "" && strings.HasPrefix(w, "c"):
			v.Clients = strings.Split(w, ",")
		case strings.ContainsAny(w[:1], "kj") && (f != history.FVote || op.Key == ""):
			op.Key = w
		case strings.HasPrefix(w, "t") || strings.HasPrefix(w, "x"):
			v.Token = w
		case strings.HasPrefix(w, "c"):
			v.Client = w
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return op, err
		}
	}
	for _, p := range phases {
		if p.word == phase {
			v.Phase = p.phase
			if op.Type != history.Invoke {
				op.Type = p.typ
			}
		}
	}
	return op, nil
}

// phases holds the words for changes of a fault.
var phases = []struct {
	word  string
	phase string
	typ   history.Type // of the completion
}{
	{"install", history.PhaseInstall, history.OK}, {"skip", history.PhaseInstall, history.Fail},
	{"heal", history.PhaseHeal, history.OK}, {"stuck", history.PhaseHeal, history.Info},
}

// parseKeys reads the keys that a master stored, and when they expire.
func parseKeys(v *history.Value, text string) error {
	v.Keys = map[string]string{}
	for _, word := range strings.Split(text, ",") {
		word, end, read := strings.Cut(word, "@")
		if read && v.Expires == nil {
			v.Expires = map[string]time.Duration{}
		}
		i := strings.LastIndexByte(word, ':')
		if i < 0 {
			continue // none
		}
		key := word[:i]
		v.Keys[key] = word[i+1:]
		if read && end != "never" {
			at, err := time.ParseDuration(end)
			if err != nil {
				return err
			}
			v.Expires[key] = at
		}
	}
	return nil
}
