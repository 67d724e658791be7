package transport

import (
	"context"
	"errors"
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
// which go-redis restores if it breaks. It does not use PubSub.Channel, because a message of
// another form panics there in a goroutine of go-redis, and so ends the program.
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
	work   chan struct{}       // has room for one signal: wanted has changed
	wanted map[string]bool     // channels to subscribe to (true) or to unsubscribe from; guarded by the subscriber
	have   map[string]struct{} // channels with a subscription; only its goroutine uses this
}

const (
	// keepFor is how long a subscription to a channel lasts after its last listener.
	keepFor = 2 * time.Second
	// subscribeFor is the timeout for SUBSCRIBE and UNSUBSCRIBE.
	subscribeFor = 5 * time.Second
	// checkEvery is how often a PING checks the connection: go-redis connects again if it cannot
	// be written to.
	checkEvery = 3 * time.Second
	// rereadAfter is the time between two attempts to read from a connection that fails.
	rereadAfter = 100 * time.Millisecond
	// renewMin and renewMax bound the time until a subscription in which go-redis has panicked is
	// replaced.
	renewMin = time.Second
	renewMax = time.Minute
)

// Listen implements protocol.Listener.
func (m *Masters) Listen(key string, heard func(protocol.Released)) (stop func()) {
	s, name, who := &m.subscriber, protocol.ReleaseChannel(key), &listener{heard}
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
	x.signal()
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
	x := &subscription{work: make(chan struct{}, 1), wanted: map[string]bool{}, have: map[string]struct{}{}}
	s.subscriptions[master] = x
	s.masters.goroutines.Go(func() { s.keepOpen(x, client) })
}

// keepOpen keeps a subscription open until the masters are closed. It replaces a connection in
// which go-redis has panicked by a new one.
func (s *subscriber) keepOpen(x *subscription, client redis.UniversalClient) {
	m := s.masters
	for pause := renewMin; ; pause = min(2*pause, renewMax) {
		pubsub := client.Subscribe(m.life)
		s.maintain(x, pubsub)
		// A panic may have left a mutex of go-redis locked, for which Close would wait.
		m.goroutines.Go(func() { _ = pubsub.Close() })
		if m.sleep(pause) != nil {
			return
		}
		s.mu.Lock()
		for name := range x.have {
			if _, changed := x.wanted[name]; !changed {
				x.wanted[name] = true
			}
		}
		s.mu.Unlock()
		clear(x.have)
		x.signal()
	}
}

// signal makes maintain look at what is wanted.
func (x *subscription) signal() {
	select {
	case x.work <- struct{}{}:
	default:
	}
}

// sleep returns nil after d, or an error as soon as the masters are closed.
func (m *Masters) sleep(d time.Duration) error { return protocol.RealTime{}.Sleep(m.life, d) }

// maintain subscribes and unsubscribes as wanted, until go-redis panics or the masters are closed.
func (s *subscriber) maintain(x *subscription, pubsub *redis.PubSub) {
	life := s.masters.life
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	var panicked chan struct{} // nil until the first command was sent
	for {
		change := func(ctx context.Context) error { return pubsub.Ping(ctx) }
		select {
		case <-x.work:
			add, remove := s.changes(x)
			change = func(ctx context.Context) (err error) {
				if len(add) > 0 {
					err = pubsub.Subscribe(ctx, add...)
				}
				if len(remove) > 0 {
					err = pubsub.Unsubscribe(ctx, remove...)
				}
				return err
			}
		case <-check.C:
			if panicked == nil {
				continue
			}
		case <-panicked:
			return
		case <-life.Done():
			return
		}
		// Errors are ignored because go-redis subscribes again when it reconnects.
		if isPanic(s.send(change)) {
			return
		}
		if panicked == nil {
			panicked = make(chan struct{})
			s.masters.goroutines.Go(func() { s.receive(pubsub, panicked) })
		}
	}
}

// send runs f with the timeout for SUBSCRIBE.
func (s *subscriber) send(f func(context.Context) error) (err error) {
	defer asPanicError(&err)
	ctx, cancel := context.WithTimeout(s.masters.life, subscribeFor)
	defer cancel()
	return f(ctx)
}

// changes returns the channels to subscribe to, and those to unsubscribe from.
func (s *subscriber) changes(x *subscription) (add, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	return add, remove
}

// receive delivers messages until the subscription is closed, or go-redis panics.
func (s *subscriber) receive(pubsub *redis.PubSub, panicked chan<- struct{}) {
	life := s.masters.life
	for failed := false; life.Err() == nil; {
		message, err := receiveMessage(life, pubsub)
		switch {
		case isPanic(err):
			close(panicked)
			return
		case errors.Is(err, redis.ErrClosed):
			return
		case err != nil:
			if failed && s.masters.sleep(rereadAfter) != nil {
				return
			}
			failed = true
			continue
		}
		failed = false
		waiters, token, _ := strings.Cut(message.Payload, " ") // older versions publish an empty message
		r := protocol.Released{Token: token}
		r.Waiters, _ = strconv.Atoi(waiters)
		s.deliver(message.Channel, r)
	}
}

func receiveMessage(ctx context.Context, pubsub *redis.PubSub) (m *redis.Message, err error) {
	defer asPanicError(&err)
	return pubsub.ReceiveMessage(ctx)
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

// close ends the deliveries. The connections end with the masters' life.
func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
