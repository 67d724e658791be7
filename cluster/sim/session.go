package sim

import (
	"slices"
	"strings"
	"time"

	"lockpick/cluster/keyspace"
)

// session is the server's state of one connection.
type session struct {
	input, output []byte
	version       int // of the protocol; 0: 2
	id            int64
	name          string
	last          []string // the last command
	began, seen   int64    // true times of the first and the last command

	closing bool // the server ends the connection after its replies

	queueing bool // after MULTI
	dirty    bool // a command of the transaction was refused
	queued   [][]string
	watched  map[string]watchedKey
	listens  map[string]bool // subscribed channels
	patterns map[string]bool

	tracking tracking

	held []byte // replies that wait for a command such as WAIT
}

// watchedKey is the state of a key when WATCH was called.
type watchedKey struct {
	present bool
	version int64 // number of changes of the key at that time
}

// proceed executes the commands that have arrived completely. later is the delay of the
// reply to the last one, which delays all commands after it. Below 0, the reply never comes.
func (s *session) proceed(x *Stream, m *Master) (later time.Duration) {
	if x.blocked {
		return 0
	}
	used := 0
	for later == 0 && used < len(s.input) && !s.closing {
		words, n, problem := parseCommand(s.input[used:])
		if problem != "" {
			s.write(keyspace.Error(problem))
			s.input, s.closing = nil, true
			return 0
		}
		if n == 0 {
			break
		}
		used += n
		if len(words) == 0 {
			continue
		}
		from := len(s.output)
		s.last, s.seen = words, m.world.Now()
		if s.began == 0 {
			s.began = s.seen
		}
		m.admit()
		m.serving = s
		r := s.answer(x, m, words)
		m.serving = nil
		s.tracking.after(words, s.queueing)
		if x.blocked {
			break
		}
		m.begun = false
		if m.account != nil {
			x.watched.execute(s.number(m), m.account.end(s.number(m), x.link.client.Name(), words))
		}
		if later = r.Later; later != 0 {
			if later > 0 {
				s.held = r.Append(nil, s.version)
			}
			break
		}
		if r.Kind != keyspace.ReplyPush {
			s.write(r)
		}
		x.watched.reply(s.output, from)
		m.serveWaiting()
	}
	if s.input = s.input[used:]; len(s.input) == 0 {
		s.input = nil
	}
	return later
}

// unblock sends the reply that was delayed.
func (s *session) unblock(watched *exchanges) {
	from := len(s.output)
	s.output = append(s.output, s.held...)
	watched.reply(s.output, from)
	s.held = nil
}

func (s *session) write(r keyspace.Reply) { s.output = r.Append(s.output, s.version) }

// noReply marks a command that has sent its own replies.
var noReply = keyspace.Reply{Kind: keyspace.ReplyPush}

// answer executes one command of the connection. Names are compared in lower case.
func (s *session) answer(x *Stream, m *Master, words []string) keyspace.Reply {
	name, args := words[0], words[1:]
	c, name := lookUp(name)
	own := sessionCommands[name]
	var refused string
	switch {
	case c == nil && own == nil:
		s.dirty = s.queueing
		return m.unknown(words[0], args)
	case own != nil && !(own.min <= len(args) && (own.max < 0 || len(args) <= own.max)), c != nil && !c.Accepts(len(args)):
		s.dirty = s.queueing
		return wrongNumber(name)
	case m.denies(name, args) != "":
		refused = m.denies(name, args)
	case c != nil && c.Writes && m.disk.broken:
		refused = misconfAOF
	case m.oom && (c != nil && c.Grows || s.queueing && (own == nil || !own.atOnce)):
		refused = outOfMemory
	}
	switch {
	case refused != "":
		s.dirty = s.queueing
		return keyspace.Error(refused)
	case s.queueing && (own == nil || !own.atOnce):
		s.queued = append(s.queued, words)
		return keyspace.Reply{Kind: keyspace.ReplyStatus, Text: "QUEUED"}
	case own != nil:
		return own.do(s, x, m, name, args)
	}
	r := s.run(m, c, args)
	if wait, ok := c.wouldWait(&r, args); ok {
		m.block(x, words, wait)
	}
	return r
}

// sessionCommand is a command about the connection.
type sessionCommand struct {
	min, max int
	atOnce   bool // it is also executed within a transaction
	do       func(s *session, x *Stream, m *Master, name string, args []string) keyspace.Reply
}

