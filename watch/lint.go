package watch

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster/resp"
)

// Options says which keys to follow and how to print them.
type Options struct {
	Masters  int    // number of targets
	Quorum   int    // masters that must grant a key for a lease; 0: one if clients use one, and otherwise a majority
	Keys     string // a pattern for path.Match: only matching keys are followed, and all of them are locks; empty: any key
	HashKeys bool   // print and write hashes instead of keys
	Plain    bool   // print tokens as they are: those of a test are not secret
	Start    time.Time
}

// Lint follows the locks in the commands of all connections. One goroutine at a time may use it.
type Lint struct {
	opt     Options
	start   time.Time
	mask    *masker
	scripts scripts

	cells    map[string]*cell
	attempts []*attempt // in the order of their first command
	watched  map[int64]string
	granted  map[int64]*cell   // by connection: the key that it was granted last
	unsent   map[int64]*unsent // by connection: its latest release, if that was answered with NOSCRIPT
	roles    []Role

	words []resp.Value // scratch of Exchange
	text  []byte       // scratch of Exchange

	commands       int64 // number of all commands read
	kept           int   // values in the samples of all keys
	unknownScripts int
	refusals       int
	broken         map[string]bool // the rules broken so far, by ID
	forgotten      int             // number of keys and attempts beyond the limits
}

// Role is a master's role in its replication.
type Role struct {
	Replica  bool
	Replicas int
	Known    bool
}

// cell is a key that may be a lock's.
type cell struct {
	key      string // in the form in which it is printed
	attempts map[string]*attempt
	order    []string // the tokens in attempts, oldest first
	on       map[int]*grant
	waiters  map[int64]*waiter
	reads    map[int64]step
	noscript map[string]*unsent // by token: releases that were not executed
	found    map[string]*found
	tries    int
	refused  int
	released int
	extended int
	scripted int  // calls of scripts whose text was never seen
	endless  bool // it was granted without a TTL
	waits    int
	commands int
	failed   map[string]int // by code: commands that were answered with an error
	failure  string         // the first of them

	latencies, holds, ttls sample
	masters                map[int]bool
}

// found counts how often one rule was broken on one key.
type found struct {
	count    int
	evidence []string
}

// grant is a master's yes to an acquisition.
type grant struct {
	attempt *attempt
	step    step
	noTTL   bool
	until   time.Duration // when the key has certainly expired; 0: never
	ended   bool          // it was released
}

// attempt is the use of one token on one key, on all masters.
type attempt struct {
	cell     *cell
	token    string
	conn     int64
	sent     time.Duration // when its first command was sent
	last     time.Duration // when its last vote arrived
	ttl      time.Duration
	asked    map[int]bool
	yes      []time.Duration // when each yes arrived
	unknown  int
	waited   bool // its connection had been refused since its previous grant
	extended []extension
	release  time.Duration // when a release was first sent; 0: never
	released time.Duration // when the last reply to a release arrived
}

type extension struct {
	sent, at, ttl time.Duration
	yes           int
}

// waiter is a connection that was refused and retries.
type waiter struct {
	answered time.Duration
	pauses   []time.Duration // from each refusal to the next attempt
	since    bool            // it was refused since its last grant
}

// Limits of what is kept for each key, and in all (maxAttempts).
const (
	maxTokens   = 64
	maxWaiters  = 256
	maxPauses   = 64
	maxCodes    = 16
	maxAttempts = 200_000
)

// NewLint returns a Lint that has seen no commands. It returns an error if Options.Keys is malformed.
func NewLint(opt Options) (*Lint, error) {
	if _, err := path.Match(opt.Keys, ""); err != nil {
		return nil, fmt.Errorf("the pattern of keys %q: %w (it takes * ? and [a-z])", opt.Keys, err)
	}
	if opt.Start.IsZero() {
		opt.Start = time.Now()
	}
	return &Lint{opt: opt, start: opt.Start, mask: newMasker(opt), cells: map[string]*cell{},
		watched: map[int64]string{}, granted: map[int64]*cell{}, unsent: map[int64]*unsent{}, broken: map[string]bool{}, roles: make([]Role, opt.Masters)}, nil
}

