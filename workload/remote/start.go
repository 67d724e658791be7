package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// These types describe the command of a client process, and its answer to init.
type (
	Command = workload.Command
	Hello   = workload.Hello
)

// Client is the harness's side of a client process. It implements workload.Lock, and
// workload.Process, which can be stopped and killed.
type Client struct {
	site     workload.Env
	process  *child
	hello    Hello
	messages chan Message // closed after the last message of the process
	waited   chan struct{}

	mu       sync.Mutex
	ready    bool               // the process has answered init
	asked    bool               // a request waits for its outcome; unused if it serves several clients
	leases   map[string]*lease  // leases that may still be valid, by token
	ended    map[string]error   // causes of the ends of leases that were over before their grant was read, by token
	skewed   map[string]Message // by token, the latest end of a lease after a change of a clock
	attempts workload.Attempts  // as the links saw them
	unnamed  int                // number of leases with an unknown token
	gone     bool
	request  []byte // the last line that it was sent
	stopped  bool   // a signal has stopped it
	why      string // the reason why the harness ended it; empty: it did not

	sharing sharing // used if it serves several clients

	clocks workload.ProgramClocks // the clocks that the harness made for it; nil: none
	noSkew error                  // the reason why clocks cannot be skewed; unused if the client skews its own
	rate   float64                // the rate of clocks; 0: 1
}

// Start runs a command (such as lockpick client) as the client that the Env describes. The process
// ends with the harness.
func Start(command Command, site workload.Env) (*Client, error) {
	c := &Client{
		site: site, messages: make(chan Message, 64), waited: make(chan struct{}),
		leases: map[string]*lease{}, ended: map[string]error{}, skewed: map[string]Message{},
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
	env := slices.Concat(command.Env, c.site.Env, c.skewing(command))
	if c.site.Observe != nil { // before it opens its first connection
		c.site.Observe(c.observed)
	}
	if c.process, err = spawn(command.Args, env, log); err != nil {
		return errors.Join(err, c.closeClocks())
	}
	go c.listen()
	kind, permits := c.site.Kind, 0
	switch kind {
	case history.Mutex:
		kind = ""
	case history.Semaphore:
		permits = c.site.Permits
	}
	m, err := c.ask(Request{
		Kind: kind, Permits: permits,
		Op: opInit, Protocol: ProtocolVersion, Client: c.site.Client, Lock: command.Lock, Reached: reached(c.site.Addrs, c.site.Access),
		TTL: c.site.TTL, TTLMS: inMS(c.site.TTL), Timeout: c.site.Timeout,
		Fencing: c.site.Fencing, Wait: c.site.Wait, Margin: c.site.Margin,
	})
	if err == nil {
		err = m.Hello.Check()
	}
	if err == nil {
		if m.Lifespan == nil {
			m.Lifespan = &workload.WholeMilliseconds
		}
		err = m.Lifespan.Fits(c.site.TTL)
		if misfit := (*workload.Misfit)(nil); errors.As(err, &misfit) {
			err = fmt.Errorf("%w: use --ttl %s", err, misfit.Use)
		}
	}
	if err != nil {
		closed := c.Close() // first, because all of its stderr has then arrived
		if why := c.LastWords(); errors.Is(err, workload.ErrGone) && why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		} else {
			err = fmt.Errorf("%w: %s", err, &c.process.stderr)
		}
		return errors.Join(err, closed)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met(&m.Hello)
	c.hello, c.ready = m.Hello, true
	return nil
}

// Hello returns the client's description of itself.
func (c *Client) Hello() Hello { return c.hello }

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// listen receives the messages of the process until it ends. It handles votes and ends of
// leases itself, which can come at any time; all other messages belong to the current request.
func (c *Client) listen() {
	fd := 0 // the descriptor of its messages; 0: it has not sent a valid message
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
		if err == nil && !c.expected(m) {
			err = fmt.Errorf("the client's process said %q, and had answered all requests", clip(in.line))
		}
		switch {
		case fd == 4 && in.from == 1: // the program prints
			continue
		case err == nil && fd == 0:
			fd = in.from
			c.process.chose(fd)
			if noise != nil && fd == 1 { // it has printed a line that was not a message before
				c.kill("it printed something that is not a message before its answer to init")
			}
		case err != nil && fd == 0 && in.from == 1: // its messages may come on the other descriptor
			if noise == nil {
				noise = time.AfterFunc(noiseWithin, func() { c.kill(err.Error()) })
			}
			continue
		case err != nil:
			c.broke(err)
			c.kill(err.Error()) // outcomes can no longer be matched with requests
			m = Message{Type: string(history.Info), Error: err.Error()}
		}
		if noise != nil {
			noise.Stop()
		}
		c.take(m)
	}
	c.endAll()
	c.closeAnswers()
	close(c.waited)
}

