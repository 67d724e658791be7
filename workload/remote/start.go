package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// Client is a client process as the harness sees it. It is a workload.Lock whose
// leases also write, and a workload.Process that can be stopped and killed.
type Client struct {
	site     workload.Site
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	messages chan Message // closed when the process has said its last
	waited   chan struct{}
	stderr   tail

	sending sync.Mutex // of lines on stdin
	mu      sync.Mutex
	leases  map[string]*lease  // that may still be valid, by token
	ended   map[string]error   // tokens of leases that were over before their outcome was read
	bent    map[string]Message // what was last said of a lease's end because a clock was bent
	gone    bool
	stopped bool   // by a signal
	silent  string // why it was ended, if that is because it did not answer
}

// Start runs command (such as lockpick client) as the client that site describes, with
// the lock of that name. The process dies with the harness.
func Start(command []string, lock string, site workload.Site) (*Client, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("client %s: no command to run was given", site.Client)
	}
	c := &Client{
		site: site, cmd: exec.Command(command[0], command[1:]...), messages: make(chan Message, 64), waited: make(chan struct{}),
		leases: map[string]*lease{}, ended: map[string]error{}, bent: map[string]Message{},
	}
	// In a group of its own, so that Ctrl-C in a terminal does not reach it: the harness
	// ends it in order. If the harness dies, so does the process: its stdin ends, and one
	// that is stopped is woken by the system with SIGHUP, as its group is orphaned.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("client %s: %w", site.Client, err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", site.Client, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("client %s: run %s: %w", site.Client, command[0], err)
	}
	go c.listen(stdout)
	_, err = c.ask(Request{
		Op: opInit, Client: site.Client, Lock: lock, Masters: site.Addrs, TTL: site.TTL, Timeout: site.Timeout,
		Fencing: site.Fencing, Wait: site.Wait, Margin: site.Margin,
	})
	if err != nil {
		closed := c.Close() // first: then it has said all it had to on stderr
		return nil, errors.Join(fmt.Errorf("client %s: %w: %s", site.Client, err, &c.stderr), closed)
	}
	return c, nil
}

// listen reads what the process says until it ends. Votes and ends of leases come at
// any time and are dealt with here; the rest belongs to the request under way.
func (c *Client) listen(stdout io.Reader) {
	in := bufio.NewScanner(stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m, err := parse(in.Bytes())
		if err != nil {
			c.Kill() // nobody knows any more which outcome belongs to which request
		}
		switch m.Type {
		case msgVote:
			op := history.Op{Process: fmt.Sprintf("m%d", m.At+1), Type: history.OK, F: history.FVote, Key: m.Key, Value: m.Value, Error: m.Error}
			if m.Error != "" {
				op.Type = history.Info
			}
			c.site.Record(op)
		case msgRenewed:
			if l := c.valid(m); l != nil && c.site.Renewed != nil {
				c.site.Renewed(m.Key, l)
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
			c.end(m.Value.Token, errors.New(m.Error))
		default:
			c.messages <- m
		}
	}
	// A process that is heard no more, but has not ended, is of no use.
	t := time.AfterFunc(exitWithin, c.Kill)
	_ = c.cmd.Wait()
	t.Stop()
	c.endAll()
	close(c.messages)
	close(c.waited)
}

// parse reads a message. What is none is the outcome of the request under way: nobody
// knows what came of it.
func parse(line []byte) (Message, error) {
	var m Message
	err := json.Unmarshal(line, &m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		err = fmt.Errorf("the client's process said %q, which is not a message: %w", line, err)
		return Message{Type: string(history.Info), Error: err.Error()}, err
	}
	if m.Value == nil {
		m.Value = &history.Value{}
	}
	return m, nil
}

func (c *Client) end(token string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.leases[token]
	if l == nil {
		c.ended[token] = cause
		return
	}
	l.end(cause)
	delete(c.leases, token)
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
	patience := patience + c.site.TTL + r.Within + time.Duration(2*len(c.site.Addrs))*c.site.Timeout
	waiting := c.expect(r.Op, patience)
	defer func() { waiting.Stop() }()
	var refused error // by the resource, which the harness keeps: the process is not told
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
		c.silent = fmt.Sprintf("it did not answer %s within %v, and was ended", op, d)
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
	c.sending.Lock()
	defer c.sending.Unlock()
	if _, err := c.stdin.Write(append(b, '\n')); err != nil {
		return workload.ErrGone
	}
	return nil
}

// Refused is a definite failure: what was asked for did not happen. It wraps
// redlock.ErrNotHeld, so that it counts as one.
type Refused struct{ Says string }

func (e *Refused) Error() string { return e.Says }
func (e *Refused) Unwrap() error { return redlock.ErrNotHeld }

// Acquire asks the process to acquire. ctx ends the waiting at its deadline only: the
// process is told how long it may try.
func (c *Client) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	within := c.site.AcquireTimeout
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end)
	}
	m, err := c.ask(Request{Op: opAcquire, Key: key, Within: within})
	if err != nil {
		return nil, err
	}
	return c.granted(key, m)
}

