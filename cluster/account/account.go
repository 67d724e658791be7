package account

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// Account joins the exchanges of clients with what the masters did. Its methods are safe for
// concurrent use.
type Account struct {
	// OwnVotes says that the lock reports its votes itself. The account then only notes each change of a key: votes do not
	// say what becomes of keys that several may hold.
	OwnVotes bool
	// Unseen is called once, when the votes no longer describe the lock, with the reason.
	Unseen func(why string)
	// Noted is called with each change of a key that no vote describes: an expiry, an eviction, a
	// late command, a value that is not a token.
	Noted func(op history.Op, at time.Time)

	mu      sync.Mutex
	masters map[int]*master
	forms   map[string]*form
	tokens  map[stored]*token
	latest  map[holder]string // the value that the client stored last
	unseen  bool
	pending []func()   // calls of the functions that were given, to be made without the mutex
	calling int        // callers that make such calls
	changed *sync.Cond // an exchange has ended, or a call was made
}

// do calls f with the mutex, and then makes the calls that f has added to pending: a vote may stop its
// client.
func (a *Account) do(f func()) {
	a.mu.Lock()
	f()
	calls := a.pending
	a.pending = nil
	a.calling++
	a.mu.Unlock()
	for _, call := range calls {
		call()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calling--
	if a.changed != nil {
		a.changed.Broadcast()
	}
}

// master is the account of one master.
type master struct {
	number int // 0 is m1
	conns  map[string]*conn
	use    map[string]use // of its keys
	// unknown holds the steps of connections that are not known to be a client's, by address: a link
	// may learn an address later than the master does.
	unknown map[string][]cluster.Executed
	// owed holds commands that masters in memory had not executed when their clients gave up.
	owed []owed
}

type owed struct {
	client string
	args   []string
}

const givenUp = "executed after its client had given up"

// conn is a client's connection to a master.
type conn struct {
	client   string
	vote     func(op history.Op, at time.Time)
	executed []cluster.Executed // steps whose exchange has not ended
	open     []cluster.Exchange // exchanges that were answered, and whose step is not known
	lost     bool               // the connection ended with commands that were not answered
	gap      time.Time          // when the master's latest gap was over
	// missed holds answered commands whose steps a gap may have swallowed, or that come after it: until another command follows,
	// a step with the same words may be theirs or a later one's.
	missed [][]string
}

func (c *conn) misses(args []string) bool {
	return slices.ContainsFunc(c.missed, func(m []string) bool { return slices.Equal(m, args) })
}

// maxWaiting bounds the steps and the exchanges of a connection that wait for each other.
const maxWaiting = 10_000

func (a *Account) master(number int) *master {
	if a.masters == nil {
		a.masters, a.forms, a.tokens = map[int]*master{}, map[string]*form{}, map[stored]*token{}
		a.latest = map[holder]string{}
		a.changed = sync.NewCond(&a.mu)
	}
	m := a.masters[number]
	if m == nil {
		m = &master{number: number, conns: map[string]*conn{}, use: map[string]use{}, unknown: map[string][]cluster.Executed{}}
		a.masters[number] = m
	}
	return m
}

// Opened says that a client has a connection to a master (0 is m1). vote is called with the votes that
// follow from the exchanges on it, as soon as the master's account of them is known, and with the time
// of the reply.
func (a *Account) Opened(client string, number int, address string, vote func(op history.Op, at time.Time)) {
	a.do(func() {
		m := a.master(number)
		c := &conn{client: client, vote: vote, executed: m.unknown[address]}
		m.conns[address] = c
		delete(m.unknown, address)
		for ; a.OwnVotes && len(c.executed) > 0; c.executed = c.executed[1:] {
			a.note(m, client, c.executed[0], "")
		}
	})
}

// Exchange takes an exchange of a client with a master (0 is m1). vote is as for Opened.
func (a *Account) Exchange(client string, number int, x cluster.Exchange, vote func(op history.Op, at time.Time)) {
	a.do(func() {
		m := a.master(number)
		if a.OwnVotes || x.Queued || strings.EqualFold(x.Args[0], "script") { // SCRIPT LOAD touches no key
			return
		}
		if x.Accounted {
			a.end(m, &conn{client: client, vote: vote}, x, x.Changes)
			if !x.Executed {
				m.owed = append(m.owed, owed{client, x.Args})
			}
		} else if c := m.conns[x.Conn]; c != nil { // otherwise the connection never reached the master
			a.exchange(m, c, x)
		}
	})
}

func (a *Account) exchange(m *master, c *conn, x cluster.Exchange) {
	i := slices.IndexFunc(c.executed, func(e cluster.Executed) bool { return slices.Equal(e.Args, x.Args) })
	switch {
	case x.Replied && c.misses(x.Args):
		a.unaccounted(m, c, x)
	case x.Replied && x.Sent.Before(c.gap): // a step with the same words may be its own or a later one's
		for _, e := range c.executed[:i+1] {
			a.apart(m, c, e, "")
		}
		c.executed, c.missed = c.executed[i+1:], append(c.missed, x.Args)
		a.unaccounted(m, c, x)
	case i >= 0:
		done := c.executed[i]
		for _, e := range c.executed[:i] { // their exchanges are not followed
			a.apart(m, c, e, "")
		}
		c.executed = slices.Delete(c.executed, 0, i+1)
		a.end(m, c, x, done.Changes)
	case x.Error != "" && !runsScript(x.Args):
		a.end(m, c, x, nil)
	case !x.Replied:
		a.end(m, c, x, nil)
	default:
		if len(c.open) == maxWaiting {
			a.open(m, c, 1)
		}
		c.open = append(c.open, x)
	}
	if !x.Replied {
		c.lost = true
	}
}

// Executed takes the next step of a master (0 is m1).
func (a *Account) Executed(number int, x cluster.Executed) {
	a.do(func() { a.executed(number, x) })
}

func (a *Account) executed(number int, x cluster.Executed) {
	m := a.master(number)
	if x.Gap != "" {
		for _, c := range m.conns {
			for _, o := range c.open {
				c.missed = append(c.missed, o.Args)
			}
			a.open(m, c, len(c.open))
			for _, e := range c.executed {
				a.apart(m, c, e, "")
			}
			c.executed, c.gap = nil, x.At
		}
	}
	switch c := m.conns[x.Conn]; {
	case c != nil && a.OwnVotes:
		a.note(m, c.client, x, "")
	case c != nil:
		a.step(m, c, x)
	case x.Conn == "" || a.OwnVotes && x.Client != "":
		a.note(m, x.Client, x, "")
	case x.Client != "": // its exchange tells, unless it has ended
		i := slices.IndexFunc(m.owed, func(o owed) bool { return o.client == x.Client && slices.Equal(o.args, x.Args) })
		if i >= 0 {
			m.owed = slices.Delete(m.owed, i, i+1)
			a.apart(m, &conn{client: x.Client}, x, givenUp)
		}
	case len(m.unknown[x.Conn]) < maxWaiting:
		m.unknown[x.Conn] = append(m.unknown[x.Conn], x)
	}
}

// Sweep ends the exchanges that were answered, and that the masters' accounts do not have although they
// are complete: settled returns when a master's account (0 is m1) has everything until now. The caller
// repeats it for as long as clients work. With all, when they no longer do, it also ends those whose master does not
// settle, and takes from every master what it has not given yet.
func (a *Account) Sweep(settled func(master int) error, all bool) {
	a.mu.Lock()
	var waiting []int
	for number, m := range a.masters {
		if all || m.waiting("") {
			waiting = append(waiting, number)
		}
	}
	a.mu.Unlock()
	for _, number := range waiting {
		now := time.Now()
		if settled(number) != nil && !all {
			continue
		}
		a.do(func() {
			m := a.master(number)
			for _, c := range m.conns {
				n := 0
				for n < len(c.open) && (all || c.open[n].Answered.Before(now)) {
					n++
				}
				a.open(m, c, n)
			}
		})
	}
	a.do(func() { a.strangers(all) })
}

// strangeAfter is the time after which a step belongs to somebody else, if no link has its connection.
const strangeAfter = 2 * time.Second

// strangers notes the steps of connections that are not a client's: all of them, or those that are old
// enough.
func (a *Account) strangers(all bool) {
	for _, m := range a.masters {
		for address, steps := range m.unknown {
			n := 0
			for n < len(steps) && (all || time.Since(steps[n].At) > strangeAfter) {
				a.note(m, "", steps[n], "")
				n++
			}
			if m.unknown[address] = steps[n:]; n == len(steps) {
				delete(m.unknown, address)
			}
		}
	}
}

// step handles a command of a connection.
func (a *Account) step(m *master, c *conn, x cluster.Executed) {
	if c.lost { // nobody waits for its reply
		a.apart(m, c, x, givenUp)
		return
	}
	if c.misses(x.Args) {
		a.apart(m, c, x, "")
		return
	}
	c.missed = nil // a master executes the commands of a connection in order, so later steps are not theirs
	i := slices.IndexFunc(c.open, func(o cluster.Exchange) bool { return slices.Equal(o.Args, x.Args) })
	if i < 0 {
		if len(c.executed) == maxWaiting {
			c.executed = slices.Delete(c.executed, 0, 1)
		}
		c.executed = append(c.executed, x)
		return
	}
	a.open(m, c, i) // a master executes the commands of a connection in order
	o := c.open[0]
	c.open = slices.Delete(c.open, 0, 1)
	a.end(m, c, o, x.Changes)
}

// apart handles a step that no exchange can end any more.
func (a *Account) apart(m *master, c *conn, x cluster.Executed, how string) {
	a.learn(m, c.client, x.Args, x.Changes)
	a.note(m, c.client, x, how)
}

// open ends the first n open exchanges of a connection, of which the account has nothing.
func (a *Account) open(m *master, c *conn, n int) {
	for _, x := range c.open[:n] {
		a.unaccounted(m, c, x)
	}
	c.open = slices.Delete(c.open, 0, n)
}

// unaccounted ends an exchange that was answered, and of which it is not known what the master did. If the answer was not an error, the
// client may have read a yes in it.
func (a *Account) unaccounted(m *master, c *conn, x cluster.Exchange) {
	if x.Error != "" {
		a.end(m, c, x, nil)
		return
	}
	x.Replied, x.Error = false, "the master's account has no such command"
	vote := c.vote
	a.end(m, &conn{client: c.client, vote: func(op history.Op, at time.Time) {
		op.Value.Yes = true
		vote(op, at)
	}}, x, nil)
}

// Settle waits until all exchanges of a client that have been answered are accounted for, or until
// the time is over. It reports whether the votes describe the lock: false once Unseen was called.
func (a *Account) Settle(client string, within time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.masters == nil {
		return true
	}
	late := false
	timer := time.AfterFunc(within, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		late = true
		a.changed.Broadcast()
	})
	defer timer.Stop()
	for !late && (a.calling > 0 || a.waiting(client)) {
		a.changed.Wait()
	}
	return !a.unseen
}