// SetRole notes the role of a master.
func (l *Lint) SetRole(master int, r Role) { l.roles[master] = r }

// cell returns the cell of a key, and creates it if necessary; nil if the key is not followed.
func (l *Lint) cell(key string) *cell {
	if c := l.cells[key]; c != nil {
		return c
	}
	if l.opt.Keys != "" {
		if ok, _ := path.Match(l.opt.Keys, key); !ok {
			return nil
		}
	}
	if len(l.cells) >= maxCells {
		l.forgotten++
		return nil
	}
	key = strings.Clone(key)
	c := &cell{key: l.mask.key(key)}
	l.cells[key] = c
	return c
}

func (c *cell) knows(token string) bool { return c.attempts[token] != nil }

// Exchange processes a command of any kind and its reply. One connection's exchanges come in their order.
func (l *Lint) Exchange(master int, conn int64, x resp.Exchange) {
	l.words, l.text = l.words[:0], l.text[:0]
	for _, a := range x.Args {
		start := len(l.text)
		l.text = append(l.text, a...)
		l.words = append(l.words, resp.Value{Type: '$', Text: l.text[start:]})
	}
	if len(x.Args) > 0 && l.wants([]byte(strings.ToLower(x.Args[0])), l.words) {
		l.exchange(master, conn, x)
	}
}

// exchange processes a command that is wanted, and its reply.
func (l *Lint) exchange(master int, conn int64, x resp.Exchange) {
	switch name := strings.ToLower(x.Args[0]); name {
	case "script":
		if len(x.Args) > 2 && strings.EqualFold(x.Args[1], "load") {
			l.scripts.learn(x.Args[2])
		}
		return
	case "watch":
		for _, k := range x.Args[1:] {
			if l.cells[k] != nil {
				l.watched[conn] = k
			}
		}
		return
	case "wait":
		if c := l.granted[conn]; c != nil && len(x.Args) > 1 {
			if n, _ := strconv.Atoi(x.Args[1]); n > 0 {
				c.waits++
			}
		}
		return
	}
	l.ignores(conn, x.Sent.Sub(l.start))
	s, ok := l.classify(master, conn, &x)
	if ok {
		l.take(s)
	}
}

// closed forgets a connection that has ended.
func (l *Lint) closed(conn int64) {
	l.ignores(conn, math.MaxInt64)
	delete(l.watched, conn)
	delete(l.granted, conn)
}

// take applies one command to its cell.
func (l *Lint) take(s step) {
	c := l.cells[s.key]
	if c == nil {
		return
	}
	if c.masters == nil {
		c.masters, c.on, c.attempts = map[int]bool{}, map[int]*grant{}, map[string]*attempt{}
		c.waiters, c.reads, c.noscript, c.found = map[int64]*waiter{}, map[int64]step{}, map[string]*unsent{}, map[string]*found{}
	}
	c.masters[s.master] = true
	if c.commands++; s.failed != "" && !s.noscript {
		if c.failed == nil {
			c.failed, c.failure = map[string]int{}, s.line()
		}
		if len(c.failed) < maxCodes {
			c.failed[s.failed]++
		}
	}
	switch s.action {
	case acquire:
		l.acquire(c, s)
	case extend:
		l.extend(c, s)
	case release:
		l.release(c, s)
	case read:
		if len(c.reads) < maxWaiters {
			c.reads[s.conn] = s.clone()
		}
	}
}

// find notes that a rule is broken.
func (l *Lint) find(c *cell, rule string, lines ...string) {
	l.broken[rule] = true
	f := c.found[rule]
	if f == nil {
		f = &found{evidence: lines}
		c.found[rule] = f
	}
	f.count++
}

