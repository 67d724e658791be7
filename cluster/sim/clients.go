package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster/keyspace"
)

// clientCommand is a subcommand of CLIENT.
type clientCommand struct {
	min, max int // arguments after its name; max < 0: any number
	do       func(s *session, x *Stream, m *Master, args []string) keyspace.Reply
}

var clientCommands = map[string]clientCommand{
	"id":       {0, 0, func(s *session, _ *Stream, m *Master, _ []string) keyspace.Reply { return keyspace.Int(s.number(m)) }},
	"info":     {0, 0, func(_ *session, x *Stream, m *Master, _ []string) keyspace.Reply { return text(x.describe(m)) }},
	"list":     {0, -1, func(_ *session, _ *Stream, m *Master, args []string) keyspace.Reply { return m.listClients(args) }},
	"getname":  {0, 0, getName},
	"setname":  {1, 1, setName},
	"setinfo":  {2, 2, alwaysOK},
	"no-evict": {1, 1, onOrOff},
	"no-touch": {1, 1, onOrOff},
	"tracking": {1, -1, (*session).track},
	"caching":  {1, 1, (*session).cache},
	"unblock":  {1, 2, func(_ *session, _ *Stream, m *Master, args []string) keyspace.Reply { return m.wakeBlocked(args) }},
	"kill":     {1, -1, func(_ *session, x *Stream, m *Master, args []string) keyspace.Reply { return m.disconnect(x, args) }},
	// Redis 7.0 does not know this command. If it gets an error, go-redis locks a mutex that other
	// goroutines hold during network calls. A goroutine that waits for a mutex stops the time of a
	// synctest bubble: the reply to such a network call would never come. The simulated master
	// never announces anything.
	"maint_notifications": {0, -1, alwaysOK},
}

// client implements CLIENT.
func client(s *session, x *Stream, m *Master, _ string, args []string) keyspace.Reply {
	name := strings.ToLower(args[0])
	c, ok := clientCommands[name]
	switch n := len(args) - 1; {
	case !ok:
		return m.unknownSubcommand("client", args)
	case n < c.min || c.max >= 0 && n > c.max:
		return wrongNumber("client|" + name)
	}
	return c.do(s, x, m, args[1:])
}

func alwaysOK(*session, *Stream, *Master, []string) keyspace.Reply { return keyspace.OK }

func onOrOff(_ *session, _ *Stream, _ *Master, args []string) keyspace.Reply {
	if !strings.EqualFold(args[0], "on") && !strings.EqualFold(args[0], "off") {
		return keyspace.Error("ERR syntax error")
	}
	return keyspace.OK
}

func getName(s *session, _ *Stream, _ *Master, _ []string) keyspace.Reply {
	if s.name == "" {
		return keyspace.Nil
	}
	return keyspace.Bulk(s.name)
}

func setName(s *session, _ *Stream, _ *Master, args []string) keyspace.Reply {
	s.name = args[0]
	return keyspace.OK
}

// describe returns what CLIENT INFO and CLIENT LIST say about the connection. Buffers are not modelled: they have
// the size 0.
func (x *Stream) describe(m *Master) string {
	s := &x.session
	flags, multi := "", -1
	if s.subscribed() {
		flags += "P"
	}
	if s.queueing {
		flags, multi = flags+"x", len(s.queued)
	}
	redirect := -1
	for _, f := range []struct {
		sign string
		set  bool
	}{{"b", x.blocked}, {"t", s.tracking.on}, {"B", s.tracking.broadcast}, {"d", s.touched(m)}} {
		if f.set {
			flags += f.sign
		}
	}
	if s.tracking.on {
		redirect = 0
	}
	age := func(since int64) int64 { return (m.world.Now() - since) / int64(time.Second) }
	return fmt.Sprintf("id=%d addr=10.0.0.0:%d laddr=10.0.1.%d:6379 fd=%d name=%s age=%d idle=%d flags=%s db=0 sub=%d psub=%d ssub=0 multi=%d qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=default redir=%d resp=%d\n",
		s.number(m), s.number(m), m.number, s.number(m), s.name, age(s.began), age(s.seen), cmp.Or(flags, "N"), len(s.listens), len(s.patterns), multi, s.lastCommand(), redirect, max(s.version, 2))
}

func (s *session) subscribed() bool { return len(s.listens)+len(s.patterns) > 0 }

// lastCommand returns the name of the last command, with that of its subcommand.
func (s *session) lastCommand() string {
	name := strings.ToLower(s.last[0])
	switch {
	case listedCommand(name) == nil:
		return "NULL"
	case hasSubcommands[name] && len(s.last) > 1:
		return name + "|" + strings.ToLower(s.last[1])
	}
	return name
}

// clients returns the connections to the master that have sent a command, in the order of their numbers.
func (m *Master) clients() (all []*Stream) {
	for _, links := range m.cluster.links {
		for _, x := range links[m.number-1].streams {
			if x.link.master == m && x.run == m.run && x.session.last != nil {
				all = append(all, x)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Stream) int { return cmp.Compare(a.session.number(m), b.session.number(m)) })
	return all
}

// listClients implements CLIENT LIST.
func (m *Master) listClients(args []string) keyspace.Reply {
	wanted := func(*Stream) bool { return true }
	switch {
	case len(args) == 2 && strings.EqualFold(args[0], "type"):
		kind := strings.ToLower(args[1])
		if !slices.Contains([]string{"normal", "pubsub", "replica", "slave", "master"}, kind) {
			return keyspace.Error("ERR Unknown client type '" + args[1] + "'")
		}
		wanted = func(x *Stream) bool {
			return kind == map[bool]string{true: "pubsub", false: "normal"}[x.session.subscribed()]
		}
	case len(args) > 1 && strings.EqualFold(args[0], "id"):
		ids := map[int64]bool{}
		for _, a := range args[1:] {
			id, ok := keyspace.Integer(a)
			if !ok {
				return keyspace.Error("ERR Invalid client ID")
			}
			ids[id] = true
		}
		wanted = func(x *Stream) bool { return ids[x.session.number(m)] }
	case len(args) > 0:
		return keyspace.Error("ERR syntax error")
	}
	list := ""
	for _, x := range m.clients() {
		if wanted(x) {
			list += x.describe(m)
		}
	}
	return text(list)
}

// wakeBlocked implements CLIENT UNBLOCK: the blocking command of a connection ends as at its
// timeout, or with an error.
func (m *Master) wakeBlocked(args []string) keyspace.Reply {
	id, ok := keyspace.Integer(args[0])
	how := "timeout"
	if len(args) == 2 {
		how = strings.ToLower(args[1])
	}
	switch {
	case how != "timeout" && how != "error":
		return keyspace.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	case !ok:
		return keyspace.Error(notInteger)
	}
	for _, w := range m.waiting.all {
		if w.stream.session.number(m) != id {
			continue
		}
		r := w.wait.Nothing
		if how == "error" {
			r = keyspace.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")
		}
		m.unblock(w, r)
		return keyspace.Int(1)
	}
	return keyspace.Int(0)
}

// disconnect implements CLIENT KILL ID: connections have no other names here.
func (m *Master) disconnect(by *Stream, args []string) keyspace.Reply {
	if len(args) != 2 || !strings.EqualFold(args[0], "id") {
		return m.notModelled("client kill without an id")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || n < 1 {
		return keyspace.Error("ERR client-id should be greater than 0")
	}
	for _, x := range m.clients() {
		if x != by && x.session.id == n { // a connection does not end itself: SKIPME
			x.close(m, 0)
			return keyspace.Int(1)
		}
	}
	return keyspace.Int(0)
}
