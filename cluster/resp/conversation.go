package resp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// These constants limit the commands of one connection that wait for a reply.
const (
	maxPending     = 1 << 20 // commands
	maxPendingText = 8 << 20 // bytes of their arguments; beyond that, arguments are not kept
)

// maxShared is the length in bytes of the longest command whose arguments share one string: keeping
// one of these arguments keeps all of them in memory.
const maxShared = 256

// These constants limit the memory that a conversation keeps for later commands.
const (
	maxSpare     = 1024 // lists of arguments
	maxSpareArgs = 16   // arguments of each
)

// Exchange is a command and its reply.
type Exchange struct {
	Args     []string // the command's name first; the list is valid during the call, its strings remain valid
	Reply    *Reply   // valid during the call; nil: there was none
	Sent     time.Time
	Answered time.Time // when the reply came, or the connection ended
}

// Conversation follows both directions of one connection. Each direction may call its methods
// from its own goroutine.
type Conversation struct {
	// Tell is called with each exchange whose command Keep accepts. The connection waits for it.
	Tell func(Exchange)
	// Keep reports whether a command is needed. name is in lower case. Nil: all commands are.
	Keep func(name []byte, args []Value) bool
	// Refused reports whether the master refuses a command. Tell is called with it even if Keep does not accept it, or if
	// it is in a transaction. name is in lower case. Nil: the master refuses none.
	Refused func(name []byte, args []Value) bool
	// Transactions makes a transaction one exchange, that of its EXEC. Otherwise each of its commands is
	// one, with the part of the reply that is its own.
	Transactions bool
	// Lost is called once, when the rest of the connection cannot be followed; may be nil.
	Lost func(why error)

	requests requests
	replies  replies

	// Both directions share these fields. A direction takes the lock twice for all bytes that it is
	// given at a time, because with pipelines both read without a pause.
	mu         sync.Mutex
	over       bool
	subscribed bool
	pending    []command // commands that the replies have not taken yet, oldest first
	size       int       // bytes of the arguments of all commands without a reply
	count      int       // number of these commands
	spare      [][]string
}

// requests is the direction from the client to the master.
type requests struct {
	sync.Mutex
	decoder
	now         time.Time // arrival of the bytes that are read
	asked       bool      // the client has sent bytes
	multi       bool
	subscribed  bool
	name        []byte     // name of the command that is read, in lower case
	read        []command  // commands in the bytes that are read
	addedSize   int        // bytes of their arguments
	waiting     int        // commands without a reply before these
	waitingSize int        // bytes of their arguments
	spare       [][]string // lists of arguments for later commands
}

// replies is the direction from the master to the client.
type replies struct {
	sync.Mutex
	decoder
	now        time.Time
	subscribed bool
	pending    []command // oldest first
	first      int       // index of the oldest in pending
	queued     []command // between MULTI and EXEC
	ended      int       // number of commands that are no longer needed
	endedSize  int       // bytes of their arguments
	spare      [][]string
}

// command waits for its reply.
type command struct {
	args []string // nil: not kept
	kind kind
	sent time.Time
}

// kind marks commands whose reply belongs to a transaction.
type kind uint8

const (
	plain kind = iota
	multi
	exec
	discard
	inMulti // it is queued, and its reply is part of that to EXEC
)