// expected reports whether a message is one that may come now: an answer comes once for each request.
func (c *Client) expected(m Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	outcome := m.Type == string(history.OK) || m.Type == string(history.Fail) || m.Type == string(history.Info)
	if len(c.sharing.users) > 0 || !outcome {
		return true
	}
	was := c.asked
	c.asked = false
	return was
}

// broke records that the client's program broke the protocol, so that nothing after it says anything about the lock.
func (c *Client) broke(err error) {
	c.mu.Lock()
	ready := c.ready
	c.mu.Unlock()
	if ready { // before, the client cannot start
		c.site.Record(history.Op{Process: c.site.Client, Type: history.Info, F: history.FBroke, Error: err.Error()}, 0)
	}
}

// noiseWithin is how long a process may take to send a message on descriptor 4 after it has
// printed a line that is not a message.
var noiseWithin = 2 * time.Second

// take handles a message.
func (c *Client) take(m Message) {
	switch m.Type {
	case msgVote:
		op := history.Op{Process: fmt.Sprintf("m%d", m.At+1), Type: history.OK, F: history.FVote, Key: m.Key, Value: m.Value, Error: m.Error}
		if m.Error != "" && !m.Replied {
			op.Type = history.Info
		}
		c.site.Record(op, c.ago(m))
	case msgToken:
		c.claim(m)
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
		c.site.Skewed(to)
	case msgEnded:
		c.over(m)
	default:
		c.answers(m) <- m
	}
}

// observed handles a vote on the links. It ignores the vote if the client reports votes itself.
func (c *Client) observed(op history.Op, at time.Time) {
	c.mu.Lock()
	if !c.ready || c.hello.Has(workload.CanVotes) {
		c.mu.Unlock()
		return
	}
	if len(c.sharing.users) > 0 {
		c.attribute(op, at) // attribute unlocks c.mu
		return
	}
	c.attempts.Saw(op, at) // leases count from when their commands were sent, however late this goroutine is
	c.mu.Unlock()
	op.Value.Client = c.site.Client
	c.site.Record(op, time.Since(at))
}

