package reports

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// The process ids of a Perfetto trace. Perfetto groups tracks by process.
const (
	perfettoClients = 1
	perfettoMasters = 2
	perfettoFaults  = 3
)

// perfettoEvent is an event of the Trace Event Format in JSON.
type perfettoEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"` // µs
	Dur   float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// perfettoWriter writes trace events one by one, because a long run has millions.
type perfettoWriter struct {
	out     *bufio.Writer
	n       int
	err     error
	tracks  map[[2]any]int // track numbers by process and name
	numbers map[int]int    // number of tracks by process
	flows   int
}

// exportPerfetto writes the run as trace events for ui.perfetto.dev. Slices on one track must not
// overlap partially, but calls, leases and sections do. Therefore calls, leases, sections and
// faults are asynchronous events (b and e, with an id of their own). Commands and replies are
// slices of one microsecond, and arrows (flows) join them.
func exportPerfetto(w io.Writer, x *Export) error {
	p := &perfettoWriter{out: bufio.NewWriter(w), tracks: map[[2]any]int{}, numbers: map[int]int{}}
	p.out.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	for i, name := range []string{"clients", "masters", "faults"} {
		p.event(perfettoEvent{Name: "process_name", Phase: "M", PID: perfettoClients + i, Args: map[string]any{"name": name}})
	}
	ops := x.History.Ops
	calls := history.CallsOf(ops)
	p.leases(ops)
	for i := range ops {
		op := &ops[i]
		if op.F == history.FVote && op.Value != nil {
			p.vote(op)
			continue
		}
		p.call(ops, calls, i)
	}
	for _, f := range history.Faults(ops) {
		if !f.Installed {
			continue
		}
		on := strings.Join(slices.Concat(f.Masters, f.Clients), " ")
		p.lasting(perfettoFaults, f.Name, fmt.Sprintf("fault-%d", f.ID), strings.TrimSpace(f.Name+" "+on), f.From, f.To, map[string]any{"evidence": f.Evidence})
	}
	fmt.Fprint(p.out, "\n]}\n")
	if p.err != nil {
		return p.err
	}
	return p.out.Flush()
}

// event writes e as an element of the JSON array.
func (p *perfettoWriter) event(e perfettoEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		p.err = err
		return
	}
	if p.n++; p.n > 1 {
		p.out.WriteByte(',')
	}
	p.out.WriteByte('\n')
	p.out.Write(b)
}

// track returns the number of a process's track. Its first use of a name also writes the name.
func (p *perfettoWriter) track(pid int, name string) int {
	at := [2]any{pid, name}
	if n, ok := p.tracks[at]; ok {
		return n
	}
	p.numbers[pid]++
	n := p.numbers[pid]
	p.tracks[at] = n
	p.event(perfettoEvent{Name: "thread_name", Phase: "M", PID: pid, TID: n, Args: map[string]any{"name": name}})
	return n
}

func micro(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 }

// lasting writes an interval as an asynchronous event.
func (p *perfettoWriter) lasting(pid int, track, id, name string, from, to time.Duration, args map[string]any) {
	tid := p.track(pid, track)
	cat := strings.SplitN(id, "-", 2)[0]
	p.event(perfettoEvent{Name: name, Cat: cat, Phase: "b", TS: micro(from), PID: pid, TID: tid, ID: id, Args: args})
	p.event(perfettoEvent{Name: name, Cat: cat, Phase: "e", TS: micro(max(from, to)), PID: pid, TID: tid, ID: id})
}

// leases writes the holds of leases and the critical sections.
func (p *perfettoWriter) leases(ops []history.Op) {
	for _, l := range history.Leases(ops) {
		for i, h := range l.Holds() {
			p.lasting(perfettoClients, l.Process, fmt.Sprintf("lease-%d-%d", l.ID, i), "lease "+l.Key, h.From, h.To, map[string]any{"token": l.Token, "fence": l.Fence})
		}
		if l.EnterIndex >= 0 {
			p.lasting(perfettoClients, l.Process, fmt.Sprintf("section-%d", l.ID), "critical section "+l.Key, l.Entered, l.Left, map[string]any{"token": l.Token})
		}
	}
}

// vote writes a command and its reply: a slice at the client, one at the master, an arrow between
// them, and after a yes the TTL that the master counts down from then on.
func (p *perfettoWriter) vote(op *history.Op) {
	v := op.Value
	answered := (op.Time - v.Delay).Truncate(time.Microsecond)
	sent := max(answered-v.Took, 0).Truncate(time.Microsecond)
	word := "yes"
	switch {
	case op.Error != "":
		word = "no answer"
	case !v.Yes:
		word = "no"
	}
	p.flows++
	client, master := p.track(perfettoClients, v.Client+" commands"), p.track(perfettoMasters, op.Process)
	flow := fmt.Sprintf("%d", p.flows)
	args := map[string]any{"token": v.Token, "client": v.Client, "error": op.Error}
	name := v.Command + " " + op.Key
	p.event(perfettoEvent{Name: name, Cat: "command", Phase: "X", TS: micro(sent), Dur: 1, PID: perfettoClients, TID: client, Args: args})
	p.event(perfettoEvent{Name: "vote", Cat: "vote", Phase: "s", TS: micro(sent), PID: perfettoClients, TID: client, ID: flow})
	p.event(perfettoEvent{Name: name + ": " + word, Cat: "vote", Phase: "X", TS: micro(answered), Dur: 1, PID: perfettoMasters, TID: master, Args: args})
	p.event(perfettoEvent{Name: "vote", Cat: "vote", Phase: "f", Bind: "e", TS: micro(answered), PID: perfettoMasters, TID: master, ID: flow})
	if !v.Yes || op.Error != "" {
		return
	}
	ttl := time.Duration(0)
	if v.Command == history.CommandSet || v.Command == history.CommandExtend {
		ttl = v.TTL
	}
	p.event(perfettoEvent{Name: op.Process + " TTL of " + op.Key + " (ms)", Phase: "C", TS: micro(answered), PID: perfettoMasters, TID: master,
		Args: map[string]any{"ms": float64(ttl.Microseconds()) / 1000}})
}

// call writes the client's call that line i ends, or the client's crash, panic or hang.
func (p *perfettoWriter) call(ops []history.Op, calls *history.Calls, i int) {
	op := &ops[i]
	switch op.F {
	case history.FCrash, history.FPanicked, history.FHung:
		p.event(perfettoEvent{Name: op.F, Phase: "i", TS: micro(op.Time), PID: perfettoClients, TID: p.track(perfettoClients, op.Process), Scope: "t"})
	case history.FAcquire, history.FExtend, history.FRelease, history.FWrite:
		began, ok := calls.Invocation(i)
		if !ok {
			return
		}
		name := op.F + " " + op.Key
		if op.Type != history.OK {
			name += ": " + string(op.Type)
		}
		p.lasting(perfettoClients, op.Process+" calls", fmt.Sprintf("call-%d", op.Index), name, ops[began].Time, op.Time, map[string]any{"error": op.Error})
	}
}