// Request receives bytes that the client sent, before Reply receives a reply to them.
func (c *Conversation) Request(b []byte, at time.Time) {
	r := &c.requests
	r.Lock()
	defer r.Unlock()
	if len(b) == 0 || !c.prepare() {
		return
	}
	first := !r.asked
	r.asked = true
	if first && b[0] == 0x16 {
		c.lose(errors.New("the connection is encrypted (TLS)"))
		return
	}
	r.now = at
	if err := r.feed(b); err != nil {
		c.lose(fmt.Errorf("read a command: %w", err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, r.read...)
	c.size, c.count = c.size+r.addedSize, c.count+len(r.read)
	c.subscribed = r.subscribed
}

// prepare begins to read bytes of the client: it updates the counts of commands without a reply. It
// returns false if the connection is no longer followed. The caller holds the lock of requests.
func (c *Conversation) prepare() bool {
	r := &c.requests
	if r.emit == nil {
		r.decoder = decoder{requests: true, emit: c.onCommand}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(r.read)
	r.read, r.addedSize = r.read[:0], 0
	r.waitingSize, r.waiting = c.size, c.count
	if len(r.spare) == 0 {
		r.spare, c.spare = c.spare, r.spare
	}
	return !c.over
}

// Reply receives bytes that the client is about to get.
func (c *Conversation) Reply(b []byte, at time.Time) {
	r := &c.replies
	r.Lock()
	defer r.Unlock()
	if len(b) == 0 || !c.take() {
		return
	}
	if r.emit == nil {
		r.decoder = decoder{emit: c.onReply}
	}
	r.now = at
	err := r.feed(b)
	c.settle()
	if err != nil {
		c.lose(fmt.Errorf("read a reply: %w", err))
	}
}

// take takes over the commands that the client has sent since the last call. It returns false if the
// connection is no longer followed. The caller holds the lock of replies.
func (c *Conversation) take() bool {
	r := &c.replies
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.first == len(r.pending) {
		clear(r.pending)
		r.pending, r.first, c.pending = c.pending, 0, r.pending[:0]
	} else if len(c.pending) > 0 {
		r.pending = append(slices.Delete(r.pending, 0, r.first), c.pending...)
		r.first = 0
		clear(c.pending)
		c.pending = c.pending[:0]
	}
	r.subscribed = c.subscribed
	return !c.over
}

// settle tells the other direction which memory is no longer needed. The caller holds the lock of
// replies.
func (c *Conversation) settle() {
	r := &c.replies
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size, c.count = c.size-r.endedSize, c.count-r.ended
	r.endedSize, r.ended = 0, 0
	room := max(0, min(len(r.spare), maxSpare-len(c.spare)))
	c.spare = append(c.spare, r.spare[:room]...)
	r.spare = r.spare[:0]
}

// End says that the connection has ended: pending commands get no reply.
func (c *Conversation) End(at time.Time) {
	c.requests.Lock()
	defer c.requests.Unlock()
	r := &c.replies
	r.Lock()
	defer r.Unlock()
	if !c.take() {
		return
	}
	r.now = at
	for _, x := range r.pending[r.first:] {
		c.tell(x, nil)
	}
	for _, x := range r.queued {
		c.tell(x, nil)
	}
	c.settle()
	c.stop()
}

// lose stops following the connection.
func (c *Conversation) lose(why error) {
	if c.stop() && c.Lost != nil {
		c.Lost(why)
	}
}

// stop ends the conversation. It returns false if it had ended before.
func (c *Conversation) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.over
	c.over, c.pending, c.spare = true, nil, nil
	return !before
}

func (c *Conversation) onCommand(v *Reply) error {
	r := &c.requests
	if len(v.Elems) == 0 {
		return nil
	}
	r.name = lower(r.name[:0], v.Elems[0].Text)
	name := r.name
	refused := c.Refused != nil && c.Refused(name, v.Elems)
	x := command{sent: r.now}
	switch string(name) {
	case "multi":
		x.kind = multi
	case "exec":
		x.kind = exec
	case "discard":
		x.kind = discard
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		r.subscribed = true
		return nil // the replies are messages, one for each channel
	case "monitor", "sync", "psync":
		if refused {
			break
		}
		return fmt.Errorf("after %s a master sends something that is not a reply", strings.ToUpper(string(name)))
	case "client":
		if len(v.Elems) > 2 && bytes.EqualFold(v.Elems[1].Text, []byte("reply")) && !bytes.EqualFold(v.Elems[2].Text, []byte("on")) {
			return errors.New("the client has turned replies off")
		}
	}
	if bytes.EqualFold(name, []byte("RESET")) { // it also ends a transaction
		x.kind = discard
	}
	if x.kind == plain && r.multi {
		x.kind = inMulti
	}
	if x.kind == multi {
		r.multi = true
	} else if x.kind == exec || x.kind == discard {
		r.multi = false
	}
	if refused || c.wants(x.kind) && (c.Keep == nil || c.Keep(name, v.Elems)) {
		x.args = r.keep(v.Elems)
	}
	if r.waiting+len(r.read) >= maxPending {
		return fmt.Errorf("more than %d commands wait for a reply", maxPending)
	}
	r.read = append(r.read, x)
	return nil
}

// wants reports whether commands of a kind are passed on.
func (c *Conversation) wants(k kind) bool {
	if c.Transactions {
		return k == plain || k == exec
	}
	return k == plain || k == inMulti
}

// keep copies arguments, unless too many bytes are kept already.
func (r *requests) keep(elems []Value) []string {
	n := 0
	for i := range elems {
		n += len(elems[i].Text)
	}
	if r.waitingSize+r.addedSize+n+16*len(elems) > maxPendingText {
		return nil
	}
	r.addedSize += n + 16*len(elems)
	if n > maxShared {
		args := make([]string, len(elems))
		for i := range elems {
			args[i] = string(elems[i].Text)
		}
		return args
	}
	var args []string
	if last := len(r.spare) - 1; last >= 0 {
		args, r.spare = r.spare[last], r.spare[:last]
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

// forget releases arguments that keep has copied.
func (r *replies) forget(args []string) {
	n := 0
	for i := range args {
		n += len(args[i])
	}
	r.endedSize += n + 16*len(args)
	r.ended++
	if n <= maxShared && cap(args) > 0 && cap(args) <= maxSpareArgs && len(r.spare) < maxSpare {
		r.spare = append(r.spare, args[:0])
	}
}

func (c *Conversation) onReply(v *Reply) error {
	r := &c.replies
	if v.Type == '>' || r.isMessage(v) {
		return nil
	}
	if r.first == len(r.pending) {
		// A master that refuses a connection sends the error without a command.
		if v.Type != '-' {
			return errors.New("a reply came to no command")
		}
		return nil
	}
	x := r.pending[r.first]
	r.first++
	switch x.kind {
	case inMulti:
		if v.Type == '-' { // the command was not queued
			c.tell(x, v)
			return nil
		}
		r.queued = append(r.queued, x)
		return nil
	case exec:
		c.onExec(v)
	case discard:
		for _, q := range r.queued {
			r.forget(q.args)
		}
		r.queued = nil
	}
	c.tell(x, v)
	return nil
}

// onExec gives each command of a transaction its reply. It discards the commands of a transaction
// that was not executed.
func (c *Conversation) onExec(v *Reply) {
	r := &c.replies
	done := v.Type == '*' && !v.Null
	for i, q := range r.queued {
		if done && i < len(v.Elems) && !c.Transactions {
			c.tell(q, &Reply{Value: v.Elems[i]})
			continue
		}
		r.forget(q.args)
	}
	r.queued = nil
}

// isMessage reports whether a reply is a message of publish/subscribe, which comes without a command.
func (r *replies) isMessage(v *Reply) bool {
	if !r.subscribed || v.Type != '*' || len(v.Elems) < 3 {
		return false
	}
	switch string(v.Elems[0].Text) {
	case "message", "pmessage", "smessage", "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		return true
	}
	return false
}

func (c *Conversation) tell(x command, v *Reply) {
	if x.args != nil && c.Tell != nil {
		c.Tell(Exchange{Args: x.args, Reply: v, Sent: x.sent, Answered: c.replies.now})
	}
	c.replies.forget(x.args)
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
