package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisMasters speaks to real masters through go-redis. It is the one part of
// the package that lives in real time only: a Runtime in virtual time brings
// Masters of its own.
type redisMasters struct {
	names   []string
	clients []*redis.Client

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup // commands on their way
	life    context.Context
	end     context.CancelFunc // of the late releases
	late    []atomic.Int32     // per master, how many there are
}

// newRedisMasters makes, for each client, one of its own with the same options
// but for those on which the lock's correctness hangs.
func newRedisMasters(clients []*redis.Client) (*redisMasters, error) {
	seen := map[string]int{}
	for i, c := range clients {
		if c == nil {
			return nil, fmt.Errorf("redlock: master %d is nil", i+1)
		}
		opt := c.Options()
		id := fmt.Sprintf("%s %s db %d", opt.Network, opt.Addr, opt.DB)
		if before := seen[id]; before > 0 {
			return nil, fmt.Errorf("redlock: masters %d and %d are both %s: a master that votes twice breaks the quorum", before, i+1, opt.Addr)
		}
		seen[id] = i + 1
	}
	m := &redisMasters{late: make([]atomic.Int32, len(clients))}
	m.life, m.end = context.WithCancel(context.Background())
	for _, c := range clients {
		opt := *c.Options()
		tune(&opt)
		m.names = append(m.names, opt.Addr)
		m.clients = append(m.clients, redis.NewClient(&opt))
	}
	return m, nil
}

// tune sets what a lock needs of go-redis.
func tune(opt *redis.Options) {
	opt.MaxRetries = -1              // a SET that is sent twice meets its own key and loses the vote
	opt.DialerRetries = 1            // a master that refuses connections says so at once
	opt.ContextTimeoutEnabled = true // the per-master timeout holds for every socket operation …
	opt.ReadTimeout = -1             // … and no other does:
	opt.WriteTimeout = -1            // -1 stands for none
	if opt.DialTimeout <= 0 || opt.DialTimeout > time.Second {
		opt.DialTimeout = time.Second // dials go on behind a caller that gave up: few of them at a time
	}
	// After as many failed dials as PoolSize, go-redis answers from memory and
	// probes once a second: a recovered master would stay hidden. As many dials at
	// a time must be allowed, or those that hang keep new ones from being tried.
	opt.PoolSize = max(opt.PoolSize, 1<<14)
	opt.MaxConcurrentDials = 0 // as PoolSize
	opt.PipelinePoolSize = -1  // none: nothing is pipelined
	// A lock reads nothing that a cache may answer.
	opt.ClientSideCache, opt.ClientSideCacheConfig = nil, nil
	// Two round trips less on a new connection, and the timeout pays for them.
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (m *redisMasters) Names() []string { return m.names }

func (m *redisMasters) Begin(observe func(Vote)) Conversation {
	return &redisConversation{masters: m, observe: observe, last: make([]chan struct{}, len(m.clients)), sent: make([]bool, len(m.clients))}
}

// enter counts a command in, unless the connections are closed.
func (m *redisMasters) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.pending.Add(1)
	return true
}

