package shadow

import (
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/resp"
)

// waiter is a client whose blocking command found nothing. The master serves it after another
// command, unless its time is over or its connection has ended: neither has a line.
type waiter struct {
	addr string
	args []string
	db   int
	from []string // keys
	to   string   // the key to which an element moves; empty: none
	till int64    // ms of the master's clock; 0: forever
}

// A master's clock differs from the times of its lines by a few ms, more on a busy machine. A client
// that waits for certain is no closer to its timeout than certainBy, and one that has given up is past
// it by goneBy, in ms.
const (
	certainBy = 20
	goneBy    = 2000
)

// pops has the commands whose events are those of serving a blocked client, without the B of those that block.
var pops = map[string]bool{
	"lpop": true, "rpop": true, "lmpop": true, "lmove": true, "rpoplpush": true, "zpopmin": true, "zpopmax": true, "zmpop": true,
}

// block notes a client whose command may have blocked it.
func (g *group) block(s *step, name string, l resp.MonitorLine) {
	g.waiting = slices.DeleteFunc(g.waiting, func(w waiter) bool { return w.addr == l.Addr || w.till != 0 && w.till+goneBy < s.now })
	if g.running != nil || len(s.Changes) > 0 {
		return
	}
	c := keyspace.Find(name)
	if c == nil || c.Waits == nil || !c.Accepts(len(l.Args)-1) {
		return
	}
	wait, problem := c.Waits(l.Args[1:])
	if problem != "" || len(wait.Keys) == 0 {
		return
	}
	w := waiter{addr: l.Addr, args: l.Args, db: l.DB, from: wait.Keys}
	if name == "blmove" || name == "brpoplpush" {
		w.to = l.Args[2]
	}
	if wait.Timeout > 0 {
		w.till = s.now + wait.Timeout.Milliseconds()
	}
	g.waiting = append(g.waiting, w)
}

// served delivers what blocked clients got after the command before this line.
func (g *group) served(name string, l resp.MonitorLine, at time.Time) {
	if g.ready {
		rival := ""
		if pops[strings.TrimPrefix(name, "b")] && len(g.events) > 0 && slices.Contains(l.Args, g.events[0].key) {
			rival = l.Addr
		}
		g.serve(at, rival)
	}
	g.ready = false
}

// serve delivers what blocked clients got. rival is a connection whose next command may have the same
// events; empty: none.
func (g *group) serve(at time.Time, rival string) {
	for len(g.events) > 0 {
		n := 0
		i := slices.IndexFunc(g.waiting, func(w waiter) bool {
			n = w.serves(g.events)
			return n > 0
		})
		if i < 0 {
			return
		}
		w := g.waiting[i]
		x := cluster.Executed{Conn: w.addr, Args: w.args, At: at}
		if rival != "" || g.contested(w) {
			x.Conn = "" // who got it stays open
		} else {
			g.waiting = slices.Delete(g.waiting, i, i+1)
		}
		x.Changes = g.keys.follow(w.db, w.args, g.now, g.events[:n:n])
		g.events = g.events[n:]
		g.deliver(x)
	}
}

// contested reports whether it is open who got the element that a waiter can get: its time may be over,
// or another one waits for the same keys, and the first one's connection may have ended.
func (g *group) contested(w waiter) bool {
	if w.till != 0 && g.now >= w.till-certainBy {
		return true
	}
	rivals := 0
	for _, other := range g.waiting {
		if other.db == w.db && slices.ContainsFunc(other.from, func(key string) bool { return slices.Contains(w.from, key) }) {
			rivals++
		}
	}
	return rivals > 1
}

// serves returns how many of the first events serving the waiter would cause; 0: they are others.
func (w waiter) serves(events []event) int {
	n := 0
	if w.to != "" {
		dst := place{w.db, w.to}
		if n < len(events) && events[n] == (event{dst, "new"}) {
			n++
		}
		if n == len(events) || events[n].place != dst || !strings.HasSuffix(events[n].what, "push") {
			return 0
		}
		n++
	}
	if n == len(events) || events[n].db != w.db || !slices.Contains(w.from, events[n].key) {
		return 0
	}
	switch events[n].what {
	case "lpop", "rpop", "zpopmin", "zpopmax":
	default:
		return 0
	}
	n++
	if n < len(events) && events[n] == (event{events[n-1].place, "del"}) {
		n++
	}
	return n
}
