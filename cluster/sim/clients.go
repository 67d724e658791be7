package sim

import (
	"fmt"
	"strconv"
	"strings"

	"lockpick/cluster/keyspace"
)

// clientCommand is a subcommand of CLIENT.
type clientCommand struct {
	min, max int // arguments after its name; max < 0: any number
	do       func(s *session, x *Stream, m *Master, args []string) keyspace.Reply
}

var clientCommands = map[string]clientCommand{
	"id":       {0, 0, func(s *session, _ *Stream, m *Master, _ []string) keyspace.Reply { return keyspace.Int(s.number(m)) }},
	"info":     {0, 0, func(s *session, _ *Stream, m *Master, _ []string) keyspace.Reply { return keyspace.Bulk(s.describe(m)) }},
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

// describe returns what CLIENT INFO says about the connection, as far as that is modelled.
func (s *session) describe(m *Master) string {
	flags, multi := "N", -1
	if s.queueing {
		flags, multi = "x", len(s.queued)
	}
	if s.tracking.on {
		flags = strings.TrimPrefix(flags, "N") + "t"
	}
	return fmt.Sprintf("id=%d name=%s flags=%s db=0 sub=%d psub=%d ssub=0 multi=%d cmd=client|info user=default redir=-1 resp=%d\n",
		s.number(m), s.name, flags, len(s.listens), len(s.patterns), multi, max(s.version, 2))
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
	for _, links := range m.cluster.links {
		l := links[m.number-1]
		for _, x := range l.streams {
			if l.master == m && x != by && x.run == m.run && x.session.id == n { // a connection does not end itself: SKIPME
				x.close(m, 0)
				return keyspace.Int(1)
			}
		}
	}
	return keyspace.Int(0)
}