// Close waits for the commands on their way (each is bounded by its timeout),
// gives up late releases, and closes the connections.
func (m *redisMasters) Close() error {
	m.mu.Lock()
	already := m.closed
	m.closed = true
	m.mu.Unlock()
	m.end()
	m.pending.Wait()
	if already {
		return nil
	}
	var errs []error
	for _, c := range m.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

type redisConversation struct {
	masters *redisMasters
	observe func(Vote)
	mu      sync.Mutex
	last    []chan struct{} // per master, closed when its latest command has ended
	sent    []bool          // per master, a command that it may carry out has left for it
}

func (c *redisConversation) Ask(ctx context.Context, cmd Command, to []int, timeout time.Duration) iter.Seq[Vote] {
	return func(yield func(Vote) bool) {
		if to == nil {
			for i := range c.masters.clients {
				to = append(to, i)
			}
		}
		votes := make(chan Vote, len(to))
		// The caller's context ends the waiting, never a command: a SET whose
		// fate is unknown is worse than one that was carried through.
		detached := context.WithoutCancel(ctx)
		for _, i := range to {
			if !c.masters.enter() {
				v := Vote{Master: i, Name: c.masters.names[i], Kind: cmd.Kind, Key: cmd.Key, Token: cmd.Token, Err: ErrClosed}
				c.observe(v)
				votes <- v
				continue
			}
			before, done := c.turn(i)
			go func() {
				defer c.masters.pending.Done()
				if before != nil {
					<-before
				}
				v := c.masters.send(detached, i, cmd, timeout)
				c.left(i, cmd, v.Err)
				c.observe(v)
				votes <- v
				close(done)
				if cmd.Kind == Release && v.Err != nil && c.mayStore(i) {
					c.masters.releaseLate(i, cmd, timeout)
				}
			}()
		}
		for range to {
			select {
			case v := <-votes:
				if !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// turn puts a command in line behind the conversation's earlier one on a master.
func (c *redisConversation) turn(master int) (before, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, done = c.last[master], make(chan struct{})
	c.last[master] = done
	return before, done
}

// left notes that a command has left for a master, unless no connection was had.
func (c *redisConversation) left(master int, cmd Command, err error) {
	var failed *net.OpError
	if cmd.Kind == Release || errors.As(err, &failed) && failed.Op == "dial" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent[master] = true
}

// mayStore says whether a master may store the conversation's token, now or later.
func (c *redisConversation) mayStore(master int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[master]
}

// Late releases: how many at a time per master, for how long, how far apart.
const (
	lateReleases = 4
	lateFor      = time.Minute
	lateApart    = time.Second
)

// releaseLate goes on with a release that got no answer. Its SET may have been
// written to a master that hangs, or whose replies are lost, and be applied yet,
// while the release never left: a new connection begins with a handshake, which
// such a master does not answer. Nobody waits for it, and it can harm no other
// lock, because the token is in no other key. Close ends it.
func (m *redisMasters) releaseLate(i int, cmd Command, timeout time.Duration) {
	defer m.late[i].Add(-1)
	if m.late[i].Add(1) > lateReleases {
		return // a key that is left ends with its TTL
	}
	for start, pause := time.Now(), timeout; time.Since(start) < lateFor; pause = min(2*pause, lateApart) {
		if (RealTime{}).Sleep(m.life, pause) != nil || m.send(m.life, i, cmd, timeout).Err == nil {
			return
		}
	}
}

func (m *redisMasters) send(ctx context.Context, i int, cmd Command, timeout time.Duration) Vote {
	v := Vote{Master: i, Name: m.names[i], Kind: cmd.Kind, Key: cmd.Key, Token: cmd.Token}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	reply, err := m.run(ctx, m.clients[i], cmd, timeout)
	v.Took = time.Since(start)
	v.Reply, v.Err = number(reply, err)
	v.Yes = v.Err == nil && v.Reply > 0
	if v.Err != nil {
		v.Err = fmt.Errorf("%s: %w", v.Name, v.Err)
	}
	return v
}

func (m *redisMasters) run(ctx context.Context, c *redis.Client, cmd Command, timeout time.Duration) (any, error) {
	if cmd.Script == nil {
		return m.replicated(ctx, c, cmd, timeout, cmd.Args)
	}
	args := func(command, script string) []any {
		all := []any{command, script, len(cmd.Keys)}
		for _, k := range cmd.Keys {
			all = append(all, k)
		}
		return append(all, cmd.Args...)
	}
	reply, err := m.replicated(ctx, c, cmd, timeout, args("evalsha", cmd.Script.SHA))
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // the master has restarted: its script cache is empty
		reply, err = m.replicated(ctx, c, cmd, timeout, args("eval", cmd.Script.Text))
	}
	return reply, err
}

// replicated runs a command, and where that is asked for, WAIT behind it on the same
// connection: a yes that too few replicas have heard of in time is none.
func (m *redisMasters) replicated(ctx context.Context, c *redis.Client, cmd Command, timeout time.Duration, args []any) (any, error) {
	if cmd.Wait == 0 {
		return c.Do(ctx, args...).Result()
	}
	var done, wait *redis.Cmd
	_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply is looked at
		done = p.Do(ctx, args...)
		wait = p.Do(ctx, "wait", cmd.Wait, max(1, (timeout/2).Milliseconds()))
		return nil
	})
	reply, err := done.Result()
	if yes, failed := number(reply, err); failed != nil || yes == 0 {
		return reply, err
	}
	heard, err := wait.Int()
	if err == nil && heard < cmd.Wait {
		err = fmt.Errorf("%d of %d replicas have heard of it in time", heard, cmd.Wait)
	}
	return reply, err
}

// number reads a reply as a number: OK is 1, nil is 0.
func number(reply any, err error) (int64, error) {
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	switch r := reply.(type) {
	case int64:
		return r, nil
	case string:
		if r == "OK" {
			return 1, nil
		}
	}
	return 0, fmt.Errorf("unexpected reply %v", reply)
}
