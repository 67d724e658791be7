package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// What the harness and a client process tell each other first.
type (
	Command = workload.Command
	Hello   = workload.Hello
)

// Client is a client process as the harness sees it. It is a workload.Lock, and a workload.Process that can be
// stopped and killed.
type Client struct {
	site     workload.Env
	process  *child
	hello    Hello
	messages chan Message // closed when the process has said its last
	waited   chan struct{}

	mu      sync.Mutex
	ready   bool               // it has answered init
	leases  map[string]*lease  // that may still be valid, by token
	ended   map[string]error   // tokens of leases that were over before their outcome was read
	bent    map[string]Message // what was last said of a lease's end because a clock was bent
	seen    map[string]grant   // by master: its last grant to the client, as the links saw it
	unnamed int                // leases so far with an unknown token
	gone    bool
	stopped bool   // by a signal
	why     string // it was ended, if the harness did that
}

// grant is a master's grant.
type grant struct {
	token string
	sent  time.Time // when the client sent the command
}

// Start runs a command (such as lockpick client) as the client that site describes. The process dies with the
// harness.
func Start(command Command, site workload.Env) (*Client, error) {
	c := &Client{
		site: site, messages: make(chan Message, 64), waited: make(chan struct{}),
		leases: map[string]*lease{}, ended: map[string]error{}, bent: map[string]Message{}, seen: map[string]grant{},
	}
	if err := c.start(command); err != nil {
		return nil, fmt.Errorf("client %s: %w", site.Client, err)
	}
	return c, nil
}

func (c *Client) start(command Command) error {
	if len(command.Args) == 0 {
		return errors.New("no command to run was given")
	}
	var log io.WriteCloser
	var err error
	if command.Log != nil {
		if log, err = command.Log(c.site.Client); err != nil {
			return err
		}
	}
	if c.process, err = spawn(command.Args, append(command.Env, c.site.Env...), log); err != nil {
		return err
	}
	if c.site.Observe != nil {
		c.site.Observe(c.observed)
	}
	go c.listen()
	m, err := c.ask(Request{
		Op: opInit, Protocol: ProtocolVersion, Client: c.site.Client, Lock: command.Lock, Masters: c.site.Addrs,
		TTL: c.site.TTL, TTLMS: inMS(c.site.TTL), Timeout: c.site.Timeout,
		Fencing: c.site.Fencing, Wait: c.site.Wait, Margin: c.site.Margin,
	})
	if err == nil {
		err = m.Hello.Check()
	}
	if err == nil {
		err = m.Lifespan.Fits(c.site.TTL)
	}
	if err != nil {
		closed := c.Close() // first: then it has said all it had to on stderr
		if why := c.LastWords(); errors.Is(err, workload.ErrGone) && why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		} else {
			err = fmt.Errorf("%w: %s", err, &c.process.stderr)
		}
		return errors.Join(err, closed)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hello, c.ready = m.Hello, true
	return nil
}

// Hello is the client's description of itself.
func (c *Client) Hello() Hello { return c.hello }

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// listen takes what the process says until it ends. Votes and ends of leases come at
// any time and are dealt with here; the rest belongs to the request under way.
func (c *Client) listen() {
	fd := 0 // on which it speaks; 0: it has not said anything that makes sense
	var noise *time.Timer
	defer func() {
		if noise != nil {
			noise.Stop()
		}
	}()
	for in := range c.process.lines {
		m, err := Message{}, in.err
		if err == nil {
			m, err = parse(in.line)
		}
		switch {
		case fd == 4 && in.from == 1: // it prints
			continue
		case err == nil && fd == 0:
			fd = in.from
			c.process.chose(fd)
			if noise != nil && fd == 1 { // it had said something else before
				c.kill("it printed what is no message before its answer to init")
			}
		case err != nil && fd == 0 && in.from == 1: // it may be about to speak on the other descriptor
			if noise == nil {
				noise = time.AfterFunc(noiseWithin, func() { c.kill(err.Error()) })
			}
			continue
		case err != nil:
			c.kill(err.Error()) // it is no longer known which outcome belongs to which request
			m = Message{Type: string(history.Info), Error: err.Error()}
		}
		if noise != nil {
			noise.Stop()
		}
		c.take(m)
	}
	c.endAll()
	close(c.messages)
	close(c.waited)
}