// line formats a command and its reply as evidence, without secrets.
func (s step) line() string {
	text := s.mask.masked(s.args, s.tokenAt)
	if !s.unheard {
		text += " → " + s.answer
	}
	return fmt.Sprintf("%s m%d connection %d: %s", at(s.sent), s.master+1, s.conn, text)
}

func (l *Lint) acquire(c *cell, s step) {
	c.tries++
	if s.known {
		l.keep(&c.latencies, s.at-s.sent)
	}
	if s.failed == "READONLY" {
		l.find(c, "lock-on-replica", s.line())
	}
	g := c.on[s.master]
	if g != nil && !g.ended && s.token != "" && g.attempt.token == s.token && s.yes && (g.until == 0 || s.sent < g.until) {
		l.prolonged(c, g, s) // a script that acquires the client's own key again extends it
		return
	}
	a := c.attempts[s.token]
	if a != nil && (a.release > 0 && s.sent >= a.release || a.ttl > 0 && s.sent > a.sent+a.ttl) {
		if s.yes && s.token != "" && g != nil && g.attempt.token == s.token {
			l.find(c, "reused-token", g.step.line(), s.line())
		}
		a = nil
	}
	if a == nil || s.token == "" {
		a = l.begin(c, s)
	}
	a.asked[s.master] = true
	a.last = max(a.last, s.at)
	switch {
	case s.yes:
		l.grant(c, a, s)
	case s.known:
		l.refuse(c, g, s)
	case !s.noscript:
		a.unknown++
	}
}

// begin adds an attempt to a key.
func (l *Lint) begin(c *cell, s step) *attempt {
	a := &attempt{cell: c, token: s.token, conn: s.conn, sent: s.sent, ttl: s.ttl, asked: map[int]bool{}}
	if c.attempts[s.token] == nil {
		c.order = append(c.order, s.token)
		if len(c.order) > maxTokens {
			delete(c.attempts, c.order[0])
			delete(c.noscript, c.order[0])
			c.order = c.order[1:]
		}
	}
	c.attempts[s.token] = a
	return a
}

func (l *Lint) grant(c *cell, a *attempt, s step) {
	if len(a.yes) == 0 {
		if len(l.attempts) < maxAttempts {
			l.attempts = append(l.attempts, a)
		} else {
			l.forgotten++
		}
	}
	a.yes = append(a.yes, s.at)
	g := &grant{attempt: a, step: s.clone(), noTTL: s.noTTL()}
	if s.ttl > 0 {
		g.until = s.at + s.ttl
		l.keep(&c.ttls, s.ttl)
	}
	c.endless = c.endless || g.noTTL
	if before := c.on[s.master]; before != nil && before.noTTL && before.ended {
		l.find(c, "no-ttl", before.step.line())
	}
	c.on[s.master] = g
	l.granted[s.conn] = c
	if w := c.waiters[s.conn]; w != nil {
		a.waited = a.waited || w.since
		w.answered, w.since = 0, false
	}
	if s.tokenAt > 0 {
		if weak := Weakness(s.args[s.tokenAt]); weak != "" {
			l.find(c, "weak-token", s.line(), "the token is "+weak)
		}
	}
}

// noTTL reports whether a command that acquires sets no TTL.
func (s step) noTTL() bool {
	return s.ttl == 0 && (!s.script || s.lifeless)
}

func (l *Lint) refuse(c *cell, g *grant, s step) {
	c.refused++
	l.refusals++
	w := c.waiters[s.conn]
	if w == nil {
		if len(c.waiters) >= maxWaiters {
			return
		}
		w = &waiter{}
		c.waiters[s.conn] = w
	}
	if w.answered > 0 && s.sent > w.answered && len(w.pauses) < maxPauses {
		w.pauses = append(w.pauses, s.sent-w.answered)
	}
	w.answered, w.since = s.at, true
	if g != nil && !g.ended && s.token != "" && g.attempt.token == s.token && g.step.conn != s.conn && s.sent > g.step.at && (g.until == 0 || s.sent < g.until) {
		l.find(c, "shared-token", g.step.line(), s.line())
	}
}

