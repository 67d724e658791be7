// Package transport sends the lock's commands to Redis masters, through go-redis clients.
//
// One batcher per master sends the commands of all goroutines: many in one pipeline, and in
// order. So a release never overtakes its SET, and votes need no goroutines or timers of their
// own.
//
//	session.Count ─► vote batch ──► batcher of master 1 ──► pipeline of the user's client
//	                     ▲     └──► batcher of master 2 ──► …
//	                     └── votes, as soon as they allow a decision
//
// A master that hangs or refuses commands becomes suspect: its votes are errors at once, until
// it answers a probe (suspect.go). A release that a master did not confirm is repeated
// (release.go).
//
// The package always runs in real time. It implements protocol.Masters with all its optional
// interfaces, so nothing else of the lock depends on it: a simulator has Masters of its own.
package transport

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

// What the lock can do with Masters besides, it can do with these.
var _ interface {
	protocol.Masters
	protocol.Listener
	protocol.Connector
	protocol.Monitor
	protocol.Meter
	protocol.Reader
} = (*Masters)(nil)

var _ protocol.Orderly = (*Session)(nil)

// Masters implement protocol.Masters with go-redis clients.
type Masters struct {
	onSuspect func(protocol.MasterHealth) // nil: nobody wants to know

	names   []string
	clients []redis.UniversalClient
	began   time.Time

	life       context.Context
	end        context.CancelFunc
	goroutines sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	errClosed  error          // the error of every vote after Close
	pending    sync.WaitGroup // vote batches that lack the vote of a master
	batchers   []*batcher
	waiting    []*batcher   // for commands that replicas must confirm: WAIT blocks the commands after it
	servers    []string     // run_id of each master, "" while it is not known
	sendQueue  []*voteBatch // the first caller submits them all
	sending    sync.Mutex
	spare      []*voteBatch // empty; its memory is reused
	callers    atomic.Int64 // callers that wait for votes
	subscriber subscriber
	batches    sync.Pool // vote batches to reuse; not global, because no channel can leave its synctest bubble
}

// New checks the clients and makes Masters of them. It uses the clients themselves: new clients
// with the same options would lack their hooks, and so would those that go-redis' WithTimeout
// returns. After Close, every vote is errClosed.
func New[C redis.UniversalClient](clients []C, errClosed error) (*Masters, error) {
	m := &Masters{began: time.Now(), servers: make([]string, len(clients)), errClosed: errClosed}
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
			if opt.Addr == failoverAddr { // all failover clients have this address
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

// failoverAddr is the address in the options of every client of redis.NewFailoverClient.
const failoverAddr = "FailoverClient"

func (m *Masters) newBatchers() []*batcher {
	var all []*batcher
	for i := range m.names {
		all = append(all, &batcher{masters: m, index: i, name: m.names[i], client: m.clients[i], wake: make(chan struct{}, 1)})
	}
	return all
}

// waitingBatchers returns the batchers for commands that replicas must confirm.
func (m *Masters) waitingBatchers() []*batcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = m.newBatchers()
	}
	return m.waiting
}

// now returns the time since the masters were made.
func (m *Masters) now() time.Duration { return time.Since(m.began) }

func (m *Masters) Names() []string { return m.names }

// settleFor is how long Close waits for late replies.
const settleFor = 100 * time.Millisecond

// Close waits for the votes of all commands, each of which has a timeout, and up to
// settleFor for late replies to releases. It leaves the user's clients open. A goroutine
// that still waits for a hung master ends after the ReadTimeout of that client, or when
// the client is closed.
func (m *Masters) Close() error {
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

// RoundTrip returns the longest round trip of a master; masters without a reply do not
// count.
func (m *Masters) RoundTrip() (slowest time.Duration) {
	for _, b := range m.batchers {
		slowest = max(slowest, time.Duration(b.roundTrip.Load()))
	}
	return slowest
}

// distant reports whether the round trip to a master is so long that pipelines overlap
// (slowAnswer). Then pipelines can overtake each other, and the next waiter for a key waits
// for the replies to the release.
func (m *Masters) distant() bool {
	return slices.ContainsFunc(m.batchers, func(b *batcher) bool { return b.slow.Load() })
}

func (m *Masters) Begin(observe func(protocol.Vote)) protocol.Conversation {
	s := &Session{masters: m, observe: observe}
	if n := len(m.names); n <= roomFor {
		s.with = s.room[:n]
	} else {
		s.with = make([]exchange, n)
	}
	return s
}

// Session is the protocol.Conversation about one token.
type Session struct {
	masters  *Masters
	observe  func(protocol.Vote)
	batchers []*batcher // set by the first command, which no other call accompanies; then constant
	with     []exchange // per master
	room     [roomFor]exchange
}

// exchange is the state of a session with one master. The master's batcher guards it.
type exchange struct {
	on        uint64 // the pipeline with the latest command of the session
	stored    int    // number of commands that were sent and may have stored the key
	uncertain int    // how many of these have an unknown outcome: the master may still execute them
	released  bool   // the release was submitted
	withdrawn bool   // the release failed before any command was sent
}

// roomFor is the number of masters for which a session allocates nothing.
const roomFor = 5

// Ask implements protocol.Conversation. The sequence can be iterated over once.
func (s *Session) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	return func(yield func(protocol.Vote) bool) { s.count(ctx, cmd, to, timeout, nil, yielded(yield)) }
}

// yielded is a function that takes votes as a protocol.Counter.
type yielded func(protocol.Vote) bool

func (y yielded) Count(v protocol.Vote) bool { return y(v) }

// Count implements protocol.Orderly. It passes the ticket as soon as the command is queued,
// provided that the masters keep the order of commands: the SET of the next waiter then reaches
// every master after this command.
func (s *Session) Count(ctx context.Context, cmd protocol.Command, timeout time.Duration, ticket protocol.Ticket, votes protocol.Counter) {
	s.count(ctx, cmd, nil, timeout, ticket, votes)
}

func (s *Session) count(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration, ticket protocol.Ticket, votes protocol.Counter) {
	m := s.masters
	if s.batchers == nil {
		s.batchers = m.batchers
		if cmd.Wait > 0 {
			s.batchers = m.waitingBatchers()
		}
	}
	v := newVoteBatch(s, cmd, to, timeout)
	if !m.send(v) {
		for i := range v.commands {
			c := &v.commands[i]
			c.err = m.errClosed
			if s.observe != nil {
				s.observe(c.vote())
			}
			if !votes.Count(c.vote()) {
				return
			}
		}
		return
	}
	if ticket != nil && !m.distant() {
		ticket.Pass()
	}
	v.take(ctx, votes)
	m.callers.Add(-1)
}

// send submits the commands of a vote batch to the batchers. A lone caller submits its own
// immediately. If several callers are active, the first one lets the others add theirs and
// submits all of them, so that they share the pipelines of all masters. It returns false if
// the masters are closed.
func (m *Masters) send(v *voteBatch) bool {
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
		return true // the first caller submits it
	}
	runtime.Gosched()
	m.sending.Lock() // so that all masters get the commands in the same order
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

// errUnknownOutcome is the error of a release that was sent again and found no key: the
// first one may have deleted it.
var errUnknownOutcome = errors.New("the release was sent again because its first reply was lost: whether the first one deleted the key is not known")

// each runs f for all masters at the same time and waits for all.
func (m *Masters) each(f func(b *batcher)) {
	var all sync.WaitGroup
	for _, b := range m.batchers {
		all.Go(func() { f(b) })
	}
	all.Wait()
}
