package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// redisMasters sends commands through the go-redis clients that the user gave. Like
// its parts (batcher.go, release.go, subscriber.go, suspect.go, votes.go) it lives in
// real time only: a Runtime in virtual time brings Masters of its own.
type redisMasters struct {
	names   []string
	clients []redis.UniversalClient
	began   time.Time

	life       context.Context
	end        context.CancelFunc
	goroutines sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	pending    sync.WaitGroup // vote batches that some master has not voted on
	batchers   []*batcher
	waiting    []*batcher   // of commands that replicas must confirm (WAIT), which block what is behind them
	servers    []string     // run_id of each master, "" while it is not known
	sendQueue  []*voteBatch // that the first caller takes to the batchers
	sending    sync.Mutex
	spare      []*voteBatch // emptied, to be used again
	callers    atomic.Int64 // that wait for votes
	subscriber subscriber
	onSuspect  func(MasterHealth)
	ttl        atomic.Pointer[ttlArg]
	wakes      sync.Pool // of channels (newWake)
}

// ttlArg is a TTL as go-redis takes it: nearly all commands have the same.
type ttlArg struct {
	ms  int64
	arg any
}

func (m *redisMasters) ttlArg(ms int64) any {
	t := m.ttl.Load()
	if t == nil || t.ms != ms {
		t = &ttlArg{ms, ms}
		m.ttl.Store(t)
	}
	return t.arg
}

// NewMasters makes the Masters of New, for a lock with other rules. They have a Close
// method, and the errors of New.
func NewMasters[C redis.UniversalClient](masters []C) (protocol.Masters, error) {
	m, err := newRedisMasters(masters)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// newRedisMasters checks the clients. They are used as they are: a copy of their options
// would lose their hooks, and so would go-redis' WithTimeout.
func newRedisMasters[C redis.UniversalClient](clients []C) (*redisMasters, error) {
	m := &redisMasters{began: time.Now(), servers: make([]string, len(clients))}
	seen := map[any]int{}
	for i, c := range clients {
		name, id := fmt.Sprintf("master %d", i+1), any(c)
		switch x := any(c).(type) {
		case nil:
			return nil, fmt.Errorf("redlock: master %d is nil", i+1)
		case *redis.ClusterClient:
			return nil, fmt.Errorf("redlock: master %d is a Redis Cluster: its replicas take over without the keys that were not replicated yet, so two clients could hold one lock. Give New a client for each of several independent masters", i+1)
		case *redis.Ring:
			return nil, fmt.Errorf("redlock: master %d is a Ring: it may send one key to different servers at different times. Give New a client for each of its servers", i+1)
		case *redis.Client:
			if x == nil {
				return nil, fmt.Errorf("redlock: master %d is nil", i+1)
			}
			opt := x.Options()
			name = opt.Addr
			if opt.Addr == failoverAddr { // every client of a Sentinel has this address
				name = fmt.Sprintf("failover master %d", i+1)
			} else {
				id = fmt.Sprintf("%s %s db %d", opt.Network, opt.Addr, opt.DB)
			}
		}
		if before := seen[id]; before > 0 {
			return nil, fmt.Errorf("redlock: masters %d and %d are both %s: a master that votes twice breaks the quorum", before, i+1, name)
		}
		seen[id] = i + 1
		m.names = append(m.names, name)
		m.clients = append(m.clients, c)
	}
	m.life, m.end = context.WithCancel(context.Background())
	m.batchers = m.newBatchers()
	m.subscriber.masters = m
	return m, nil
}

// failoverAddr is what go-redis puts into the options of a Sentinel's client.
const failoverAddr = "FailoverClient"

func (m *redisMasters) newBatchers() []*batcher {
	var all []*batcher
	for i := range m.names {
		all = append(all, &batcher{masters: m, index: i, name: m.names[i], client: m.clients[i], wake: make(chan struct{}, 1)})
	}
	return all
}

// waitingBatchers are for commands that replicas must confirm.
func (m *redisMasters) waitingBatchers() []*batcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = m.newBatchers()
	}
	return m.waiting
}

// now is the time since the masters were made.
func (m *redisMasters) now() time.Duration { return time.Since(m.began) }

func (m *redisMasters) Names() []string { return m.names }

// settleFor is for how long Close waits for late answers.
const settleFor = 100 * time.Millisecond

// Close waits for commands without a vote (each has a timeout), and a little for late
// answers to releases. It leaves the user's clients open. A goroutine that still waits
// for a hung master ends with that client's read timeout, or when it is closed.
func (m *redisMasters) Close() error {
	m.mu.Lock()
	m.closed = true
	all := slices.Concat(m.batchers, m.waiting)
	m.mu.Unlock()
	m.pending.Wait()
	for end := m.now() + settleFor; m.now() < end && slices.ContainsFunc(all, (*batcher).unsettled); {
		time.Sleep(settleFor / 50)
	}
	m.end()
	m.subscriber.close()
	for _, b := range all {
		b.close()
	}
	done := make(chan struct{})
	go func() {
		m.goroutines.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(settleFor):
	}
	return nil
}