func (l *Lint) extend(c *cell, s step) {
	g := c.on[s.master]
	if s.noscript {
		return
	}
	blind := !s.compares && l.watched[s.conn] != s.key
	switch {
	case blind && g != nil && g.noTTL && !g.ended && !s.script && (g.step.conn == s.conn || s.sent-g.step.at < time.Second): // a pool may use another connection
		l.find(c, "setnx-then-expire", g.step.line(), s.line())
		g.noTTL = false
		g.attempt.ttl = s.ttl
		if s.yes && s.ttl > 0 {
			g.until = s.at + s.ttl
			l.keep(&c.ttls, s.ttl)
		}
		return
	case blind && s.script:
		l.find(c, "script-without-compare", s.line())
	case blind && g != nil:
		l.find(c, "expire-without-compare", g.step.line(), s.line())
	}
	c.extended++
	if g == nil || s.token != "" && g.attempt.token != s.token || s.token == "" && g.step.conn != s.conn {
		return
	}
	l.prolonged(c, g, s)
}

// prolonged notes an extension by the holder.
func (l *Lint) prolonged(c *cell, g *grant, s step) {
	if g.until > 0 && s.sent > g.until && !g.ended {
		l.find(c, "late-extension", g.step.line(), fmt.Sprintf("the lease ended by itself at %s at the latest", at(g.until)), s.line())
	}
	if !s.yes || s.ttl == 0 {
		return
	}
	g.until = s.at + s.ttl
	a := g.attempt
	if n := len(a.extended); n > 0 && s.sent < a.extended[n-1].at+50*time.Millisecond {
		e := &a.extended[n-1]
		e.yes++
		e.at = max(e.at, s.at)
	} else if n < 1000 {
		a.extended = append(a.extended, extension{sent: s.sent, at: s.at, ttl: s.ttl, yes: 1})
	}
}

func (l *Lint) release(c *cell, s step) {
	g := c.on[s.master]
	if s.noscript {
		c.noscript[s.token] = &unsent{step: s.clone()}
		l.unsent[s.conn] = c.noscript[s.token]
		return
	}
	delete(c.noscript, s.token)
	c.released++
	if s.fails {
		l.find(c, "script-fails", s.line())
		return
	}
	blind := !s.compares && l.watched[s.conn] != s.key
	delete(l.watched, s.conn)
	asked, wasRead := c.reads[s.conn]
	delete(c.reads, s.conn)
	switch {
	case !blind || g == nil && !s.script:
	case s.script:
		l.find(c, "script-without-compare", s.line())
	case wasRead && s.sent-asked.at < time.Second && (g == nil || asked.sent > g.step.sent):
		l.find(c, "get-then-delete", asked.line(), s.line())
	default:
		l.find(c, "bare-delete", g.step.line(), s.line())
	}
	a := c.attempts[s.token]
	// A release without a token may be the holder's, by another connection of its pool.
	if s.token == "" && g != nil && (g.step.conn == s.conn || s.yes) {
		a = g.attempt
	}
	if a != nil && a.release == 0 {
		a.release = s.sent
		if g != nil && g.attempt == a {
			l.keep(&c.holds, s.sent-g.step.at)
			if end := g.end(); end > 0 && s.sent > end {
				l.find(c, "ttl-shorter-than-hold", g.step.line(), fmt.Sprintf("the lease ended at %s", at(end)), s.line())
			}
		}
	}
	if a != nil {
		a.released = max(a.released, s.at)
	}
	if g != nil && (a == g.attempt || s.yes) {
		if g.noTTL {
			l.find(c, "no-ttl", g.step.line())
			g.noTTL = false
		}
		g.ended = true
	}
}

// end returns when the holder's lease expired, as the holder computes it; 0: never.
func (g *grant) end() time.Duration {
	if g.until == 0 {
		return 0
	}
	a := g.attempt
	if n := len(a.extended); n > 0 {
		return max(a.extended[n-1].sent+a.extended[n-1].ttl, g.step.sent+g.step.ttl)
	}
	return g.until
}
