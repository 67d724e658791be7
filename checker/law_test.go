package checker

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/checker/facts"
	"lockpick/history"
)

// client is the state of one client of a random history, which decides what it may do next.
type client struct {
	name   string
	key    string
	both   bool     // of a multi-lock: it uses another key as well
	token  string   // of the lease that it uses now
	leases []string // tokens of its other leases
	doing  string   // the pending operation, or ""
	has    bool     // it was granted a lease and has not released it
	inside bool
	mode   string        // to which its pending extend changes
	asks   history.Value // the mode and the permits of its acquire
}

// drawHeader draws the kind of a lock.
func drawHeader(t *rapid.T) history.Header {
	h := history.Header{Kind: rapid.SampledFrom(history.LockKinds).Draw(t, "kind")}
	if h.Kind == history.Semaphore {
		h.Permits = rapid.IntRange(1, 4).Draw(t, "permits")
	}
	return h
}

// sweptIn returns the violations of L2 that the sweep finds.
func sweptIn(h *history.Header, ops []history.Op) []overlap {
	by := facts.LockOf(h)
	return sweep(facts.HoldsOf(history.Leases(ops), by), by)
}

// drawHistory draws a random history of a lock that may make any error: grants at any
// time, leases that end without a release, extensions in time and late, leases that
// are over on arrival, acquires that fail or never return, releases without an answer,
// many operations at one instant, several keys.
func drawHistory(t *rapid.T) []history.Op { return drawHistoryOf(t, &history.Header{}) }

