package shadow

import (
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// group makes steps of the stream of events and lines.
//
// The events of a command come before its line. The line of a script comes before the commands
// that it calls; that of a transaction after its commands. What the master does by itself has
// events and no line. A command that blocks has its line when it begins to wait, and its events
// after the line of the command that ends the wait.
type group struct {
	keys keys
	own  map[string]bool        // addresses of the harness's connections
	sink func(cluster.Executed) // called with each step, in order

	events  []event                 // of the command whose line has yet to come
	alone   []cluster.Executed      // what the master did by itself during or after the open script
	script  *step                   // the script whose commands may still follow; nil: none
	open    map[string]*transaction // by address: MULTI was seen, and EXEC was not
	running *transaction            // the one of open whose commands have come; nil: none
	waiting []waiter                // clients that a blocking command may have blocked
	ready   bool                    // the last command may have ended a wait
	now     int64                   // ms of the master's clock at the last line
	gap     string                  // why steps may be missing before the next one; empty: none is
}

// step is a command that was executed, or is being executed.
type step struct {
	cluster.Executed
	now int64 // ms of the master's clock, which stands still in scripts and transactions
}

// transaction consists of the commands between MULTI and EXEC, which the master executes at EXEC.
type transaction struct {
	steps []*step
}

func newGroup(deliver func(cluster.Executed), unsure func(string)) *group {
	return &group{
		keys: keys{all: map[place]entry{}, over: map[place]bool{}, unsure: unsure},
		own:  map[string]bool{},
		open: map[string]*transaction{},
		sink: deliver,
	}
}

// deliver passes a step on.
func (g *group) deliver(x cluster.Executed) {
	x.Gap, g.gap = g.gap, ""
	g.sink(x)
}

// event takes a keyspace event.
func (g *group) event(e event, at time.Time) {
	if reserved(e.key) {
		return
	}
	if took[e.what] == "" {
		g.events = append(g.events, e)
		return
	}
	c, news := g.keys.take(e)
	if !news {
		return
	}
	x := cluster.Executed{At: at, Changes: []cluster.Change{c}}
	if g.script != nil && g.running == nil {
		g.alone = append(g.alone, x)
	} else {
		g.deliver(x)
	}
}

// line takes a line of MONITOR.
func (g *group) line(l resp.MonitorLine, at time.Time) {
	if l.Addr == "" {
		g.called(l, at)
		return
	}
	if tx := g.running; tx != nil && tx != g.open[l.Addr] {
		g.scatter()
	}
	g.closeScript()
	name := strings.ToLower(l.Args[0])
	g.served(name, l, at)
	g.now = l.Time / 1000
	s := &step{cluster.Executed{Conn: l.Addr, Args: l.Args, At: at}, g.now}
	tx := g.open[l.Addr]
	switch {
	case name == "multi":
		g.open[l.Addr] = &transaction{}
		g.finish(s)
	case tx != nil && endsTransaction[name]:
		delete(g.open, l.Addr)
		g.running = nil
		for _, part := range tx.steps {
			s.Calls = append(append(s.Calls, part.Args), part.Calls...)
			s.Changes = append(s.Changes, attributed(part.Changes, part.Args)...)
		}
		g.finish(s)
	case name == "auth" || name == "hello": // of a new connection, mostly
		g.own[l.Addr] = name == "hello" && l.Args[len(l.Args)-1] == OwnName
		delete(g.open, l.Addr)
		g.running = nil
		g.finish(s)
	case tx != nil && name != "watch" && name != "quit":
		g.running = tx
		if len(tx.steps) > 0 {
			s.now = tx.steps[0].now
		}
		tx.steps = append(tx.steps, s)
		g.execute(s, name, l)
	default:
		g.execute(s, name, l)
		if g.script == nil {
			g.finish(s)
		}
	}
}

// execute applies a command that is not part of a script.
func (g *group) execute(s *step, name string, l resp.MonitorLine) {
	switch {
	case resp.RunsScript(name):
		g.unexplained(s.At)
		g.script = s
		return
	case name == "client" && len(l.Args) == 3 && strings.EqualFold(l.Args[1], "setname") && l.Args[2] == OwnName:
		g.own[l.Addr] = true
	}
	g.explain(s, name, l)
	g.block(s, name, l)
}

// explain applies a command with the events that have come.
func (g *group) explain(s *step, name string, l resp.MonitorLine) {
	first := len(s.Changes)
	switch {
	case (name == "flushall" || name == "flushdb") && flushes(l.Args):
		db := l.DB
		if name == "flushall" {
			db = -1
		}
		s.Changes = append(s.Changes, g.keys.flush(db)...)
	case name == "swapdb":
		g.keys.upset("SWAPDB has no events")
	}
	events := g.events
	g.events = nil
	strange := slices.ContainsFunc(events, func(e event) bool { return !slices.Contains(l.Args, e.key) })
	if strange {
		g.events = slices.DeleteFunc(slices.Clone(events), func(e event) bool { return slices.Contains(l.Args, e.key) })
		events = slices.DeleteFunc(events, func(e event) bool { return !slices.Contains(l.Args, e.key) })
		g.unexplained(s.At)
	}
	s.Changes = append(s.Changes, g.keys.follow(l.DB, l.Args, s.now, events)...)
	if l.Addr == "" {
		attributed(s.Changes[first:], l.Args)
	}
}

// attributed notes which command of a script or transaction made the changes.
func attributed(changes []cluster.Change, call []string) []cluster.Change {
	for i := range changes {
		if changes[i].Call == nil {
			changes[i].Call = call
		}
	}
	return changes
}

// unexplained delivers what happened to keys without a command that explains it.
func (g *group) unexplained(at time.Time) {
	if len(g.events) == 0 {
		return
	}
	events := g.events
	g.events = nil
	const why = "an event without a command"
	g.keys.unsure(why)
	x := cluster.Executed{At: at, Changes: g.keys.follow(0, []string{"?"}, 0, events)}
	for i := range x.Changes {
		x.Changes[i].Doubtful = why
	}
	for _, e := range events {
		if old, had := g.keys.all[e.place]; had {
			old.doubt = why
			g.keys.all[e.place] = old
		}
	}
	g.deliver(x)
}

// called takes the line of a command that a script has called.
func (g *group) called(l resp.MonitorLine, at time.Time) {
	if g.script == nil { // the line of the script came before the account began
		g.script = &step{cluster.Executed{At: at}, l.Time / 1000}
	}
	for _, x := range g.alone { // a script's clock stands still: the keys expired before it
		g.deliver(x)
	}
	g.alone = nil
	s := g.script
	s.At = at
	s.Calls = append(s.Calls, l.Args)
	g.explain(s, strings.ToLower(l.Args[0]), l)
}

// closeScript ends the open script: no further command of it can come.
func (g *group) closeScript() {
	s := g.script
	if s == nil {
		return
	}
	g.script = nil
	if g.running == nil {
		g.finish(s)
	}
	for _, x := range g.alone {
		g.deliver(x)
	}
	g.alone = nil
}

// scatter gives up a transaction whose commands were not followed by its EXEC: the connection that
// sent MULTI has ended, and another one has its address now.
func (g *group) scatter() {
	g.closeScript()
	for addr, tx := range g.open {
		if tx == g.running {
			delete(g.open, addr)
			for _, s := range tx.steps {
				g.finish(s)
			}
		}
	}
	g.running = nil
}

// pause is called when the master has executed everything that has come.
func (g *group) pause(at time.Time) {
	if g.running != nil {
		g.scatter()
	}
	g.closeScript()
	if g.ready {
		g.serve(at, "")
	}
	g.ready = false
	g.unexplained(at)
}

// pending reports whether a step waits for the next line.
func (g *group) pending() bool { return g.script != nil || g.running != nil || len(g.events) > 0 }

// finish delivers a step, unless it is the harness's own and has changed nothing.
func (g *group) finish(s *step) {
	g.ready = len(s.Changes) > 0
	if g.own[s.Conn] && len(s.Changes) == 0 || len(s.Args) > 0 && ofReplica[strings.ToLower(s.Args[0])] {
		return
	}
	g.deliver(s.Executed)
}

var (
	// endsTransaction holds the commands after which no command of a connection is queued any more.
	endsTransaction = map[string]bool{"exec": true, "discard": true, "reset": true}
	ofReplica       = map[string]bool{"replconf": true, "psync": true, "sync": true}
)

// flushes reports whether the arguments of FLUSHALL or FLUSHDB are valid.
func flushes(args []string) bool {
	return len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[1], "async") || strings.EqualFold(args[1], "sync"))
}

// begin is called when another connection goes on with the account; gap says why steps may be missing
// before it.
func (g *group) begin(gap string) {
	g.gap = gap
	g.keys.blind = "the account has a gap: " + gap
	g.waiting, g.ready = nil, false
	clear(g.open)
	clear(g.keys.over)
}
