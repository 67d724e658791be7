package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// session is the server's state of one connection.
type session struct {
	input, output []byte
	version       int // of the protocol; 0: 2
	id            int64
	name          string

	queueing bool // after MULTI
	dirty    bool // a command of the transaction was refused
	queued   [][]string
	watched  map[string]watchedKey
	listens  map[string]bool // subscribed channels
	patterns map[string]bool

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
	for later == 0 && used < len(s.input) {
		words, n, problem := parseCommand(s.input[used:])
		if problem != "" {
			s.write(errorReply(problem))
			s.input = nil
			return -1
		}
		if n == 0 {
			break
		}
		used += n
		if len(words) == 0 {
			continue
		}
		from := len(s.output)
		r := s.answer(x, m, words)
		if m.account != nil {
			x.watched.execute(s.number(m), m.account.end(s.number(m), x.link.client.name, words))
		}
		if later = r.later; later != 0 {
			if later > 0 {
				s.held = r.write(nil, s.version)
			}
			break
		}
		if r.kind != replyPush {
			s.write(r)
		}
		x.watched.reply(s.output, from)
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

func (s *session) write(r reply) { s.output = r.write(s.output, s.version) }

// noReply marks a command that has sent its own replies.
var noReply = reply{kind: replyPush}

// answer executes one command of the connection. Names are compared in lower case.
func (s *session) answer(x *Stream, m *Master, words []string) reply {
	name, args := words[0], words[1:]
	c := commands[name]
	if c == nil {
		name = strings.ToLower(name)
		c = commands[name]
	}
	own := sessionCommands[name]
	if own != nil && (len(args) < own.min || own.max >= 0 && len(args) > own.max) {
		s.dirty = true
		return errorReply("ERR wrong number of arguments for '" + name + "' command")
	}
	switch {
	case s.queueing && (own == nil || !own.atOnce):
		if c == nil && own == nil {
			s.dirty = true
			return errorReply(unknownCommand(words[0], args))
		}
		if c != nil && (len(args) < c.min || c.max >= 0 && len(args) > c.max) {
			s.dirty = true
			return errorReply("ERR wrong number of arguments for '" + name + "' command")
		}
		s.queued = append(s.queued, words)
		return reply{kind: replyStatus, text: "QUEUED"}
	case own != nil:
		return own.do(s, x, m, name, args)
	case c == nil:
		return errorReply(unknownCommand(words[0], args))
	}
	return m.db().carryOut(c, name, args)
}

// sessionCommand is a command about the connection.
type sessionCommand struct {
	min, max int
	atOnce   bool // it is also executed within a transaction
	do       func(s *session, x *Stream, m *Master, name string, args []string) reply
}

var sessionCommands map[string]*sessionCommand

func init() {
	ok := func(*session, *Stream, *Master, string, []string) reply { return okReply }
	sessionCommands = map[string]*sessionCommand{
		"hello":        {0, -1, false, (*session).hello},
		"auth":         {1, 2, false, ok},
		"select":       {1, 1, false, selectDB},
		"client":       {1, -1, false, (*session).client},
		"quit":         {0, 0, true, ok},
		"readonly":     {0, 0, false, ok},
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

func (s *session) hello(x *Stream, m *Master, _ string, args []string) reply {
	version := max(s.version, 2)
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 2 || n > 3 {
			return errorReply("NOPROTO unsupported protocol version")
		}
		version = n
	}
	s.version = version
	for i := 1; i+1 < len(args); i++ {
		if strings.EqualFold(args[i], "setname") {
			s.name = args[i+1]
		}
	}
	return reply{kind: replyMap, items: []reply{
		bulkReply("server"), bulkReply("redis"), bulkReply("version"), bulkReply(serverVersion), bulkReply("proto"), intReply(int64(version)),
		bulkReply("id"), intReply(s.number(m)), bulkReply("mode"), bulkReply("standalone"), bulkReply("role"), bulkReply("master"), bulkReply("modules"), arrayReply(),
	}}
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

func selectDB(_ *session, _ *Stream, _ *Master, _ string, args []string) reply {
	switch n, err := strconv.Atoi(args[0]); {
	case err != nil:
		return errorReply(notInteger)
	case n != 0:
		return errorReply("ERR DB index is out of range")
	}
	return okReply
}

func (s *session) client(_ *Stream, m *Master, _ string, args []string) reply {
	switch strings.ToLower(args[0]) {
	case "id":
		return intReply(s.number(m))
	case "getname":
		return bulkReply(s.name)
	case "setname":
		if len(args) == 2 {
			s.name = args[1]
			return okReply
		}
	case "setinfo", "no-evict", "no-touch":
		return okReply
	case "maint_notifications":
		// Redis 7.0 does not know this command. If it gets an error, go-redis locks a mutex
		// that other goroutines hold during network calls. A goroutine that waits for a
		// mutex stops the time of a synctest bubble: the reply to such a network call would
		// never come. The simulated master never announces anything.
		return okReply
	}
	return errorReply("ERR unknown subcommand or wrong number of arguments for '" + args[0] + "'. Try CLIENT HELP.")
}

func (s *session) multi(*Stream, *Master, string, []string) reply {
	if s.queueing {
		return errorReply("ERR MULTI calls can not be nested")
	}
	s.queueing = true
	return okReply
}

func (s *session) discard(*Stream, *Master, string, []string) reply {
	if !s.queueing {
		return errorReply("ERR DISCARD without MULTI")
	}
	s.endTransaction()
	return okReply
}

func (s *session) endTransaction() {
	s.queueing, s.dirty, s.queued, s.watched = false, false, nil, nil
}

func (s *session) exec(x *Stream, m *Master, _ string, _ []string) reply {
	if !s.queueing {
		return errorReply("ERR EXEC without MULTI")
	}
	queued, dirty, touched := s.queued, s.dirty, s.touched(m)
	s.endTransaction()
	switch {
	case dirty:
		return errorReply("EXECABORT Transaction discarded because of previous errors.")
	case touched:
		return reply{kind: replyNilArray}
	}
	all := reply{kind: replyArray}
	for _, words := range queued {
		m.account.calls(words[0], words[1:])
		all.items = append(all.items, s.answer(x, m, words))
	}
	return all
}

func (s *session) watch(_ *Stream, m *Master, _ string, args []string) reply {
	if s.queueing {
		return errorReply("ERR WATCH inside MULTI is not allowed")
	}
	if s.watched == nil {
		s.watched = map[string]watchedKey{}
	}
	for _, key := range args {
		if _, is := s.watched[key]; !is {
			_, present := m.store.get(key, m.db().now)
			s.watched[key] = watchedKey{present: present, version: m.touch(key)}
		}
	}
	return okReply
}

// touched reports whether a watched key has changed or expired since WATCH.
func (s *session) touched(m *Master) bool {
	for key, was := range s.watched {
		_, present := m.store.get(key, m.db().now)
		if present != was.present || m.touches[key] != was.version {
			return true
		}
	}
	return false
}

func (s *session) unwatch(*Stream, *Master, string, []string) reply {
	s.watched = nil
	return okReply
}

// subscribe implements SUBSCRIBE and PSUBSCRIBE, with a reply for each channel.
func (s *session) subscribe(x *Stream, m *Master, name string, args []string) reply {
	for _, channel := range args {
		to := &s.listens
		if name == "psubscribe" {
			to = &s.patterns
		}
		if *to == nil {
			*to = map[string]bool{}
		}
		(*to)[channel] = true
		s.write(s.listening(name, bulkReply(channel)))
	}
	if !slices.Contains(m.listeners, x) {
		m.listeners = append(m.listeners, x)
	}
	return noReply
}

func (s *session) listening(name string, channel reply) reply {
	return reply{kind: replyPush, items: []reply{bulkReply(name), channel, intReply(int64(len(s.listens) + len(s.patterns)))}}
}

func (s *session) unsubscribe(x *Stream, m *Master, name string, args []string) reply {
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
		s.write(s.listening(name, bulkReply(channel)))
	}
	if len(args) == 0 {
		s.write(s.listening(name, nilReply))
	}
	if len(s.listens)+len(s.patterns) == 0 {
		m.listeners = remove(m.listeners, x)
	}
	return noReply
}

// end is called at the end of the connection.
func (s *session) end(x *Stream) {
	m := x.link.master
	m.listeners = remove(m.listeners, x)
}