var sessionCommands map[string]*sessionCommand

func init() {
	quit := func(s *session, _ *Stream, _ *Master, _ string, _ []string) keyspace.Reply {
		s.closing = true
		return keyspace.OK
	}
	sessionCommands = map[string]*sessionCommand{
		"hello":        {0, -1, false, (*session).hello},
		"auth":         {1, -1, false, auth},
		"select":       {1, 1, false, selectDB},
		"client":       {1, -1, false, client},
		"quit":         {0, -1, true, quit},
		"multi":        {0, 0, true, (*session).multi},
		"exec":         {0, 0, true, (*session).exec},
		"discard":      {0, 0, true, (*session).discard},
		"watch":        {1, -1, true, (*session).watch},
		"unwatch":      {0, 0, false, (*session).unwatch},
		"subscribe":    {1, -1, true, (*session).subscribe},
		"psubscribe":   {1, -1, true, (*session).subscribe},
		"unsubscribe":  {0, -1, true, (*session).unsubscribe},
		"punsubscribe": {0, -1, true, (*session).unsubscribe},
	}
}

func (s *session) hello(x *Stream, m *Master, _ string, args []string) keyspace.Reply {
	version, name := max(s.version, 2), s.name
	if len(args) > 0 {
		n, ok := keyspace.Integer(args[0])
		switch {
		case !ok:
			return keyspace.Error("ERR Protocol version is not an integer or out of range")
		case n < 2 || n > 3:
			return keyspace.Error("NOPROTO unsupported protocol version")
		}
		version = int(n)
	}
	for i := 1; i < len(args); i++ {
		switch left := len(args) - i - 1; {
		case strings.EqualFold(args[i], "auth") && left >= 2:
			if refused := authenticates(args[i+1]); refused != "" {
				return keyspace.Error(refused)
			}
			i += 2
		case strings.EqualFold(args[i], "setname") && left >= 1:
			name = args[i+1]
			i++
		default:
			return keyspace.Error("ERR Syntax error in HELLO option '" + args[i] + "'")
		}
	}
	s.version, s.name = version, name
	return keyspace.Reply{Kind: keyspace.ReplyMap, Items: []keyspace.Reply{
		keyspace.Bulk("server"), keyspace.Bulk("redis"), keyspace.Bulk("version"), keyspace.Bulk(serverVersion), keyspace.Bulk("proto"), keyspace.Int(int64(version)),
		keyspace.Bulk("id"), keyspace.Int(s.number(m)), keyspace.Bulk("mode"), keyspace.Bulk("standalone"), keyspace.Bulk("role"), keyspace.Bulk("master"), keyspace.Bulk("modules"), keyspace.Array(),
	}}
}

// auth implements AUTH. The masters have one user, "default", who needs no password.
func auth(_ *session, _ *Stream, _ *Master, _ string, args []string) keyspace.Reply {
	switch {
	case len(args) > 2:
		return keyspace.Error("ERR syntax error")
	case len(args) == 1:
		return keyspace.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	}
	if refused := authenticates(args[0]); refused != "" {
		return keyspace.Error(refused)
	}
	return keyspace.OK
}

// authenticates returns the error with which the server refuses a user with a password, or "".
func authenticates(user string) (refused string) {
	if user != "default" {
		return "WRONGPASS invalid username-password pair or user is disabled."
	}
	return ""
}

// number returns the connection's number for CLIENT ID.
func (s *session) number(m *Master) int64 {
	if s.id == 0 {
		s.id = m.connected()
	}
	return s.id
}

// connected returns the number of a new connection.
func (m *Master) connected() int64 {
	*m.connections++
	return *m.connections
}

func selectDB(_ *session, _ *Stream, m *Master, _ string, args []string) keyspace.Reply {
	switch n, ok := keyspace.Integer(args[0]); {
	case !ok:
		return keyspace.Error(notInteger)
	case n < 0 || n >= keyspace.Databases:
		return keyspace.Error("ERR DB index is out of range")
	case n > 0:
		return m.notModelled("select " + args[0])
	}
	return keyspace.OK
}

func (s *session) multi(*Stream, *Master, string, []string) keyspace.Reply {
	if s.queueing {
		return keyspace.Error("ERR MULTI calls can not be nested")
	}
	s.queueing = true
	return keyspace.OK
}

