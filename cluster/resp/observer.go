package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lockpick/history"
)

// Vote is a master's reply to a command on a lock's key.
type Vote struct {
	Command string // as in a history: set, extend, release, read
	Key     string // the key on the master
	Token   string
	Yes     bool
	TTL     time.Duration // TTL of the command; 0: none, or unknown
	Err     string        // the reason why it is unknown whether the command was executed
	Sent    time.Time
	At      time.Time // when the reply came, or the connection ended
	// Elsewhere reports whether a script stores the token under a key that it computes: the master stores nothing
	// under Key.
	Elsewhere bool

	fresh bool // a yes means that the key was free
}

// Scripts holds the texts of Lua scripts by their hashes. All connections of a run share it: a client may run
// a script that another client has loaded.
type Scripts struct {
	mu    sync.Mutex
	bySHA map[string]script
}

// maxScripts limits the number of scripts that are kept.
const maxScripts = 10_000

func (s *Scripts) learn(text string) script {
	sum := sha1.Sum([]byte(text))
	sha := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.bySHA[sha]; ok {
		return known
	}
	read := readScript(text)
	if s.bySHA == nil {
		s.bySHA = map[string]script{}
	}
	if len(s.bySHA) < maxScripts {
		s.bySHA[sha] = read
	}
	return read
}

func (s *Scripts) named(sha string) (script, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, ok := s.bySHA[strings.ToLower(sha)]
	return read, ok
}

// Observer turns the commands of one client to one master into votes.
type Observer struct {
	Scripts *Scripts
	Vote    func(Vote)      // called with each vote before the client gets the reply
	Lost    func(why error) // called when a connection cannot be followed; may be nil

	mu     sync.Mutex
	stored map[string]*entry // for each key that the client has tried to acquire, the value that it stored there last
}

// entry is a token that a client has stored.
type entry struct {
	token string
	held  bool      // it has not been released since
	until time.Time // when it expires; zero: unknown
}

// holds reports whether the master may still store the client's token.
func (e *entry) holds(token string, at time.Time) bool {
	return e.held && e.token == token && (e.until.IsZero() || at.Before(e.until))
}

// maxKeys limits the number of keys whose tokens an observer keeps.
const maxKeys = 10_000

// Connection follows a new connection.
func (o *Observer) Connection() *Conversation {
	return &Conversation{Tell: o.exchange, Keep: (&filter{observer: o}).wants, Lost: o.Lost}
}

// filter chooses the commands of one connection that the observer needs. It belongs to the goroutine of
// the requests, and asks the observer only once for each key: the goroutine of the replies holds the
// observer's mutex for each of them, and with pipelines both run at the same time.
type filter struct {
	observer *Observer
	known    map[string]struct{} // keys that the client has tried to acquire, as far as this connection has asked
}

// wants reports whether a command may belong to a lock. A command that only reads or changes a key belongs to
// one if the client has stored a value there that a lock might store.
func (f *filter) wants(name []byte, args []Value) bool {
	switch string(name) {
	case "setnx", "getset", "delex", "delifeq", "hset", "hsetnx", "hincrby", "hdel", "setex", "psetex":
		return len(args) > 2 && !args[2].Cut && f.tries(args[1].Text)
	case "set":
		if len(args) < 3 || args[2].Cut { // too large for a token
			return false
		}
		for i := range args[3:] {
			if a := &args[3+i]; len(a.Text) == 2 && (a.Text[0]|0x20 == 'n' || a.Text[0]|0x20 == 'x') && a.Text[1]|0x20 == 'x' { // NX, XX
				return f.tries(args[1].Text)
			}
		}
		return f.knows(args[1].Text)
	case "get", "getdel", "del", "unlink", "expire", "pexpire", "expireat", "pexpireat":
		return len(args) > 1 && f.knows(args[1].Text)
	case "eval", "evalsha":
		return len(args) > 3 && f.tries(args[3].Text)
	case "script":
		return true
	}
	return false
}

// tries records that the client tries to acquire a key, and returns true.
func (f *filter) tries(key []byte) bool {
	if _, known := f.known[string(key)]; known {
		return true
	}
	o := f.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.stored[string(key)]
	if !known && len(o.stored) >= maxKeys {
		return true
	}
	if o.stored == nil {
		o.stored = map[string]*entry{}
	}
	if !known {
		o.stored[string(key)] = &entry{}
	}
	f.add(key)
	return true
}

