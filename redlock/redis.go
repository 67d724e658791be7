package redlock

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisMasters speaks to real masters. go-redis opens the connections; what goes over
// them is put together here, because the commands of all goroutines share them
// (pipe.go). Like its parts (crowd.go, dispatch.go, encode.go, lane.go, listen.go, pipe.go,
// probe.go, question.go, socket_linux.go) it lives in real time only: a Runtime in virtual time
// brings Masters of its own.
type redisMasters struct {
	names   []string
	options []*redis.Options
	began   time.Time

	life       context.Context
	end        context.CancelFunc
	goroutines sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	pending   sync.WaitGroup // questions that not all masters have voted on
	questions sync.Pool      // to be used again
	desk      desk
	lanes     []*lane
	ears      ears
	waiting   []*lane // for commands that replicas must hear of, which hold up what is behind them
}

// newRedisMasters takes the options of each client, but for those on which the lock's
// correctness hangs.
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
	m := &redisMasters{began: time.Now()}
	m.life, m.end = context.WithCancel(context.Background())
	for _, c := range clients {
		opt := *c.Options()
		tune(&opt)
		m.names = append(m.names, opt.Addr)
		m.options = append(m.options, &opt)
	}
	m.lanes = m.newLanes()
	return m, nil
}

func (m *redisMasters) newLanes() []*lane {
	var lanes []*lane
	for i, name := range m.names {
		lanes = append(lanes, &lane{masters: m, index: i, name: name, kick: make(chan struct{}, 1)})
	}
	return lanes
}

// now is the time since the masters were made.
func (m *redisMasters) now() time.Duration { return time.Since(m.began) }

// tune sets what a lock needs of go-redis, which opens one connection at a time.
func tune(opt *redis.Options) {
	opt.MaxRetries = -1              // nothing is sent twice behind the lock's back
	opt.DialerRetries = 1            // a master that refuses connections says so at once
	opt.ContextTimeoutEnabled = true // the time to open a connection holds for every socket operation …
	opt.ReadTimeout = -1             // … and no other does:
	opt.WriteTimeout = -1            // -1 stands for none
	if opt.DialTimeout <= 0 || opt.DialTimeout > patientFor {
		opt.DialTimeout = patientFor
	}
	opt.PoolSize, opt.MinIdleConns, opt.MaxActiveConns = 1, 0, 0
	opt.MaxConcurrentDials, opt.PipelinePoolSize = 0, -1
	opt.Protocol = 2 // replies to what was asked, and nothing else
	// A lock reads nothing that a cache may answer.
	opt.ClientSideCache, opt.ClientSideCacheConfig = nil, nil
	// Two round trips less on a new connection.
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (m *redisMasters) Names() []string { return m.names }

func (m *redisMasters) Begin(observe func(Vote)) Conversation {
	c := &redisConversation{masters: m, observer: observe}
	if n := len(m.names); n <= roomFor {
		c.with = c.room[:n]
	} else {
		c.with = make([]contact, n)
	}
	return c
}

// settleFor is for how long Close waits for late answers to releases.
const settleFor = 100 * time.Millisecond

// Close waits for the commands on their way (each is bounded by its timeout), a little
// for releases that are late, gives up what is owed to masters that do not answer, and
// closes the connections.
func (m *redisMasters) Close() error {
	m.mu.Lock()
	m.closed = true
	lanes := append(append([]*lane(nil), m.lanes...), m.waiting...)
	m.mu.Unlock()
	m.pending.Wait()
	for end := m.now() + settleFor; m.now() < end && slices.ContainsFunc(lanes, func(l *lane) bool { return !l.settled() }); {
		time.Sleep(settleFor / 50)
	}
	m.end()
	m.ears.close()
	for _, l := range lanes {
		l.close()
	}
	m.goroutines.Wait()
	return nil
}

// allow asks the caller's Limiter, once for what leaves together.
func (l *lane) allow() error {
	if limiter := l.masters.options[l.index].Limiter; limiter != nil {
		return limiter.Allow()
	}
	return nil
}

func (l *lane) report(err error) {
	if limiter := l.masters.options[l.index].Limiter; limiter != nil {
		limiter.ReportResult(err)
	}
}

// redisConversation is about one token. Commands for one master share a connection, so
// they reach it in order. Where the connection is another by then, what the old one
// still delivers is followed by the release there too.
type redisConversation struct {
	masters  *redisMasters
	observer func(Vote)
	lanes    []*lane
	with     []contact // per master
	room     [roomFor]contact
}

// contact is what was said to one master. Its lane guards it.
type contact struct {
	on       *pipe  // where a command that it may carry out was sent
	latest   *order // the latest one; nil: none is yet to be voted on
	released bool   // its release was asked
}

func (c *redisConversation) observe(o *order) {
	if c.observer != nil {
		c.observer(o.vote())
	}
}

// Ask is Conversation's. The sequence can be gone through once.
func (c *redisConversation) Ask(ctx context.Context, cmd Command, to []int, timeout time.Duration) iter.Seq[Vote] {
	q := newQuestion(c, cmd, to, len(c.masters.names), timeout)
	return func(yield func(Vote) bool) {
		q.ask(ctx, func(o *order) bool { return yield(o.vote()) })
		q.leave()
	}
}

// count is counter's. The question ends with the tally, or once its votes were listed.
func (c *redisConversation) count(ctx context.Context, cmd Command, timeout time.Duration, t *tally) {
	t.counted = newQuestion(c, cmd, nil, len(c.masters.names), timeout)
	t.counted.ask(ctx, func(o *order) bool {
		t.count(o.yes(), o.err)
		return !t.enough(t)
	})
}

// ask has the masters be asked, and calls take for their votes (each). If they are closed, all
// votes say so.
func (q *question) ask(ctx context.Context, take func(*order) bool) {
	c, m := q.talk, q.talk.masters
	if c.lanes == nil {
		c.lanes = m.lanes
		if q.cmd.Wait > 0 {
			c.lanes = m.waitingLanes()
		}
	}
	q.asked = m.now()
	q.deadline = q.asked + q.timeout
	// The caller's context ends the waiting, never a command: a SET whose fate is
	// unknown is worse than one that was carried through.
	if !m.dispatch(q) {
		for i := range q.orders {
			o := &q.orders[i]
			o.err = ErrClosed
			c.observe(o)
			q.votes = append(q.votes, o)
		}
	} else if q.cmd.next != nil && !m.far() {
		// The next in line may ask: its SET comes behind this release, on every master.
		q.cmd.next.pass()
	}
	q.each(ctx, take)
	m.answered()
}

// far says whether the answers of a master take so long that nobody waits for them before
// the next write (slowAnswer). The next in line then waits for those to the release: if
// its SET were right behind, other processes would never find the lock free.
func (m *redisMasters) far() bool {
	for _, l := range m.lanes {
		if l.far.Load() {
			return true
		}
	}
	return false
}

// waitingLanes are for commands that replicas must hear of.
func (m *redisMasters) waitingLanes() []*lane {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = m.newLanes()
	}
	return m.waiting
}
