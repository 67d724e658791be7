package redlock

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// subscriber hears of releases that masters publish. All clients listen for one key on
// the same listenOn masters: each message costs every waiter, and one that is lost is made
// up for by polling. There is one subscription per master, on a connection of its own, and
// go-redis connects it again where that is necessary.
type subscriber struct {
	masters *redisMasters

	mu            sync.Mutex
	listeners     map[string]map[*listener]struct{} // by channel
	subscriptions map[int]*subscription             // by master, once it is needed
	closed        bool
}

type listener struct{ heard func(protocol.Released) }

// subscription is the one to one master. Its own goroutine alone sends to the master: a
// hung one holds up nobody else.
type subscription struct {
	pubsub *redis.PubSub
	work   chan struct{}       // holds one: there is something to do
	wanted map[string]bool     // channels to enter, or to leave; guarded by the subscriber
	have   map[string]struct{} // of the goroutine alone
}

const (
	// keepFor is how long a channel is kept that nobody listens to any more.
	keepFor = 2 * time.Second
	// listenOn is how many masters a key is listened for on.
	listenOn = 1
	// subscribeFor is how long entering and leaving channels may take.
	subscribeFor = 5 * time.Second
)

// Listen is Listener's.
func (m *redisMasters) Listen(key string, heard func(protocol.Released)) (stop func()) {
	s, name, who := &m.subscriber, channel(key), &listener{heard}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return func() {}
	}
	if s.listeners == nil {
		s.listeners, s.subscriptions = map[string]map[*listener]struct{}{}, map[int]*subscription{}
	}
	if s.listeners[name] == nil {
		s.listeners[name] = map[*listener]struct{}{}
		s.want(name, true)
	}
	s.listeners[name][who] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners[name], who)
		if len(s.listeners[name]) == 0 && !s.closed {
			time.AfterFunc(keepFor, func() { s.forget(name) })
		}
	}
}

// want has the channel's subscriptions enter it, or leave it. The caller holds s.mu.
func (s *subscriber) want(name string, enter bool) {
	n := len(s.masters.clients)
	hash := fnv.New32a()
	hash.Write([]byte(name))
	for k := range min(listenOn, n) {
		i := (int(hash.Sum32()>>1) + k) % n
		if s.subscriptions[i] == nil {
			s.start(i, s.masters.clients[i])
		}
		x := s.subscriptions[i]
		x.wanted[name] = enter
		select {
		case x.work <- struct{}{}:
		default:
		}
	}
}

func (s *subscriber) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if listeners, ok := s.listeners[name]; ok && len(listeners) == 0 && !s.closed {
		delete(s.listeners, name)
		s.want(name, false)
	}
}

func (s *subscriber) start(master int, client redis.UniversalClient) {
	m := s.masters
	x := &subscription{pubsub: client.Subscribe(m.life), work: make(chan struct{}, 1), wanted: map[string]bool{}, have: map[string]struct{}{}}
	s.subscriptions[master] = x
	m.goroutines.Go(func() { s.maintain(x) })
	messages := x.pubsub.Channel(redis.WithChannelSize(16))
	m.goroutines.Go(func() {
		for message := range messages {
			waiters, token, _ := strings.Cut(message.Payload, " ") // an older version sends nothing
			r := protocol.Released{Token: token}
			r.Waiters, _ = strconv.Atoi(waiters)
			s.tell(message.Channel, r)
		}
	})
}

// maintain enters and leaves channels as wanted, until the masters are closed.
func (s *subscriber) maintain(x *subscription) {
	life := s.masters.life
	for {
		select {
		case <-x.work:
		case <-life.Done():
			return
		}
		var enter, leave []string
		s.mu.Lock()
		for name, yes := range x.wanted {
			if _, have := x.have[name]; yes && !have {
				enter = append(enter, name)
				x.have[name] = struct{}{}
			} else if !yes && have {
				leave = append(leave, name)
				delete(x.have, name)
			}
		}
		clear(x.wanted)
		s.mu.Unlock()
		// What fails is tried again by go-redis, once it has a connection.
		ctx, cancel := context.WithTimeout(life, subscribeFor)
		if len(enter) > 0 {
			_ = x.pubsub.Subscribe(ctx, enter...)
		}
		if len(leave) > 0 {
			_ = x.pubsub.Unsubscribe(ctx, leave...)
		}
		cancel()
	}
}

func (s *subscriber) tell(name string, r protocol.Released) {
	s.mu.Lock()
	var all []*listener
	for l := range s.listeners[name] { // in any order: each only learns of the release
		all = append(all, l)
	}
	s.mu.Unlock()
	for _, l := range all {
		l.heard(r)
	}
}

func (s *subscriber) close() {
	s.mu.Lock()
	s.closed = true
	all := s.subscriptions
	s.mu.Unlock()
	for _, x := range all {
		_ = x.pubsub.Close()
	}
}
