package reports

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
)

// plan says what a synthetic run is like. It stands in for a campaign: five
// masters, clients that lock, enter, write, leave and release, and faults.
type plan struct {
	name        string
	seed        uint64
	masters     int
	clients     []string
	keys        []string
	ttl, length time.Duration
	lines       int // stop after as many lines, if not 0
	persistence string
	fencing     bool
	faults      bool
	quiet       bool // no fault that breaks exclusion
	err         string
}

func violatedPlan() plan {
	return plan{
		name: "restart-without-persistence", seed: 2, masters: 5, clients: []string{"c1", "c2", "c3", "c4", "c5"}, keys: []string{"k0", "k1"},
		ttl: 2 * time.Second, length: 30 * time.Second, persistence: "none", fencing: true, faults: true, err: "i/o timeout",
	}
}

// soundPlan has no fault that can break exclusion, and short holds.
func soundPlan() plan {
	p := violatedPlan()
	p.name, p.persistence, p.fencing, p.quiet, p.keys = "partitions-only", "always", false, true, []string{"k0"}
	return p
}

// longPlan goes on until its history has as many lines.
func longPlan(lines int) plan {
	p := violatedPlan()
	p.name, p.lines, p.length = "long", lines, time.Hour
	return p
}

// hostilePlan has markup and control characters wherever a name or an error goes.
func hostilePlan() plan {
	const evil = `</script><img src=x onerror=alert(1)>`
	p := violatedPlan()
	p.name, p.err = evil, "i/o timeout "+evil+"\x1b[2J"
	p.clients = []string{"c1", "c2" + evil, "c3\u2028]]>", "c4&amp;{{.}}"}
	p.keys = []string{"k0" + evil, "k1'\"`${alert(1)}"}
	return p
}

type world struct {
	plan
	rng    *rand.Rand
	now    time.Duration
	events events
	serial int
	ops    []history.Op
	server []server
	cut    map[string]bool // client and master
	stood  map[string]time.Duration
	tokens int
	faults int
	inside map[string]bool // clients in a critical section
	fence  int64
	over   bool
	limit  map[string]int64 // fencing token that the twin resource saw, by key
}

type server struct {
	state string
	since time.Duration
	keys  map[string]string
	until map[string]time.Duration
}

type event struct {
	at time.Duration
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].n, e[j].n)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { x := (*e)[len(*e)-1]; *e = (*e)[:len(*e)-1]; return x }

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, event{w.now + d, w.serial, do})
}

func (w *world) record(op history.Op) {
	op.Index, op.Time = len(w.ops), w.now
	w.ops = append(w.ops, op)
}

func (w *world) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

// synthesize runs a plan: the same plan gives the same history.
func synthesize(p plan) (*history.History, *judge.Result) {
	w := &world{plan: p, rng: rand.New(rand.NewPCG(p.seed, 1)), cut: map[string]bool{}, stood: map[string]time.Duration{}, limit: map[string]int64{}, inside: map[string]bool{}}
	for range p.masters {
		w.server = append(w.server, server{"up", 0, map[string]string{}, map[string]time.Duration{}})
	}
	for _, c := range p.clients {
		w.after(w.between(0, 300*time.Millisecond), func() { w.acquire(c) })
	}
	if p.faults {
		w.after(time.Second, func() {
			w.faults++
			w.skip("power-cut", history.Value{ID: w.faults, Masters: []string{"m2"}}, "the fault shim is not loaded: no C compiler was found")
		})
		w.after(2*time.Second, w.strike)
	}
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		if p.lines > 0 && len(w.ops) >= p.lines || w.now > p.length {
			w.over = true
		}
		if w.over && w.now > p.length+5*time.Second || w.over && p.lines > 0 {
			break
		}
		e.do()
	}
	w.record(history.Op{Process: history.Nemesis, Type: history.Info, F: history.FHealed, Value: &history.Value{Bound: 5 * time.Second}})
	h := &history.History{Header: history.Header{
		Format: 1, Name: p.name, Started: time.Date(2025, 3, 14, 9, 26, 53, 0, time.UTC), Seed: p.seed, Driver: "process", Lock: "redlock",
		Masters: p.masters, Quorum: p.masters/2 + 1, Persistence: p.persistence, Clients: len(p.clients), Keys: len(p.keys), TTL: p.ttl,
		Fencing: p.fencing, Faults: []string{"kill", "pause", "power-cut", "partition", "client-pause"}, Nemesis: "random",
		Versions: map[string]string{"redis": "7.0.15", "go": "go1.26.0", "lockpick": "v0.1.0"},
	}, Ops: w.ops}
	return h, naiveResult(h)
}

