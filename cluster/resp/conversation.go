package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The bounds of the commands of one connection without a reply so far.
const (
	maxPending     = 1 << 20 // commands
	maxPendingText = 8 << 20 // bytes of their arguments; beyond that, arguments are not kept
)

// maxShared is the length of the longest command whose arguments share one string: who keeps one of
// them keeps all.
const maxShared = 256

// The bounds of the memory that a conversation keeps for later commands.
const (
	maxSpare     = 1024 // lists of arguments
	maxSpareArgs = 16   // arguments of each
)

// Exchange is a command and its reply.
type Exchange struct {
	Args     []string // the command's name first; the list is valid during the call, its strings are for good
	Reply    *Reply   // valid during the call; nil: there was none
	Sent     time.Time
	Answered time.Time // or when the connection ended
}

// Conversation follows both directions of one connection. Each direction may call its methods
// from its own goroutine.
type Conversation struct {
	// Tell is called with each exchange whose command Keep wants. The connection waits for it.
	Tell func(Exchange)
	// Keep says whether a command is needed. name is in lower case. Nil: all are.
	Keep func(name []byte, args []Value) bool
	// Lost is called once, when the rest of the connection cannot be followed; may be nil.
	Lost func(why error)

	mu         sync.Mutex
	started    bool
	asked      bool // the client has sent something
	over       bool
	requests   decoder
	replies    decoder
	now        time.Time // of the bytes that are read
	pending    []command // oldest first
	first      int       // index of the oldest in pending
	size       int       // bytes of their arguments
	queued     []command // between MULTI and EXEC
	multi      bool
	subscribed bool
	name       []byte     // of the command that is read, in lower case
	spare      [][]string // lists of arguments for later commands
}

// command waits for its reply.
type command struct {
	args []string // of those that are kept
	kind kind
	sent time.Time
}

// kind says whether a command and its reply are something else than an exchange.
type kind uint8

const (
	plain kind = iota
	multi
	exec
	discard
	inMulti // it is queued, and its reply is part of that to EXEC
)

// Request receives bytes that the client sent.
func (c *Conversation) Request(b []byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || len(b) == 0 {
		return
	}
	first := !c.asked
	c.asked = true
	c.start()
	if first && b[0] == 0x16 {
		c.lose(errors.New("the connection is encrypted (TLS)"))
		return
	}
	c.now = at
	if err := c.requests.feed(b); err != nil {
		c.lose(fmt.Errorf("read a command: %w", err))
	}
}

// Reply receives bytes that the client is about to get.
func (c *Conversation) Reply(b []byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || len(b) == 0 {
		return
	}
	c.start()
	c.now = at
	if err := c.replies.feed(b); err != nil {
		c.lose(fmt.Errorf("read a reply: %w", err))
	}
}

// End says that the connection has ended: commands without a reply get none.
func (c *Conversation) End(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	c.now = at
	for _, x := range c.pending[c.first:] {
		c.tell(x, nil)
	}
	for _, x := range c.queued {
		c.tell(x, nil)
	}
	c.pending, c.queued, c.spare = nil, nil, nil
}

func (c *Conversation) start() {
	if c.started {
		return
	}
	c.started = true
	c.requests = decoder{requests: true, emit: c.onCommand}
	c.replies = decoder{emit: c.onReply}
}

// lose stops following the connection.
func (c *Conversation) lose(why error) {
	c.over = true
	c.pending, c.queued, c.spare, c.requests, c.replies = nil, nil, nil, decoder{}, decoder{}
	if c.Lost != nil {
		c.Lost(why)
	}
}