// drawHistoryOf draws a history of a lock of the header's kind. The clients of a lock that is not a mutex acquire keys again that
// they hold, ask for permits and read.
func drawHistoryOf(t *rapid.T, h *history.Header) []history.Op {
	var ops []history.Op
	now := time.Duration(0)
	tokens := 0
	clients := make([]*client, rapid.IntRange(1, 4).Draw(t, "clients"))
	for i := range clients {
		clients[i] = &client{name: fmt.Sprintf("c%d", i+1)}
	}
	keys := rapid.IntRange(1, 2).Draw(t, "keys")
	patience := rapid.SampledFrom([]int{1, 3, 12, 30}).Draw(t, "validity")
	add := func(c *client, f string, typ history.Type, v *history.Value) {
		keys := []string{c.key}
		if c.both && f != history.FCrash {
			keys = append(keys, c.key+"b")
		}
		for _, key := range keys {
			ops = append(ops, history.Op{Index: len(ops), Time: now, Process: c.name, Type: typ, F: f, Key: key, Value: v})
		}
	}
	token := func(c *client) *history.Value { return &history.Value{Token: c.token} }
	extend := func(c *client, v *history.Value) *history.Value {
		v.Mode = c.mode
		return v
	}
	lease := func(c *client) *history.Value {
		return &history.Value{Mode: c.asks.Mode, Permits: c.asks.Permits, Token: c.token, ValidUntil: now + time.Duration(rapid.IntRange(-1, patience).Draw(t, "valid")), Fence: int64(tokens)}
	}
	acquire := func(c *client) {
		c.doing, c.asks = history.FAcquire, history.Value{}
		switch {
		case h.Kind == history.ReadWrite && rapid.IntRange(0, 3).Draw(t, "reads") > 0:
			c.asks.Mode = history.ModeRead
		case h.Kind == history.Semaphore:
			c.asks.Permits = rapid.IntRange(0, h.Permits+1).Draw(t, "permits")
		}
		if c.asks.Mode == "" && c.asks.Permits == 0 {
			add(c, history.FAcquire, history.Invoke, nil)
			return
		}
		asks := c.asks
		add(c, history.FAcquire, history.Invoke, &asks)
	}
	for range rapid.IntRange(0, 100).Draw(t, "operations") {
		now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 4}).Draw(t, "wait"))
		c := clients[rapid.IntRange(0, len(clients)-1).Draw(t, "client")]
		typ := rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "type")
		switch {
		case c.doing == history.FAcquire && typ == history.OK:
			tokens++
			if c.has {
				c.leases = append(c.leases, c.token)
			}
			c.token, c.has, c.doing = fmt.Sprintf("t%d", tokens), true, ""
			add(c, history.FAcquire, history.OK, lease(c))
		case c.doing == history.FExtend && typ == history.OK:
			c.doing = ""
			add(c, history.FExtend, history.OK, extend(c, lease(c)))
		case c.doing == history.FExtend:
			c.doing = ""
			add(c, history.FExtend, typ, extend(c, token(c)))
		case c.doing == history.FRelease && rapid.IntRange(0, 4).Draw(t, "told late") == 0: // a late notification from before the release
			add(c, history.FLost, history.Info, &history.Value{Token: c.token, Delay: time.Duration(rapid.IntRange(0, 4).Draw(t, "delay"))})
		case c.doing != "":
			add(c, c.doing, typ, nil)
			c.doing = ""
		case !c.has:
			c.key, c.both = fmt.Sprintf("k%d", rapid.IntRange(0, keys-1).Draw(t, "key")), h.Kind == history.Multi && rapid.Bool().Draw(t, "both")
			acquire(c)
		default:
			next := []string{history.FRelease, history.FExtend, history.FEnter, history.FClock, history.FLost, history.FCrash, "abandon"}
			if h.Kind != "" && h.Kind != history.Mutex {
				next = append(next, history.FAcquire, history.FAcquire, history.FRelease)
			}
			switch rapid.SampledFrom(next).Draw(t, "next") {
			case history.FAcquire:
				acquire(c)
			case history.FRelease:
				c.doing, c.has = history.FRelease, false
				add(c, history.FRelease, history.Invoke, token(c))
				if n := len(c.leases); n > 0 {
					c.token, c.leases, c.has = c.leases[n-1], c.leases[:n-1], true
				}
			case history.FExtend:
				c.doing, c.mode = history.FExtend, ""
				if h.Kind == history.ReadWrite {
					c.mode = rapid.SampledFrom([]string{"", history.ModeRead, history.ModeWrite, history.ModeWrite}).Draw(t, "mode")
				}
				add(c, history.FExtend, history.Invoke, extend(c, token(c)))
			case history.FEnter:
				if c.inside = !c.inside; c.inside {
					add(c, history.FEnter, history.Info, token(c))
				} else {
					add(c, history.FLeave, history.Info, token(c))
				}
			case history.FCrash: // the client's process ends, and its lease with it
				add(c, history.FCrash, history.Info, token(c))
				c.has, c.leases = false, nil
			case history.FClock: // the client's clock changes: the lease ends at another time
				add(c, history.FClock, history.Info, lease(c))
			case history.FLost: // the lock notifies the client, perhaps late; the client has not released the lease yet
				add(c, history.FLost, history.Info, &history.Value{Token: c.token, Delay: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "delay"))})
			default: // the client forgets its lease, which ends by itself
				c.has = false
			}
		}
	}
	return ops
}

// toldAtOnce removes the delays from a history: an event that is recorded late may undo a
// violation that was found before.
func toldAtOnce(ops []history.Op) []history.Op {
	for i := range ops {
		if ops[i].Value != nil {
			ops[i].Value.Delay = 0
		}
	}
	return ops
}