func (w *world) acquire(c string) {
	if w.over {
		return
	}
	if until := w.stood[c]; until > w.now {
		w.after(until-w.now, func() { w.acquire(c) })
		return
	}
	key := w.keys[w.rng.IntN(len(w.keys))]
	w.tokens++
	token, began := fmt.Sprintf("%08x%04x", uint32(w.rng.Uint32()), w.tokens), w.now
	w.record(history.Op{Process: c, Type: history.Invoke, F: history.FAcquire, Key: key})
	w.broadcast(c, key, token, history.CommandSet, func(yes int) {
		until := began + w.ttl - w.ttl/100 - 2*time.Millisecond
		if yes < w.masters/2+1 || until <= w.now {
			w.record(history.Op{Process: c, Type: history.Fail, F: history.FAcquire, Key: key, Error: fmt.Sprintf("lock held: %d of %d masters granted it", yes, w.masters)})
			w.broadcast(c, key, token, history.CommandRelease, func(int) {})
			w.after(w.between(50*time.Millisecond, 350*time.Millisecond), func() { w.acquire(c) })
			return
		}
		value := &history.Value{Token: token, ValidUntil: until}
		if w.fencing {
			w.fence++
			value.Fence = w.fence
		}
		w.record(history.Op{Process: c, Type: history.OK, F: history.FAcquire, Key: key, Value: value})
		w.after(time.Millisecond, func() { w.section(c, key, value) })
	})
}

// broadcast sends a command to all masters and calls done when all have replied
// or were given up.
func (w *world) broadcast(c, key, token, command string, done func(yes int)) {
	left, yes := w.masters, 0
	for m := range w.server {
		sent := w.now
		vote := func(op history.Op) {
			op.Process, op.F, op.Key = fmt.Sprintf("m%d", m+1), history.FVote, key
			op.Value = &history.Value{Client: c, Token: token, Command: command, Took: w.now - sent, Yes: op.Type == history.OK && op.Value != nil}
			w.record(op)
			left--
			if op.Value.Yes {
				yes++
			}
			if left == 0 {
				done(yes)
			}
		}
		latency := w.between(200*time.Microsecond, 3*time.Millisecond)
		if w.rng.IntN(40) == 0 {
			latency *= 6
		}
		s := &w.server[m]
		if w.cut[c+"|"+fmt.Sprint(m)] || s.state == "paused" {
			w.after(50*time.Millisecond, func() { vote(history.Op{Type: history.Info, Error: w.err}) })
			continue
		}
		w.after(latency, func() {
			switch {
			case s.state == "down":
				vote(history.Op{Type: history.Fail, Error: "connection refused"})
			case s.apply(w.now, key, token, command, w.ttl):
				vote(history.Op{Type: history.OK, Value: &history.Value{}})
			default:
				vote(history.Op{Type: history.OK})
			}
		})
	}
}

func (s *server) apply(now time.Duration, key, token, command string, ttl time.Duration) bool {
	held, is := s.keys[key]
	if is && s.until[key] <= now {
		is = false
	}
	switch command {
	case history.CommandSet:
		if is {
			return false
		}
		s.keys[key], s.until[key] = token, now+ttl
		return true
	case history.CommandExtend:
		if !is || held != token {
			return false
		}
		s.until[key] = now + ttl
		return true
	default:
		if !is || held != token {
			return false
		}
		delete(s.keys, key)
		return true
	}
}

