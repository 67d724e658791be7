package reports

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// The process ids of a Perfetto trace. Perfetto groups tracks by process, and of an asynchronous event its importer
// ignores the thread: so that leases belong to a client, each client is a process.
const (
	perfettoViolations = 1
	perfettoMasters    = 2
	perfettoFaults     = 3
	perfettoClients    = 10 // the first client; the others follow
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
	clients map[string]int // processes by client
	flows   int
}

// exportPerfetto writes the run as trace events for ui.perfetto.dev. Slices on one track must not
// overlap partially, but calls, leases and sections do. Therefore calls, leases, sections, faults and violations that
// last are asynchronous events (b and e, with an id of their own). Commands and replies are
// slices of one microsecond, and arrows (flows) join them. What happens at once is an instant: that a violation begins,
// that a lease ends before its release, that a process goes down or comes back.
func exportPerfetto(w io.Writer, x *Export) error {
	p := &perfettoWriter{out: bufio.NewWriter(w), tracks: map[[2]any]int{}, numbers: map[int]int{}, clients: map[string]int{}}
	p.out.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	for i, name := range []string{"violations", "masters", "faults"} {
		p.process(perfettoViolations+i, name)
	}
	p.violations(x)
	ops := x.History.Ops
	calls := history.CallsOf(ops)
	p.leases(ops)
	for i := range ops {
		op := &ops[i]
		if op.F == history.FVote && op.Value != nil {
			p.vote(op)
			continue
		}
		if op.F == history.FState && op.Value != nil {
			p.instant(perfettoMasters, op.Process, op.Process+" "+op.Value.State, op.Time, nil)
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

// process names a process, and places it in the order of the ids.
func (p *perfettoWriter) process(pid int, name string) {
	p.event(perfettoEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
	p.event(perfettoEvent{Name: "process_sort_index", Phase: "M", PID: pid, Args: map[string]any{"sort_index": pid}})
}

// client returns the process of a client.
func (p *perfettoWriter) client(name string) int {
	pid, known := p.clients[name]
	if !known {
		pid = perfettoClients + len(p.clients)
		p.clients[name] = pid
		p.process(pid, name)
	}
	return pid
}

// instant writes something that happens at once.
func (p *perfettoWriter) instant(pid int, track, name string, at time.Duration, args map[string]any) {
	p.event(perfettoEvent{Name: name, Phase: "i", TS: micro(at), PID: pid, TID: p.track(pid, track), Scope: "t", Args: args})
}

// violations writes each violation as an instant, in its own process and in those of its clients, and as an interval if
// it lasts.
func (p *perfettoWriter) violations(x *Export) {
	for i, v := range listViolations(x.Result) {
		track, name, args := v.Level+" "+checker.TitleOf(v.Property), v.Level+" violated", map[string]any{"violation": i + 1, "summary": v.Summary}
		p.instant(perfettoViolations, track, name, v.At, args)
		if v.Until > v.At {
			p.lasting(perfettoViolations, track, fmt.Sprintf("violation-%d", i), track, v.At, v.Until, args)
		}
		for _, c := range slices.Compact(slices.Sorted(slices.Values(v.Clients))) {
			p.instant(p.client(c), "events", name, v.At, args)
		}
	}
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
		pid := p.client(l.Process)
		for i, h := range l.Holds() {
			if l.ReleaseIndex < 0 || l.Released > h.To {
				p.instant(pid, "events", "lease "+l.Key+" ended", h.To, map[string]any{"token": l.Token})
			}
			p.lasting(pid, "leases", fmt.Sprintf("lease-%d-%d", l.ID, i), "lease "+l.Key, h.From, h.To, map[string]any{"token": l.Token, "fence": l.Fence})
		}
		if l.EnterIndex >= 0 {
			p.lasting(pid, "sections", fmt.Sprintf("section-%d", l.ID), "critical section "+l.Key, l.Entered, l.Left, map[string]any{"token": l.Token})
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
	pid := p.client(v.Client)
	client, master := p.track(pid, "commands"), p.track(perfettoMasters, op.Process)
	flow := fmt.Sprintf("%d", p.flows)
	args := map[string]any{"token": v.Token, "client": v.Client, "error": op.Error}
	name := v.Command + " " + op.Key
	p.event(perfettoEvent{Name: name, Cat: "command", Phase: "X", TS: micro(sent), Dur: 1, PID: pid, TID: client, Args: args})
	p.event(perfettoEvent{Name: "vote", Cat: "vote", Phase: "s", TS: micro(sent), PID: pid, TID: client, ID: flow})
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
	case history.FCrash, history.FPanicked, history.FHung, history.FPaused:
		p.instant(p.client(op.Process), "events", op.F, op.Time, nil)
	case history.FAcquire, history.FExtend, history.FRelease, history.FWrite:
		began, ok := calls.Invocation(i)
		if !ok {
			return
		}
		name := op.F + " " + op.Key
		if op.Type != history.OK {
			name += ": " + string(op.Type)
		}
		p.lasting(p.client(op.Process), "calls", fmt.Sprintf("call-%d", op.Index), name, ops[began].Time, op.Time, map[string]any{"error": op.Error})
	}
}