func (c *Conversation) onCommand(r *Reply) error {
	if len(r.Elems) == 0 {
		return nil
	}
	c.name = lower(c.name[:0], r.Elems[0].Text)
	name := c.name
	x := command{sent: c.now}
	switch string(name) {
	case "multi":
		x.kind = multi
	case "exec":
		x.kind = exec
	case "discard", "reset": // RESET also ends a transaction
		x.kind = discard
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		c.subscribed = true
		return nil // the replies are messages, one for each channel
	case "monitor", "sync", "psync":
		return fmt.Errorf("after %s a master sends what is no reply", strings.ToUpper(string(name)))
	case "client":
		if len(r.Elems) > 2 && bytes.EqualFold(r.Elems[1].Text, []byte("reply")) && !bytes.EqualFold(r.Elems[2].Text, []byte("on")) {
			return errors.New("the client has turned replies off")
		}
	}
	if x.kind == plain && c.multi {
		x.kind = inMulti
	}
	if x.kind == multi {
		c.multi = true
	} else if x.kind == exec || x.kind == discard {
		c.multi = false
	}
	if (x.kind == plain || x.kind == inMulti) && (c.Keep == nil || c.Keep(name, r.Elems)) {
		x.args = c.keep(r.Elems)
	}
	if len(c.pending)-c.first >= maxPending {
		return fmt.Errorf("more than %d commands wait for a reply", maxPending)
	}
	if c.first == len(c.pending) {
		c.pending, c.first = c.pending[:0], 0
	}
	c.pending = append(c.pending, x)
	return nil
}

// keep copies arguments, unless too much is kept already.
func (c *Conversation) keep(elems []Value) []string {
	n := 0
	for i := range elems {
		n += len(elems[i].Text)
	}
	if c.size+n+16*len(elems) > maxPendingText {
		return nil
	}
	c.size += n + 16*len(elems)
	if n > maxShared {
		args := make([]string, len(elems))
		for i := range elems {
			args[i] = string(elems[i].Text)
		}
		return args
	}
	var args []string
	if last := len(c.spare) - 1; last >= 0 {
		args, c.spare = c.spare[last], c.spare[:last]
	}
	var texts [maxShared]byte
	all := texts[:0]
	for i := range elems {
		all = append(all, elems[i].Text...)
	}
	rest := string(all)
	for i := range elems {
		n := len(elems[i].Text)
		args = append(args, rest[:n])
		rest = rest[n:]
	}
	return args
}

// forget undoes keep.
func (c *Conversation) forget(args []string) {
	n := 0
	for i := range args {
		n += len(args[i])
	}
	c.size -= n + 16*len(args)
	if n <= maxShared && cap(args) > 0 && cap(args) <= maxSpareArgs && len(c.spare) < maxSpare {
		c.spare = append(c.spare, args[:0])
	}
}

func (c *Conversation) onReply(r *Reply) error {
	if r.Type == '>' || c.isMessage(r) {
		return nil
	}
	if c.first == len(c.pending) {
		// A master that refuses a connection sends the error without a command.
		if r.Type != '-' {
			return errors.New("a reply came to no command")
		}
		return nil
	}
	x := c.pending[c.first]
	c.pending[c.first] = command{}
	c.first++
	if c.first > 1024 && c.first > len(c.pending)/2 {
		c.pending = append(c.pending[:0], c.pending[c.first:]...)
		c.first = 0
	}
	switch x.kind {
	case inMulti:
		if r.Type == '-' { // it was not queued
			c.tell(x, r)
			return nil
		}
		c.queued = append(c.queued, x)
		return nil
	case exec:
		c.onExec(r)
	case discard:
		for _, q := range c.queued {
			c.forget(q.args)
		}
		c.queued = nil
	}
	c.tell(x, r)
	return nil
}

// onExec gives each command of a transaction its reply. The commands of a transaction that was
// not executed are forgotten.
func (c *Conversation) onExec(r *Reply) {
	done := r.Type == '*' && !r.Null
	for i, q := range c.queued {
		if done && i < len(r.Elems) {
			c.tell(q, &Reply{Value: r.Elems[i]})
			continue
		}
		c.forget(q.args)
	}
	c.queued = nil
}

// isMessage says whether a reply is a message of publish/subscribe, which comes without a
// command.
func (c *Conversation) isMessage(r *Reply) bool {
	if !c.subscribed || r.Type != '*' || len(r.Elems) < 3 {
		return false
	}
	switch string(r.Elems[0].Text) {
	case "message", "pmessage", "smessage", "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		return true
	}
	return false
}

func (c *Conversation) tell(x command, r *Reply) {
	if x.args != nil && c.Tell != nil {
		c.Tell(Exchange{Args: x.args, Reply: r, Sent: x.sent, Answered: c.now})
	}
	c.forget(x.args)
}

// lower appends b in lower case.
func lower[T string | []byte](to []byte, b T) []byte {
	for i := range min(len(b), 32) {
		ch := b[i]
		if ch >= 'A' && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		to = append(to, ch)
	}
	return to
}