func (a *Account) waiting(client string) bool {
	for _, m := range a.masters {
		if m.waiting(client) {
			return true
		}
	}
	return false
}

// waiting reports whether exchanges of a client, or of any one if it is "", have no end yet.
func (m *master) waiting(client string) bool {
	for _, c := range m.conns {
		if (client == "" || c.client == client) && len(c.open) > 0 {
			return true
		}
	}
	return false
}

// end derives the votes of an exchange from the changes that it caused.
func (a *Account) end(m *master, c *conn, x cluster.Exchange, changes []cluster.Change) {
	learned := a.learn(m, c.client, x.Args, changes)
	if a.unseen { // the votes alone do not tell what happened
		a.note(m, c.client, cluster.Executed{Conn: x.Conn, Args: x.Args, Changes: changes, At: x.Answered}, "")
	}
	op := history.Op{Process: master0(m.number), Type: history.OK, F: history.FVote, Error: x.Error}
	if !x.Replied {
		op.Type = history.Info
		if op.Error == "" {
			op.Error = "no reply"
		}
	}
	tell := func(e effect) {
		op.Key = printable(e.key)
		op.Value = &history.Value{Command: e.command, Token: printable(e.token), Yes: e.yes && x.Replied, Took: x.Answered.Sub(x.Sent), TTL: e.ttl, Form: name(e.args)}
		vote, op := c.vote, op
		a.pending = append(a.pending, func() { vote(op, x.Answered) })
	}
	for _, e := range learned {
		tell(e)
	}
	if len(learned) == 0 && !isNoScript(x.Error) {
		if e, known := a.withoutEffect(m, c.client, x.Args); known {
			tell(e)
		}
	}
}

// note records the changes that no vote describes.
func (a *Account) note(m *master, client string, x cluster.Executed, how string) {
	if a.Noted == nil {
		return
	}
	for _, ch := range x.Changes {
		op := history.Op{Process: master0(m.number), Type: history.Info, F: history.FChange, Key: printable(ch.Key), Error: how}
		op.Value = &history.Value{Command: string(ch.Kind), Client: client, Token: printable(ch.Value), TTL: ch.Left}
		if x.Conn != "" {
			op.Value.Form, op.Value.Evidence = name(x.Args), words(x.Args)
		}
		if x.Conn != "" && client == "" {
			op.Error = fmt.Sprintf("it came from %s, which is not a client's connection", x.Conn)
		}
		a.pending = append(a.pending, func() { a.Noted(op, x.At) })
	}
}

func master0(number int) string { return fmt.Sprintf("m%d", number+1) }