// granted makes a lease of what the process says. What is left of it was said when
// the machine's clock showed m.At.
func (c *Client) granted(key string, m Message) (workload.Lease, error) {
	if m.Value.Token == "" {
		c.Kill() // such leases could not be told apart in the history
		return nil, errors.New("the client's process granted a lease without a token")
	}
	l := &lease{client: c, key: key, token: m.Value.Token, fence: m.Value.Fence, until: m.until()}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	if bent, ok := c.bent[l.token]; ok && bent.At > m.At { // its clock was bent before this was read
		l.until = bent.until()
	}
	if before := c.leases[l.token]; before != nil { // it was extended: one lock, one context
		l.ctx, l.end = before.ctx, before.end
	}
	cause, over := c.ended[l.token]
	delete(c.ended, l.token)
	switch {
	case over:
		l.end(cause)
	case c.gone:
		l.end(workload.ErrGone)
	default:
		c.leases[l.token] = l
	}
	return l, nil
}

// Close asks the process to exit, and ends it if it does not.
func (c *Client) Close() error {
	_ = c.send(Request{Op: opExit})
	c.stdin.Close()
	c.signal(syscall.SIGCONT)
	t := time.AfterFunc(exitWithin, c.Kill)
	defer t.Stop()
	for range c.messages { // whatever it still has to say
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

func (c *Client) stop(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = is
}

// Gone says whether the process has ended.
func (c *Client) Gone() bool {
	select {
	case <-c.waited:
		return true
	default:
		return false
	}
}

func (c *Client) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// LastWords say why the process ended: what the harness knows of it, or the last line that
// it wrote to stderr; empty: nothing.
func (c *Client) LastWords() string {
	c.mu.Lock()
	silent := c.silent
	c.mu.Unlock()
	if silent != "" {
		return silent
	}
	lines := strings.Split(strings.TrimSpace(c.stderr.String()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
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
	return c.send(Request{Op: opClock, Rate: to.Rate, Offset: to.Offset})
}

// valid notes that a lease ends at another time.
func (c *Client) valid(m Message) *lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bent[m.Value.Token] = m
	l := c.leases[m.Value.Token]
	if l != nil {
		l.until = m.until()
	}
	return l
}

// until is when what is left of a lease ends.
func (m *Message) until() time.Time {
	now := time.Now() // first: what is left then errs on the safe side
	return now.Add(m.Left - time.Duration(monotonic()-m.At))
}

// tail keeps the end of what a process writes, for errors.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-2000):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// lease is a lease of a client process, in true time.
type lease struct {
	client     *Client
	key, token string
	fence      int64
	until      time.Time // guarded by client.mu: the client's clocks may be bent
	ctx        context.Context
	end        context.CancelCauseFunc
}

func (l *lease) Token() string            { return l.token }
func (l *lease) Fence() int64             { return l.fence }
func (l *lease) Context() context.Context { return l.ctx }

func (l *lease) Until() time.Time {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.until
}

func (l *lease) Extend(context.Context) (workload.Lease, error) {
	m, err := l.client.ask(Request{Op: opExtend, Key: l.key, Token: l.token})
	if err != nil {
		return nil, err
	}
	return l.client.granted(l.key, m)
}

func (l *lease) Release(context.Context) error {
	_, err := l.client.ask(Request{Op: opRelease, Key: l.key, Token: l.token})
	return err
}

// Write has the process check its lease, send its token if it is to mark the resource, and
// send a write.
func (l *lease) Write(value int64, mark bool) error {
	_, err := l.client.ask(Request{Op: opWrite, Key: l.key, Token: l.token, Value: value, Mark: mark})
	return err
}