func (s *session) discard(*Stream, *Master, string, []string) keyspace.Reply {
	if !s.queueing {
		return keyspace.Error("ERR DISCARD without MULTI")
	}
	s.endTransaction()
	return keyspace.OK
}

func (s *session) endTransaction() {
	s.queueing, s.dirty, s.queued, s.watched = false, false, nil, nil
}

func (s *session) exec(x *Stream, m *Master, _ string, _ []string) keyspace.Reply {
	if !s.queueing {
		return keyspace.Error("ERR EXEC without MULTI")
	}
	queued, dirty, touched := s.queued, s.dirty, s.touched(m)
	s.endTransaction()
	switch {
	case dirty:
		return keyspace.Error("EXECABORT Transaction discarded because of previous errors.")
	case touched:
		return keyspace.Reply{Kind: keyspace.ReplyNilArray}
	}
	for _, words := range queued {
		if c, _ := lookUp(words[0]); c != nil && c.Writes {
			if refused := m.refuses(c); refused != "" {
				return keyspace.Error("EXECABORT Transaction discarded because of: " + refused)
			}
		}
	}
	all := keyspace.Array()
	for _, words := range queued {
		m.account.calls(words[0], words[1:])
		all.Items = append(all.Items, s.perform(x, m, words))
	}
	return all
}

// perform executes a command of a transaction, which nothing refuses any more.
func (s *session) perform(x *Stream, m *Master, words []string) keyspace.Reply {
	c, name := lookUp(words[0])
	if c == nil {
		return sessionCommands[name].do(s, x, m, name, words[1:])
	}
	return s.run(m, c, words[1:])
}

func (s *session) watch(_ *Stream, m *Master, _ string, args []string) keyspace.Reply {
	if s.queueing {
		return keyspace.Error("ERR WATCH inside MULTI is not allowed")
	}
	if s.watched == nil {
		s.watched = map[string]watchedKey{}
	}
	for _, key := range args {
		if _, is := s.watched[key]; !is {
			_, present := m.store.Get(key, m.now())
			s.watched[key] = watchedKey{present: present, version: m.touch(key)}
		}
	}
	return keyspace.OK
}

// touched reports whether a watched key has changed or expired since WATCH.
func (s *session) touched(m *Master) bool {
	for key, was := range s.watched {
		_, present := m.store.Get(key, m.now())
		if present != was.present || m.touches[key] != was.version {
			return true
		}
	}
	return false
}

func (s *session) unwatch(*Stream, *Master, string, []string) keyspace.Reply {
	s.watched = nil
	return keyspace.OK
}

// subscribe implements SUBSCRIBE and PSUBSCRIBE, with a reply for each channel.
func (s *session) subscribe(x *Stream, m *Master, name string, args []string) keyspace.Reply {
	for _, channel := range args {
		to := &s.listens
		if name == "psubscribe" {
			to = &s.patterns
		}
		if *to == nil {
			*to = map[string]bool{}
		}
		(*to)[channel] = true
		s.write(s.listening(name, keyspace.Bulk(channel)))
	}
	if !slices.Contains(m.listeners, x) {
		m.listeners = append(m.listeners, x)
	}
	return noReply
}

func (s *session) listening(name string, channel keyspace.Reply) keyspace.Reply {
	return keyspace.Reply{Kind: keyspace.ReplyPush, Items: []keyspace.Reply{keyspace.Bulk(name), channel, keyspace.Int(int64(len(s.listens) + len(s.patterns)))}}
}

func (s *session) unsubscribe(x *Stream, m *Master, name string, args []string) keyspace.Reply {
	from := s.listens
	if name == "punsubscribe" {
		from = s.patterns
	}
	if len(args) == 0 {
		for channel := range from {
			args = append(args, channel)
		}
		slices.Sort(args)
	}
	for _, channel := range args {
		delete(from, channel)
		s.write(s.listening(name, keyspace.Bulk(channel)))
	}
	if len(args) == 0 {
		s.write(s.listening(name, keyspace.Nil))
	}
	if len(s.listens)+len(s.patterns) == 0 {
		m.listeners = remove(m.listeners, x)
	}
	return noReply
}

// end is called at the end of the connection.
func (s *session) end(x *Stream) {
	m := x.link.master
	m.listeners, m.trackers = remove(m.listeners, x), remove(m.trackers, x)
}