func violatedKeys(overlaps []overlap) []string {
	var keys []string
	for _, o := range overlaps {
		if !slices.Contains(keys, o.later.Key) {
			keys = append(keys, o.later.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// checkUntil repeats a rapid test until its histories were of all kinds that it is about: the 20 histories of
// -short, and now and then 100, may all be legal. A test of one kind only fails after 50 repetitions, each of which draws others
// with -rapid.seed, too.
func checkUntil(t *testing.T, allKinds func() bool, check func(*rapid.T)) {
	t.Helper()
	seed := flag.Lookup("rapid.seed").Value
	first, err := strconv.ParseUint(seed.String(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer seed.Set(seed.String())
	for i := range uint64(50) {
		if first != 0 {
			if err := seed.Set(strconv.FormatUint(first+i, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Check(t, check); allKinds() {
			return
		}
	}
}

// The sweep over holds and porcupine over the operations find violations on the same
// keys, for every size of the epochs into which porcupine's history is cut.
func TestSweepAgreesWithPorcupine(t *testing.T) {
	legal, illegal := map[history.LockKind]int{}, map[history.LockKind]int{}
	all := func() bool { return len(legal) == len(history.LockKinds) && len(illegal) == len(history.LockKinds) }
	checkUntil(t, all, func(t *rapid.T) {
		header := drawHeader(t)
		ops := drawHistoryOf(t, &header)
		swept := violatedKeys(sweptIn(&header, ops))
		for _, epoch := range []int{1, 4, 1 << 20} {
			second := linearizableBy(history.Pack(&history.History{Header: header, Ops: ops}), time.Minute, epoch)
			if second.undecided {
				t.Fatalf("porcupine did not decide %d operations", len(ops))
			}
			var keys []string
			for k := range second.illegal {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			if !slices.Equal(swept, keys) {
				t.Fatalf("with epochs of %d the sweep finds violations on %v, porcupine on %v", epoch, swept, keys)
			}
		}
		if len(swept) > 0 {
			illegal[header.Kind]++
		} else {
			legal[header.Kind]++
		}
	})
	if !all() {
		t.Errorf("%v histories were legal and %v were not: the law was not tested on each kind", legal, illegal)
	}
}

// The sweep finds a violation if and only if the holds that have some instant in common are not compatible.
func TestSweepFindsWhatIsNotCompatible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := drawHeader(t)
		by := facts.LockOf(&header)
		all := facts.HoldsOf(history.Leases(drawHistoryOf(t, &header)), by)
		compatible := true
		for i := range all {
			var here []*facts.Hold
			for j := range all {
				if a, b := all[i], &all[j]; !a.Empty() && a.Key == b.Key && b.From <= a.From && a.From < b.To {
					here = append(here, b)
				}
			}
			compatible = compatible && mayMeet(&header, all[i].From, here)
		}
		found := sweep(all, by)
		if (len(found) == 0) != compatible {
			t.Fatalf("the sweep finds %d overlaps, compatible: %v", len(found), compatible)
		}
		for _, o := range found {
			if o.from() >= o.to() || !slices.Contains(o.named, o.earlier) || mayMeet(&header, o.from(), append(slices.Clone(o.named), o.later)) {
				t.Fatalf("%+v and %+v are compatible", *o.earlier, *o.later)
			}
			for _, s := range o.named {
				if s.From > o.from() || s.To <= o.from() || s.To > o.earlier.To {
					t.Fatalf("%+v is named, and %+v lasts longest", *s, *o.earlier)
				}
			}
		}
	})
}

// mayMeet reports whether holds may have an instant in common at a time.
func mayMeet(h *history.Header, at time.Duration, all []*facts.Hold) bool {
	owners, writers, permits := map[string]bool{}, 0, 0
	for _, s := range all {
		owners[s.Client] = true
		if s.Lease.ModeAt(at) != history.ModeRead {
			writers++
		}
		permits += min(max(1, s.Lease.Permits), h.Permits)
	}
	switch h.Kind {
	case history.ReadWrite:
		return writers == 0 || len(all) == 1
	case history.Semaphore:
		return permits <= h.Permits
	case history.Reentrant:
		return len(owners) <= 1
	}
	return len(all) <= 1
}

// After each operation, Watch reports the same violations as a sweep over the history so far.
func TestWatchAgreesWithSweep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := drawHeader(t)
		ops := toldAtOnce(drawHistoryOf(t, &header))
		w := Watch{Header: header}
		for i, op := range ops {
			w.Observe(op)
			found := sweptIn(&header, ops[:i+1])
			if w.Violations() != len(found) {
				t.Fatalf("after operation %d Watch counts %d violations, the sweep %d", i, w.Violations(), len(found))
			}
			first, any := w.First()
			if any != (len(found) > 0) {
				t.Fatalf("after operation %d Watch has a first violation: %v, the sweep: %v", i, any, !any)
			}
			for _, o := range found {
				if o.from() < first {
					t.Fatalf("after operation %d Watch's first is at %d, the sweep's at %d", i, first, o.from())
				}
			}
			if any && !slices.ContainsFunc(found, func(o overlap) bool { return o.from() == first }) {
				t.Fatalf("after operation %d no violation began at Watch's first, %d", i, first)
			}
		}
	})
}

// safety formats the violations that must not rest on failed acquires. (A failed acquire that
// competed for a lease is evidence of contention, so a verdict of holds may rest on it.)
func safety(ops []history.Op) string {
	h := &history.History{Header: history.Header{Fencing: true}, Ops: ops}
	rep := Check(h)
	s := rep.Disagreement
	for _, r := range rep.Results {
		if r.Level != DeadlockFree.Level && r.Level != Availability.Level && r.Verdict == Violated {
			s += fmt.Sprintf("%s %d %s\n", r.Name, r.Count, r.Why)
		}
	}
	return s
}

// No violation of safety rests on an acquire that failed or never returned: without
// these acquires, the history has the same violations.
func TestFailedAcquiresChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawHistory(t)
		var kept []history.Op
		for i, op := range ops {
			if op.F == history.FAcquire && op.Type != history.OK && (op.Type != history.Invoke || !granted(ops, i)) {
				continue
			}
			op.Index = len(kept)
			kept = append(kept, op)
		}
		if with, without := safety(ops), safety(kept); with != without {
			t.Fatalf("with failed acquires:\n%s\nwithout:\n%s", with, without)
		}
	})
}

// granted reports whether the acquire called at index i returned ok.
func granted(ops []history.Op, i int) bool {
	for _, op := range ops[i+1:] {
		if op.Process == ops[i].Process && op.F == history.FAcquire {
			return op.Type == history.OK
		}
	}
	return false
}

// A longer history has no fewer violations of mutual exclusion: a violation that a
// run has proven stays proven.
func TestLongerHistoryKeepsItsViolations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := drawHeader(t)
		ops := toldAtOnce(drawHistoryOf(t, &header))
		before := -1
		for i := range ops {
			if i+1 < len(ops) && ops[i+1].Time == ops[i].Time {
				continue // judge only after the last operation of an instant
			}
			n := len(sweptIn(&header, ops[:i+1]))
			if n < before {
				t.Fatalf("%d violations became %d", before, n)
			}
			before = n
		}
	})
}

// Every violation points at lines of the clients that it names, and every result's
// count matches its list of violations.
func TestResultsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawHistory(t)
		rep := Check(&history.History{Header: history.Header{Fencing: true}, Ops: ops})
		if err := rep.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range rep.Results {
			if (r.Verdict == Violated) != (r.Count > 0) || len(r.Violations) != min(r.Count, MaxViolations) || r.Why == "" {
				t.Fatalf("%+v", r)
			}
			var last time.Duration
			for _, v := range r.Violations {
				if v.Level != r.Level || v.At < last || v.Until < v.At || v.Summary == "" || len(v.Reason) == 0 {
					t.Fatalf("%+v", v)
				}
				last = v.At
				for _, i := range v.Ops {
					if !slices.Contains(v.Clients, ops[i].Process) && ops[i].F != history.FHealed {
						t.Fatalf("line %d is of %s: %+v", i, ops[i].Process, v)
					}
				}
			}
		}
	})
}
