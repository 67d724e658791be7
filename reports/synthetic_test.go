package reports

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
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
func synthesize(p plan) (*history.History, *campaign.Result) {
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
	return h, judge(h)
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
		end := history.Value{ID: v.ID, Phase: history.PhaseHeal, Bit: w.faults%4 != 0, Evidence: evidence}
		if !end.Bit {
			end.Evidence = "no command met it"
		}
		w.record(history.Op{Process: history.Nemesis, Type: history.Invoke, F: name, Value: &history.Value{ID: v.ID, Phase: history.PhaseHeal}})
		heal()
		w.record(history.Op{Process: history.Nemesis, Type: history.OK, F: name, Value: &end})
	})
}

// judge gives a history the verdicts that it deserves at L2, L3 and L4, by the
// most naive means, and enough of a reason to look at.
func judge(h *history.History) *campaign.Result {
	head := h.Header
	r := &campaign.Result{
		Run: "20250314T092653-" + head.Name, Name: head.Name, Started: head.Started, Driver: head.Driver, Seed: head.Seed, Lock: head.Lock,
		Masters: head.Masters, Persistence: head.Persistence, Clients: head.Clients, Keys: head.Keys, TTL: head.TTL, Faults: head.Faults,
		Nemesis: head.Nemesis, Versions: head.Versions, Command: fmt.Sprintf("lockpick run scenario.yaml --driver process --seed %d", head.Seed),
		Report: "store/20250314T092653/report.html", History: "store/20250314T092653/history.jsonl",
	}
	if n := len(h.Ops); n > 0 {
		r.Duration = h.Ops[n-1].Time
	}
	leases, faults := history.Leases(h.Ops), history.Faults(h.Ops)
	r.Counts = campaign.Count(h)
	l2 := overlaps(leases, faults, "L2", "hold", func(l *history.Lease) (time.Duration, time.Duration) {
		return l.Holds()[0].From, l.Holds()[len(l.Holds())-1].To
	})
	l3 := overlaps(leases, faults, "L3", "critical section", func(l *history.Lease) (time.Duration, time.Duration) {
		return l.Entered, l.Left
	})
	if len(h.Ops) < 20_000 { // of large runs only the lists matter
		narrate(h, l2)
		narrate(h, l3)
	}
	verdict := func(p checker.Property, found []checker.Violation, holds string) {
		res := checker.Result{Property: p, Verdict: checker.Holds, Checked: len(leases), Count: len(found), Why: holds}
		if len(found) > 0 {
			res.Verdict, res.Key, res.Violations = checker.Violated, found[0].Key, found[:min(len(found), checker.MaxViolations)]
			res.Why = found[0].Summary
		} else {
			what := "contended acquisitions"
			res.Finding, res.Faults = holds, "10 faults took effect (kill, pause)"
			res.Evidence = []checker.Evidence{{What: what, Got: len(leases), Need: 10}}
			if p != checker.DeadlockFree {
				res.Evidence = append(res.Evidence, checker.Evidence{What: what + " while a fault was in force", Got: len(leases) / 2, Need: 3})
			}
			res.Why = fmt.Sprintf("%s; %d %s; %s", holds, len(leases), what, res.Faults)
		}
		r.Verdicts = append(r.Verdicts, res)
	}
	tried := fmt.Sprintf("nothing was found in %s leases on %d keys; at most 3 in %s schedules of this kind can break it (95 %%)", count(len(leases)), head.Keys, count(1))
	verdict(checker.MutualExclusion, l2, tried)
	verdict(checker.BeliefExclusion, l3, tried)
	if head.Fencing {
		verdict(checker.NoStaleWrite, staleWrites(h), tried)
		verdict(checker.FencedWrites, nil, "nothing was found in as many writes to the resource that checks fencing tokens")
	}
	verdict(checker.DeadlockFree, nil, "every key was acquired again within 1.2 s")
	for _, v := range l2 {
		ms := v.At.Seconds() * 1e3
		if r.FirstViolationMS == nil || ms < *r.FirstViolationMS {
			r.FirstViolationMS = &ms
		}
	}
	return r
}

func overlaps(leases []*history.Lease, faults []*history.Fault, level, what string, of func(*history.Lease) (from, to time.Duration)) []checker.Violation {
	var found []checker.Violation
	latest := map[string]*history.Lease{}
	for _, b := range leases {
		from, to := of(b)
		if from == to {
			continue
		}
		a := latest[b.Key]
		if a != nil {
			if _, end := of(a); end > from {
				v := checker.Violation{
					Level: level, Key: b.Key, At: from, Until: min(end, to), Ops: []int{a.Grants[0].Index, b.Grants[0].Index},
					Tokens: []string{a.Token, b.Token}, Clients: []string{a.Process, b.Process},
					Summary: fmt.Sprintf("%s and %s both had a %s of %s from %s for %s", a.Process, b.Process, what, b.Key, moment(from), span(min(end, to)-from)),
				}
				v.Reason = append(v.Reason, fmt.Sprintf("%s: %s acquires %s; its lease is valid until %s", moment(a.Acquired()), a.Process, a.Key, moment(a.Until())))
				for _, f := range faults {
					if f.Installed && f.From >= a.Invoked-time.Second && f.From < from && f.Name != "partition" {
						v.Faults = append(v.Faults, f.ID)
						v.Reason = append(v.Reason, fmt.Sprintf("%s: %s of %s (fault %d): %s", moment(f.From), f.Name, strings.Join(append(f.Masters, f.Clients...), ", "), f.ID, f.Evidence))
					}
				}
				v.Reason = append(v.Reason,
					fmt.Sprintf("%s: %s acquires %s by the votes of 3 masters that no longer hold the token of %s", moment(b.Acquired()), b.Process, b.Key, a.Process),
					fmt.Sprintf("%s: until then %s could rely on its lease", moment(end), a.Process))
				found = append(found, v)
			}
		}
		if a == nil {
			latest[b.Key] = b
		} else if _, end := of(a); end < to {
			latest[b.Key] = b
		}
	}
	return found
}

// narrate gives violations the events that the checker finds for them.
func narrate(h *history.History, found []checker.Violation) {
	judged := checker.Check(h, checker.MutualExclusion, checker.BeliefExclusion)
	for i := range found {
		v := &found[i]
		for _, r := range judged.Results {
			for _, x := range r.Violations {
				if r.Level == v.Level && x.At == v.At && x.Key == v.Key {
					v.Events, v.Faults, v.Reason = x.Events, x.Faults, x.Reason
				}
			}
		}
	}
}

func staleWrites(h *history.History) []checker.Violation {
	var found []checker.Violation
	t := timelineOf(h)
	for _, w := range t.writes {
		if w.effect == stale && !w.twin {
			a := t.attempts[w.attempt]
			found = append(found, checker.Violation{
				Level: "L4", Key: t.keys[w.key], At: w.at, Until: w.at, Ops: []int{w.index}, Tokens: []string{a.token}, Clients: []string{t.clients[w.client]},
				Summary: fmt.Sprintf("the resource applied a write of %s after one of a later lease", t.clients[w.client]),
				Reason:  []string{fmt.Sprintf("%s: the write is applied; the lease was valid until %s", moment(w.at), moment(a.lease.Until()))},
			})
		}
	}
	return found
}