// over ends a lease that is known to be over; without a token, all leases on the key. The message
// may come before the grant was read.
func (c *Client) over(m Message) {
	key, token, cause := m.Key, m.Value.Token, errors.New(m.Error)
	if c.site.Lost != nil && (m.When != 0 || c.hello.Lease == workload.NoLease) { // before the lease's context ends
		c.site.Lost(key, token, cause, time.Now().Add(-c.ago(m)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for t, l := range c.leases {
		if t == token || token == "" && (l.key == key || slices.Contains(l.keys, key)) {
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

// ask sends a request and handles the messages of the process until the outcome.
func (c *Client) ask(r Request) (Message, error) {
	c.awaits()
	return c.converse(r, c.messages)
}

// awaits notes that an answer is to come.
func (c *Client) awaits() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
}

// converse does the same with the messages that belong to the request.
func (c *Client) converse(r Request, messages <-chan Message) (Message, error) {
	if err := c.send(r); err != nil {
		return Message{}, err
	}
	patience := patience
	if r.Op == opInit {
		patience += startWithin // the process may have much to load
	}
	patience += c.site.TTL + r.Within + time.Duration(2*len(c.site.Addrs))*c.site.Timeout
	answered := c.expect(r.Op, patience)
	defer func() { answered() }()
	var refused error // a refusal by the resource, which the process does not learn
	for m := range messages {
		answered()
		switch m.Type {
		case msgPoint:
			c.site.Pass(m.Value.Point, m.Key) // Pass may end the process; then the answer is lost
			answered = c.expect(r.Op, patience)
			if err := c.send(Request{Op: opContinue, ID: r.ID}); err != nil {
				return Message{}, err
			}
		case msgMark:
			c.site.Mark(m.Key, m.Value.Token)
			answered = c.expect(r.Op, patience)
		case msgApply:
			refused = c.site.Apply(m.Key, m.Value.Token, m.Value.Fence, m.Value.Value)
			answered = c.expect(r.Op, patience)
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

// patience is how long a process may be silent when it must send a message, in addition to a TTL
// and to the time that its masters may take. It is longer than the time after which the workload
// records a call as hung (workload.ReturnBound).
var patience = 10 * time.Second

// startWithin is the additional time in which a process must answer its first request.
const startWithin = workload.StartWithin

// expect ends a process that is silent for too long, unless it is stopped. Otherwise a client that
// hangs would make the whole run hang. It waits in short steps: when the whole machine stands
// still, the process does so, too, and loses only one step. The caller must call answered when the
// answer has come.
func (c *Client) expect(op string, d time.Duration) (answered func()) {
	const steps = 20
	left := steps
	over := false
	behind := c.Behind() // the process measures its timeouts by these clocks
	var t *time.Timer
	c.mu.Lock()
	defer c.mu.Unlock()
	t = time.AfterFunc(d/steps, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stopped {
			left = steps
		} else {
			left--
		}
		now := c.Behind()
		switch {
		case over:
		case left > 0:
			t.Reset(d / steps)
		case now > behind:
			t.Reset(now - behind)
			left, behind = 1, now
		default:
			c.why = fmt.Sprintf("it did not answer %s within %v, and was ended", op, d)
			c.Kill()
		}
	})
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		over = true
		t.Stop()
	}
}

func (c *Client) send(r Request) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.request = b
	c.mu.Unlock()
	if c.process.send(append(b, '\n')) != nil {
		return workload.ErrGone
	}
	return nil
}

// Refused is a definite failure: the requested operation did not happen. It wraps
// redlock.ErrNotHeld, so that the workload treats it as one.
type Refused struct{ Says string }

func (e *Refused) Error() string { return e.Says }
func (e *Refused) Unwrap() error { return redlock.ErrNotHeld }

// Close asks the process to exit, and kills it if it does not.
func (c *Client) Close() error {
	c.awaits() // some programs answer exit, too
	_ = c.send(Request{Op: opExit})
	c.process.closeRequests()
	c.signal(syscall.SIGCONT)
	t := time.AfterFunc(exitWithin, c.Kill)
	defer t.Stop()
	for range c.messages { // wait for the end of its messages
	}
	<-c.waited
	return c.closeClocks()
}

func (c *Client) closeClocks() error {
	if c.clocks == nil {
		return nil
	}
	return c.clocks.Close()
}

// exitWithin is the time in which a process must exit after the request.
const exitWithin = 2 * time.Second

// Stop, Continue and Kill send SIGSTOP, SIGCONT and SIGKILL.
func (c *Client) Stop()     { c.stop(true); c.signal(syscall.SIGSTOP) }
func (c *Client) Continue() { c.signal(syscall.SIGCONT); c.stop(false) }
func (c *Client) Kill()     { c.signal(syscall.SIGKILL) }

// kill ends a process that violates the protocol.
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

// LastRequest returns the last line that the process was sent; empty: none after init.
func (c *Client) LastRequest() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return ""
	}
	return string(clip(c.request))
}

// LastWords returns the reason for the end of the process: the reason that the harness knows, or
// the last lines of its stderr; empty: unknown.
func (c *Client) LastWords() string {
	c.mu.Lock()
	why := c.why
	c.mu.Unlock()
	if why != "" {
		return why
	}
	return c.process.stderr.lastLines(3)
}