// knows reports whether the client has tried to acquire a key.
func (f *filter) knows(key []byte) bool {
	if _, known := f.known[string(key)]; known {
		return true
	}
	f.observer.mu.Lock()
	defer f.observer.mu.Unlock()
	_, known := f.observer.stored[string(key)]
	if known {
		f.add(key)
	}
	return known
}

// add remembers a key of the observer's, which it never forgets.
func (f *filter) add(key []byte) {
	if f.known == nil {
		f.known = map[string]struct{}{}
	}
	f.known[string(key)] = struct{}{}
}

func (o *Observer) exchange(x Exchange) {
	v := Vote{Key: arg(x.Args, 1), Sent: x.Sent, At: x.Answered}
	yes := succeeded
	var small [32]byte
	switch name := lower(small[:0], x.Args[0]); string(name) {
	case "script":
		if strings.EqualFold(arg(x.Args, 1), "load") && x.Reply != nil && x.Reply.Type != '-' {
			o.Scripts.learn(arg(x.Args, 2))
		}
		return
	case "eval", "evalsha":
		var ok bool
		if yes, ok = o.script(len(name) == len("evalsha"), &v, &x); !ok {
			return
		}
	case "set":
		o.set(&v, &x)
		if hasOption(x.Args, "get") { // the reply is the value that was stored before
			yes = func(r *Reply) bool { return r.Null == hasOption(x.Args, "nx") }
		}
	case "setnx", "getset":
		v.Command, v.Token, v.fresh = history.CommandSet, arg(x.Args, 2), string(name) == "setnx"
		if string(name) == "getset" {
			yes = func(r *Reply) bool { return true }
		}
	case "setex", "psetex":
		v.Command, v.Token, v.TTL = history.CommandSet, arg(x.Args, 3), lifetime(arg(x.Args, 2), unitOf(string(name)), x.Sent)
	case "hsetnx", "hset", "hincrby":
		v.Command, v.Token, v.fresh = history.CommandSet, arg(x.Args, 2), string(name) == "hsetnx"
		if string(name) == "hincrby" && strings.HasPrefix(arg(x.Args, 3), "-") {
			v.Command = history.CommandRelease
		}
		if string(name) == "hset" { // 0: the field existed, and has another value now
			yes = func(r *Reply) bool { return r.Type == ':' }
		}
	case "hdel":
		v.Command, v.Token = history.CommandRelease, arg(x.Args, 2)
	case "del", "unlink", "getdel":
		v.Command = history.CommandRelease
	case "delifeq":
		v.Command, v.Token = history.CommandRelease, arg(x.Args, 2)
	case "delex":
		v.Command, v.Token = history.CommandRelease, arg(x.Args, 3)
	case "expire", "pexpire", "expireat", "pexpireat":
		v.Command, v.TTL = history.CommandExtend, lifetime(arg(x.Args, 2), unitOf(string(name)), x.Sent)
	case "get":
		v.Command = history.CommandRead
	default:
		return
	}
	o.tell(v, x.Reply, yes)
}

// tell completes a vote and passes it on.
func (o *Observer) tell(v Vote, r *Reply, yes func(*Reply) bool) {
	if r != nil && r.Type == '-' && strings.HasPrefix(string(r.Text), "NOSCRIPT") {
		return // the master executed nothing; the client sends the script's text next
	}
	o.mu.Lock()
	mine := o.stored[v.Key]
	known := mine != nil
	if !known {
		mine = &entry{}
	}
	if v.Token == "" {
		v.Token = mine.token
	}
	if v.Command == history.CommandSet && !v.fresh && mine.holds(v.Token, v.Sent) { // it can only prolong the lock
		v.Command = history.CommandExtend
	}
	switch {
	case r == nil:
		v.Err = "no reply"
	case r.Type == '-' || r.Type == '!':
		v.Err = string(r.Text)
	case v.Command == history.CommandRead:
		v.Yes = !r.Null && string(r.Text) == v.Token || r.Type == ':' && r.Int > 0
	default:
		v.Yes = yes(r)
	}
	if known {
		mine.note(&v)
	}
	o.mu.Unlock()
	if v.Token == "" { // the client never acquired the key: this is not a lock's command
		return
	}
	v.Key, v.Token = Printable(v.Key), Printable(v.Token)
	o.Vote(v)
}