// roundTrip is how long the slowest master that answers takes at its fastest.
func (m *redisMasters) roundTrip() (slowest time.Duration) {
	for _, b := range m.batchers {
		slowest = max(slowest, time.Duration(b.roundTrip.Load()))
	}
	return slowest
}

// distant says that a master is so far away that pipelines overlap (slowAnswer). Then
// the next waiter for a key waits for the answers to the release.
func (m *redisMasters) distant() bool {
	return slices.ContainsFunc(m.batchers, func(b *batcher) bool { return b.slow.Load() })
}

func (m *redisMasters) Begin(observe func(Vote)) protocol.Conversation {
	s := &session{masters: m, observe: observe}
	if n := len(m.names); n <= roomFor {
		s.with = s.room[:n]
	} else {
		s.with = make([]exchange, n)
	}
	return s
}

// session is the conversation about one token.
type session struct {
	masters  *redisMasters
	observe  func(Vote)
	batchers []*batcher
	with     []exchange // per master
	room     [roomFor]exchange

	next *turn // is passed on with the release, where masters keep the order of all commands

	name       struct{ key, token string } // of the first command
	key, token any                         // the same, as go-redis takes them
}

// exchange is what a session has sent to one master. Its batcher guards it.
type exchange struct {
	on        uint64 // the pipeline that carried the latest command of the session
	stored    int    // commands that were sent and may have stored the key
	uncertain int    // of these, how many have an unknown outcome: the master may carry them out yet
	released  bool   // the release was asked for
	withdrawn bool   // the release failed before anything was sent
}

// roomFor is how many masters most have.
const roomFor = 5

// Ask is Conversation's. The sequence can be gone through once.
func (s *session) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[Vote] {
	return func(yield func(Vote) bool) {
		s.ask(ctx, &cmd, to, timeout, func(c *pendingCommand) bool { return yield(c.vote()) })
	}
}

func (s *session) ask(ctx context.Context, cmd *protocol.Command, to []int, timeout time.Duration, yield func(*pendingCommand) bool) {
	m := s.masters
	if s.batchers == nil {
		s.name.key, s.name.token, s.key, s.token = cmd.Key, cmd.Token, cmd.Key, cmd.Token
		s.batchers = m.batchers
		if cmd.Wait > 0 {
			s.batchers = m.waitingBatchers()
		}
	}
	v := newVoteBatch(s, cmd, to, timeout)
	if !m.send(v) {
		for i := range v.commands {
			c := &v.commands[i]
			c.err = ErrClosed
			if s.observe != nil {
				s.observe(c.vote())
			}
			if !yield(c) {
				return
			}
		}
		return
	}
	if s.next != nil && cmd.Kind == Release && !m.distant() {
		// The next waiter's SET comes behind this release on every master.
		s.next.pass()
	}
	v.take(ctx, yield)
	m.callers.Add(-1)
}

// send takes a command to the batchers. A lone caller does that immediately. Where
// several callers are active, the first lets those that are ready to run add theirs, and
// takes all of them: so they share the pipelines of all masters. It returns false if the
// masters are closed.
func (m *redisMasters) send(v *voteBatch) bool {
	s := v.session
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.pending.Add(1)
	direct := m.callers.Add(1) == 1 || &s.batchers[0] != &m.batchers[0]
	if !direct {
		m.sendQueue = append(m.sendQueue, v)
	}
	first := len(m.sendQueue) == 1
	m.mu.Unlock()
	if direct {
		for i := range v.commands {
			c := &v.commands[i]
			s.batchers[c.master].submit(c)
		}
		return true
	}
	if !first {
		return true // another caller takes it along
	}
	runtime.Gosched()
	m.sending.Lock() // one after the other: all masters get commands in one order
	defer m.sending.Unlock()
	m.mu.Lock()
	all := m.sendQueue
	m.sendQueue = m.spare
	m.spare = nil
	m.mu.Unlock()
	for i, b := range m.batchers {
		b.submitAll(all, i)
	}
	clear(all)
	m.mu.Lock()
	m.spare = all[:0]
	m.mu.Unlock()
	return true
}

var errUnknownOutcome = errors.New("the release was sent twice, because its first answer was lost: which of them found the key gone is not known")

// each runs f for every master at the same time.
func (m *redisMasters) each(f func(b *batcher)) {
	var all sync.WaitGroup
	for _, b := range m.batchers {
		all.Go(func() { f(b) })
	}
	all.Wait()
}