// noiseWithin is how long a process may take to speak on descriptor 4, once it has printed what is no message.
var noiseWithin = 2 * time.Second

// take deals with a message.
func (c *Client) take(m Message) {
	switch m.Type {
	case msgVote:
		op := history.Op{Process: fmt.Sprintf("m%d", m.At+1), Type: history.OK, F: history.FVote, Key: m.Key, Value: m.Value, Error: m.Error}
		if m.Error != "" {
			op.Type = history.Info
		}
		c.site.Record(op, m.ago())
	case msgRenewed:
		if l := c.valid(m); l != nil && c.site.Renewed != nil {
			c.site.Renewed(m.Key, c.shown(l))
		}
	case msgValid:
		c.valid(m)
	case msgClock:
		to := cluster.Clock{Rate: m.Value.Rate}
		if m.Value.Offset != nil {
			to.Offset = *m.Value.Offset
		}
		c.site.Bent(to)
	case msgEnded:
		c.over(m.Key, m.Value.Token, errors.New(m.Error))
	default:
		c.messages <- m
	}
}

// observed takes a vote that the links saw. If a client reports votes itself, those are used instead.
func (c *Client) observed(op history.Op) {
	c.mu.Lock()
	if !c.ready || c.hello.Has(workload.CanVotes) {
		c.mu.Unlock()
		return
	}
	v := op.Value
	if v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend) {
		c.seen[op.Process] = grant{token: v.Token, sent: time.Now().Add(-v.Took)}
	}
	c.mu.Unlock()
	v.Client = c.site.Client
	c.site.Record(op, 0)
}

// parse reads a message.
func parse(line []byte) (Message, error) {
	var m Message
	err := json.Unmarshal(line, &m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Message{}, fmt.Errorf("the client's process said %q, which is not a message: %w", clip(line), err)
	}
	if m.Value == nil {
		m.Value = &history.Value{}
	}
	m.Value.Token, m.Value.Fence = cmp.Or(m.Value.Token, m.Token), cmp.Or(m.Value.Fence, m.Fence)
	return m, nil
}

// clip shortens a line for an error.
func clip(line []byte) []byte { return line[:min(len(line), 200)] }

// over ends a lease that is known to be over; without a token, those on the key. It may come before its grant was read.
func (c *Client) over(key, token string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for t, l := range c.leases {
		if t == token || token == "" && l.key == key {
			l.end(cause)
			delete(c.leases, t)
			found = true
		}
	}
	if !found {
		c.ended[cmp.Or(token, "key "+key)] = cause
	}
}

// finish ends a lease, if it is not over yet.
func (c *Client) finish(token string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.leases[token]; l != nil {
		l.end(cause)
		delete(c.leases, token)
	}
}

func (c *Client) endAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for token, l := range c.leases {
		l.end(workload.ErrGone)
		delete(c.leases, token)
	}
}

// ask sends a request and serves what the process says until the outcome.
func (c *Client) ask(r Request) (Message, error) {
	if err := c.send(r); err != nil {
		return Message{}, err
	}
	patience := patience
	if r.Op == opInit {
		patience += startWithin // it may have much to load
	}
	patience += c.site.TTL + r.Within + time.Duration(2*len(c.site.Addrs))*c.site.Timeout
	waiting := c.expect(r.Op, patience)
	defer func() { waiting.Stop() }()
	var refused error // by the resource, which the harness keeps: the process does not learn of it
	for m := range c.messages {
		waiting.Stop()
		switch m.Type {
		case msgPoint:
			c.site.Pass(m.Value.Point, m.Key) // may end the process: then the answer is lost
			waiting = c.expect(r.Op, patience)
			if err := c.send(Request{Op: opContinue}); err != nil {
				return Message{}, err
			}
		case msgMark:
			c.site.Mark(m.Key, m.Value.Token)
			waiting = c.expect(r.Op, patience)
		case msgApply:
			refused = c.site.Apply(m.Key, m.Value.Token, m.Value.Fence, m.Value.Value)
			waiting = c.expect(r.Op, patience)
		case string(history.OK):
			return m, refused
		case string(history.Fail):
			return m, &Refused{m.Error}
		default:
			return m, errors.New(m.Error)
		}
	}
	return Message{}, workload.ErrGone
}