func (w *world) section(c, key string, lease *history.Value) {
	w.record(history.Op{Process: c, Type: history.Info, F: history.FEnter, Key: key, Value: &history.Value{Token: lease.Token}})
	w.inside[c] = true
	hold := w.between(20*time.Millisecond, 1100*time.Millisecond)
	if w.lines > 0 {
		hold = w.between(5*time.Millisecond, 120*time.Millisecond)
	}
	if w.rng.IntN(6) == 0 && !w.over {
		hold += w.ttl / 2
		w.after(w.ttl/2, func() { w.extend(c, key, lease) })
	}
	w.after(hold/2, func() { w.write(c, key, lease) })
	w.after(hold, func() { w.leave(c, key, lease) })
}

func (w *world) extend(c, key string, lease *history.Value) {
	began := w.now
	w.record(history.Op{Process: c, Type: history.Invoke, F: history.FExtend, Key: key, Value: &history.Value{Token: lease.Token}})
	w.broadcast(c, key, lease.Token, history.CommandExtend, func(yes int) {
		op := history.Op{Process: c, Type: history.Fail, F: history.FExtend, Key: key, Value: &history.Value{Token: lease.Token}}
		if yes > w.masters/2 {
			op.Type, op.Value.ValidUntil = history.OK, began+w.ttl-w.ttl/100
		}
		w.record(op)
	})
}

func (w *world) write(c, key string, lease *history.Value) {
	if until := w.stood[c]; until > w.now {
		w.after(until-w.now, func() { w.write(c, key, lease) })
		return
	}
	for _, twin := range []bool{false, true} {
		v := &history.Value{Token: lease.Token, Fence: lease.Fence, Value: int64(w.serial), Fenced: twin, Client: c}
		w.record(history.Op{Process: c, Type: history.Invoke, F: history.FWrite, Key: key, Value: v})
		typ := history.OK
		if twin && lease.Fence < w.limit[key] {
			typ = history.Fail
		}
		if twin {
			w.limit[key] = max(w.limit[key], lease.Fence)
		}
		w.record(history.Op{Process: history.Resource, Type: typ, F: history.FApply, Key: key, Value: v})
		w.record(history.Op{Process: c, Type: typ, F: history.FWrite, Key: key, Value: v})
		if !w.fencing {
			return
		}
	}
}

func (w *world) leave(c, key string, lease *history.Value) {
	if until := w.stood[c]; until > w.now {
		w.after(until-w.now+time.Millisecond, func() { w.leave(c, key, lease) })
		return
	}
	w.inside[c] = false
	v := &history.Value{Token: lease.Token}
	w.record(history.Op{Process: c, Type: history.Info, F: history.FLeave, Key: key, Value: v})
	w.record(history.Op{Process: c, Type: history.Invoke, F: history.FRelease, Key: key, Value: v})
	w.broadcast(c, key, lease.Token, history.CommandRelease, func(yes int) {
		typ := history.OK
		if yes <= w.masters/2 {
			typ = history.Fail
		}
		w.record(history.Op{Process: c, Type: typ, F: history.FRelease, Key: key, Value: v})
		w.after(w.between(5*time.Millisecond, 120*time.Millisecond), func() { w.acquire(c) })
	})
}

