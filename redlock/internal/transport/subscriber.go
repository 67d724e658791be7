package transport

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

// subscriber receives the releases that masters publish. For one key, all clients subscribe
// to the same master: every message costs time in every waiter, and a waiter that misses a
// message polls. There is one subscription per master, on a connection of its own,
// which go-redis restores if it breaks.
type subscriber struct {
	masters *Masters

	mu            sync.Mutex
	listeners     map[string]map[*listener]struct{} // by channel
	subscriptions map[int]*subscription             // by master, made when first needed
	closed        bool
}

type listener struct{ heard func(protocol.Released) }

// subscription is the connection to one master. Only its own goroutine sends to the master,
// so that a hung master delays no caller.
type subscription struct {
	pubsub *redis.PubSub
	work   chan struct{}       // has room for one signal: wanted has changed
	wanted map[string]bool     // channels to subscribe to (true) or to unsubscribe from; guarded by the subscriber
	have   map[string]struct{} // channels with a subscription; only its goroutine uses this
}

const (
	// keepFor is how long a subscription to a channel lasts after its last listener.
	keepFor = 2 * time.Second
	// subscribeFor is the timeout for SUBSCRIBE and UNSUBSCRIBE.
	subscribeFor = 5 * time.Second
)

// Channel returns the channel on which releases of a key are published.
func Channel(key string) string { return key + ":released" }

// Listen implements protocol.Listener.
func (m *Masters) Listen(key string, heard func(protocol.Released)) (stop func()) {
	s, name, who := &m.subscriber, Channel(key), &listener{heard}
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

// want makes the master of a channel subscribe to it, or unsubscribe from it. The caller
// holds s.mu.
func (s *subscriber) want(name string, subscribed bool) {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	i := int(hash.Sum32()>>1) % len(s.masters.clients)
	if s.subscriptions[i] == nil {
		s.start(i, s.masters.clients[i])
	}
	x := s.subscriptions[i]
	x.wanted[name] = subscribed
	select {
	case x.work <- struct{}{}:
	default:
	}
}

// forget unsubscribes from a channel, unless there is a listener again.
func (s *subscriber) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if listeners, ok := s.listeners[name]; ok && len(listeners) == 0 && !s.closed {
		delete(s.listeners, name)
		s.want(name, false)
	}
}

// start opens the subscription to a master. The caller holds s.mu.
func (s *subscriber) start(master int, client redis.UniversalClient) {
	m := s.masters
	x := &subscription{pubsub: client.Subscribe(m.life), work: make(chan struct{}, 1), wanted: map[string]bool{}, have: map[string]struct{}{}}
	s.subscriptions[master] = x
	m.goroutines.Go(func() { s.maintain(x) })
	messages := x.pubsub.Channel(redis.WithChannelSize(16))
	m.goroutines.Go(func() {
		for message := range messages {
			waiters, token, _ := strings.Cut(message.Payload, " ") // older versions publish an empty message
			r := protocol.Released{Token: token}
			r.Waiters, _ = strconv.Atoi(waiters)
			s.deliver(message.Channel, r)
		}
	})
}

// maintain subscribes and unsubscribes as wanted, until the masters are closed.
func (s *subscriber) maintain(x *subscription) {
	life := s.masters.life
	for {
		select {
		case <-x.work:
		case <-life.Done():
			return
		}
		var add, remove []string
		s.mu.Lock()
		for name, yes := range x.wanted {
			if _, have := x.have[name]; yes && !have {
				add = append(add, name)
				x.have[name] = struct{}{}
			} else if !yes && have {
				remove = append(remove, name)
				delete(x.have, name)
			}
		}
		clear(x.wanted)
		s.mu.Unlock()
		// Errors are ignored because go-redis subscribes again when it reconnects.
		ctx, cancel := context.WithTimeout(life, subscribeFor)
		if len(add) > 0 {
			_ = x.pubsub.Subscribe(ctx, add...)
		}
		if len(remove) > 0 {
			_ = x.pubsub.Unsubscribe(ctx, remove...)
		}
		cancel()
	}
}

// deliver passes a release to the listeners of its channel.
func (s *subscriber) deliver(name string, r protocol.Released) {
	s.mu.Lock()
	var all []*listener
	for l := range s.listeners[name] { // in any order: no listener depends on another
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