// patience is how long a process may say nothing where it has to say something, beside the
// time that its masters may take and a TTL. It is longer than what the workload waits before
// it records a call as hung (workload.ReturnBound).
var patience = 10 * time.Second

// startWithin is how much longer a process may take to answer its first request.
const startWithin = 50 * time.Second

// expect ends a process that says nothing, unless it is stopped: else a client that hangs
// would have the whole run hang.
func (c *Client) expect(op string, d time.Duration) *time.Timer {
	var t *time.Timer
	set := make(chan struct{})
	t = time.AfterFunc(d, func() {
		<-set
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stopped {
			t.Reset(d)
			return
		}
		c.why = fmt.Sprintf("it did not answer %s within %v, and was ended", op, d)
		c.Kill()
	})
	close(set)
	return t
}

func (c *Client) send(r Request) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if c.process.send(append(b, '\n')) != nil {
		return workload.ErrGone
	}
	return nil
}

// Refused is a definite failure: what was asked for did not happen. It wraps
// redlock.ErrNotHeld, so that it counts as one.
type Refused struct{ Says string }

func (e *Refused) Error() string { return e.Says }
func (e *Refused) Unwrap() error { return redlock.ErrNotHeld }

// Close asks the process to exit, and ends it if it does not.
func (c *Client) Close() error {
	_ = c.send(Request{Op: opExit})
	c.process.closeRequests()
	c.signal(syscall.SIGCONT)
	t := time.AfterFunc(exitWithin, c.Kill)
	defer t.Stop()
	for range c.messages { // drain its remaining messages
	}
	<-c.waited
	return nil
}

// exitWithin is how long a process may take to exit when it is asked to.
const exitWithin = 2 * time.Second

// Stop, Continue and Kill send SIGSTOP, SIGCONT and SIGKILL.
func (c *Client) Stop()     { c.stop(true); c.signal(syscall.SIGSTOP) }
func (c *Client) Continue() { c.signal(syscall.SIGCONT); c.stop(false) }
func (c *Client) Kill()     { c.signal(syscall.SIGKILL) }

// kill ends a process that does not keep to the protocol.
func (c *Client) kill(why string) {
	c.mu.Lock()
	c.why = why
	c.mu.Unlock()
	c.Kill()
}

func (c *Client) stop(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = is
}

// Gone reports whether the process has ended.
func (c *Client) Gone() bool {
	select {
	case <-c.waited:
		return true
	default:
		return false
	}
}

func (c *Client) signal(s syscall.Signal) { c.process.signal(s) }

// LastWords say why the process ended: what the harness knows of it, or the last lines that
// it wrote to stderr; empty: nothing.
func (c *Client) LastWords() string {
	c.mu.Lock()
	why := c.why
	c.mu.Unlock()
	if why != "" {
		return why
	}
	return c.process.stderr.lastLines(3)
}

// SetClock bends the client's clocks. What is left of its leases may last for another
// time then: the process says so, and what it goes by, when it has heard of it, which one
// that is stopped does not.
func (c *Client) SetClock(to cluster.Clock) error {
	if to.Rate == 0 {
		to.Rate = 1
	}
	if err := workload.CheckClock(to); err != nil {
		return err
	}
	if !c.hello.Has(workload.CanClock) {
		return nil // the fault finds that it had no effect
	}
	return c.send(Request{Op: opClock, Rate: to.Rate, Offset: to.Offset})
}