// strike installs one fault and comes again.
func (w *world) strike() {
	if w.over || w.lines == 0 && w.now > w.length-4*time.Second {
		return
	}
	w.after(w.between(1200*time.Millisecond, 3*time.Second), w.strike)
	w.faults++
	v := history.Value{ID: w.faults}
	on := w.rng.Perm(w.masters)[:1+w.rng.IntN(3)]
	slices.Sort(on)
	for _, m := range on {
		if w.server[m].state != "up" {
			w.skip("kill", v, fmt.Sprintf("m%d is %s", m+1, w.server[m].state))
			return
		}
		v.Masters = append(v.Masters, fmt.Sprintf("m%d", m+1))
	}
	c := w.clients[w.rng.IntN(len(w.clients))]
	for _, holder := range w.clients {
		if w.inside[holder] {
			c = holder
		}
	}
	kind := w.rng.IntN(6)
	if w.quiet {
		kind = 2 + w.rng.IntN(2)
	}
	switch kind {
	case 0, 4:
		v.Params = map[string]string{"aim": "holders", "restart-delay": "300ms"}
		w.fault("kill", v, w.between(300*time.Millisecond, 400*time.Millisecond), func() {
			for _, m := range on {
				w.server[m] = server{"down", w.now, map[string]string{}, map[string]time.Duration{}}
				w.record(history.Op{Process: fmt.Sprintf("m%d", m+1), Type: history.Info, F: history.FState, Value: &history.Value{State: "down"}})
			}
		}, func() {
			for _, m := range on {
				w.server[m].state = "up"
				w.record(history.Op{Process: fmt.Sprintf("m%d", m+1), Type: history.Info, F: history.FState, Value: &history.Value{State: "up", Keys: map[string]string{}}})
			}
		}, fmt.Sprintf("%s lost %s keys", strings.Join(v.Masters, " and "), "all"))
	case 1, 5:
		v.Masters, v.Clients, v.Params = nil, []string{c}, map[string]string{"aim": "holder"}
		d := w.between(w.ttl, 2*w.ttl)
		w.fault("client-pause", v, d, func() {
			w.stood[c] = w.now + d
			w.record(history.Op{Process: c, Type: history.Invoke, F: history.FPaused, Value: &history.Value{Point: "before the write"}})
		}, func() {
			w.record(history.Op{Process: c, Type: history.OK, F: history.FPaused, Value: &history.Value{Point: "before the write"}})
		}, c+" stood still past its lease")
	case 2:
		v.Clients, v.Params = []string{c}, map[string]string{"mode": "hold", "direction": "both"}
		set := func(to bool) func() {
			return func() {
				for _, m := range on {
					w.cut[c+"|"+fmt.Sprint(m)] = to
				}
			}
		}
		w.fault("partition", v, w.between(800*time.Millisecond, 2500*time.Millisecond), set(true), set(false), "18 commands got no reply")
	case 3:
		set := func(to string) func() {
			return func() {
				for _, m := range on {
					w.server[m].state = to
					w.record(history.Op{Process: fmt.Sprintf("m%d", m+1), Type: history.Info, F: history.FState, Value: &history.Value{State: to}})
				}
			}
		}
		w.fault("pause", v, w.between(500*time.Millisecond, 1500*time.Millisecond), set("paused"), set("up"), "12 commands got no reply")
	}
}

func (w *world) skip(name string, v history.Value, why string) {
	v.Phase = history.PhaseInstall
	w.record(history.Op{Process: history.Nemesis, Type: history.Invoke, F: name, Value: &v})
	w.record(history.Op{Process: history.Nemesis, Type: history.Fail, F: name, Value: &v, Error: why})
}

func (w *world) fault(name string, v history.Value, d time.Duration, begin, heal func(), evidence string) {
	install := v
	install.Phase = history.PhaseInstall
	w.record(history.Op{Process: history.Nemesis, Type: history.Invoke, F: name, Value: &install})
	w.now += time.Millisecond
	begin()
	w.record(history.Op{Process: history.Nemesis, Type: history.OK, F: name, Value: &install})
	w.after(d, func() {
		end := history.Value{ID: v.ID, Phase: history.PhaseHeal, TookEffect: w.faults%4 != 0, Evidence: evidence}
		if !end.TookEffect {
			end.Evidence = "no command met it"
		}
		w.record(history.Op{Process: history.Nemesis, Type: history.Invoke, F: name, Value: &history.Value{ID: v.ID, Phase: history.PhaseHeal}})
		heal()
		w.record(history.Op{Process: history.Nemesis, Type: history.OK, F: name, Value: &end})
	})
}