// note records the effect of a command. The caller holds the observer's mutex.
func (e *entry) note(v *Vote) {
	switch {
	case v.Command == history.CommandRelease:
		e.held = false // also if nothing was deleted, because the key was gone
	case v.Yes && v.Command == history.CommandSet:
		*e = entry{token: v.Token, held: true}
	}
	if v.Yes && v.Command != history.CommandRelease && v.TTL > 0 {
		e.until = v.Sent.Add(v.TTL)
	}
}

// set reads the options of SET.
func (o *Observer) set(v *Vote, x *Exchange) {
	v.Command, v.Token = history.CommandSet, arg(x.Args, 2)
	for i := 3; i < len(x.Args); i++ {
		option := x.Args[i]
		if u, ok := setUnit(option); ok {
			v.TTL = lifetime(arg(x.Args, i+1), u, x.Sent)
			i++
		}
		switch {
		case is(option, "nx"):
			v.fresh = true
		case is(option, "xx"):
			v.Command = history.CommandExtend
		}
	}
}

// script reads a call of a Lua script. yes tells which replies mean success; ok is false if the script does
// not concern a lock, or its text is unknown.
func (o *Observer) script(byHash bool, v *Vote, x *Exchange) (yes func(*Reply) bool, ok bool) {
	var s script
	if !byHash {
		s = o.Scripts.learn(arg(x.Args, 1))
	} else if s, ok = o.Scripts.named(arg(x.Args, 1)); !ok {
		return nil, false
	}
	keys, err := number([]byte(arg(x.Args, 2)))
	if err != nil || keys < 1 || s.kind == "" {
		return nil, false
	}
	argv := x.Args[min(len(x.Args), 3+int(min(keys, maxElems))):]
	v.Command, v.Key, v.Token, v.Elsewhere = s.kind, arg(x.Args, 3), arg(argv, s.token-1), s.elsewhere
	if s.token == 0 {
		v.Token = o.likelyToken(v.Key, argv)
	}
	if s.ttl > 0 {
		v.TTL = lifetime(arg(argv, s.ttl-1), s.unit, x.Sent)
	}
	if s.inverted {
		return func(r *Reply) bool { return r.Null }, true
	}
	return succeeded, true
}

// likelyToken finds the token among a script's arguments: the client's own token, otherwise the first argument
// that is not a number.
func (o *Observer) likelyToken(key string, argv []string) string {
	mine, token := "", ""
	o.mu.Lock()
	if e := o.stored[key]; e != nil {
		mine = e.token
	}
	o.mu.Unlock()
	for _, a := range argv {
		if a == mine {
			return a
		}
		if strings.Trim(a, "0123456789.-") != "" && token == "" {
			token = a
		}
	}
	if token == "" {
		token = arg(argv, 0)
	}
	return token
}

// succeeded reports whether a reply means that the command succeeded. An array contains the results that
// failed.
func succeeded(r *Reply) bool {
	switch r.Type {
	case ':', '#':
		return r.Int > 0
	case '*', '~', '%':
		return !r.Null && len(r.Elems) == 0
	}
	return !r.Null && string(r.Text) != "0"
}

// lifetime parses a TTL; 0: it is not a TTL.
func lifetime(text string, u unit, now time.Time) time.Duration {
	n, err := number([]byte(text))
	if err != nil || n <= 0 {
		return 0
	}
	const years = 1 << 53 / int64(time.Millisecond) // in ms: beyond, a time.Duration would overflow
	switch u {
	case seconds:
		return time.Duration(min(n, years/1000)) * time.Second
	case atSeconds:
		return max(0, time.Unix(min(n, maxNumber/1000), 0).Sub(now))
	case atMilliseconds:
		return max(0, time.UnixMilli(n).Sub(now))
	}
	return time.Duration(min(n, years)) * time.Millisecond
}

func hasOption(args []string, option string) bool {
	for _, a := range args[min(3, len(args)):] {
		if is(a, option) {
			return true
		}
	}
	return false
}

// is reports whether two words are equal, ignoring case.
func is(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// arg returns an argument, or "" if there are fewer.
func arg(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return args[i]
}

// maxPrinted limits the length of names and tokens in votes, in bytes.
const maxPrinted = 512

// Printable makes a key or a token, which may be any bytes, valid in a history.
func Printable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	if len(s) > maxPrinted {
		s = strings.ToValidUTF8(s[:maxPrinted], "")
	}
	return s
}
