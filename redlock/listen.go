package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ears listen to what masters publish. There is a subscription per master, on a
// connection of its own, and go-redis connects it again where that is necessary. It is
// made by the first who listens.
type ears struct {
	masters *redisMasters

	mu     sync.Mutex
	heard  map[string]map[*listener]struct{} // by channel
	each   []*ear
	closed bool
}

type listener struct{ heard func() }

// ear is the subscription to one master. Only its own goroutine talks to the master: a
// hung one holds up nobody else.
type ear struct {
	client *redis.Client
	sub    *redis.PubSub
	work   chan struct{}       // holds one: there is something to be done
	want   map[string]bool     // channels, guarded by the ears; false: to be left
	have   map[string]struct{} // of the goroutine alone
}

// lingers is for how long a subscription is kept that nobody listens to any more.
const lingers = 2 * time.Second

// Listen is Listener's.
func (m *redisMasters) Listen(key string, heard func()) (stop func()) {
	e, name, who := &m.ears, channel(key), &listener{heard}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return func() {}
	}
	if e.heard == nil {
		e.masters = m
		e.heard = map[string]map[*listener]struct{}{}
		for i := range m.options {
			e.start(i)
		}
	}
	if e.heard[name] == nil {
		e.heard[name] = map[*listener]struct{}{}
		e.want(name, true)
	}
	e.heard[name][who] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.heard[name], who)
		if len(e.heard[name]) == 0 && !e.closed {
			time.AfterFunc(lingers, func() { e.forget(name) })
		}
	}
}

// want has every ear subscribe to a channel, or leave it. The caller holds e.mu.
func (e *ears) want(name string, yes bool) {
	for _, x := range e.each {
		x.want[name] = yes
		select {
		case x.work <- struct{}{}:
		default:
		}
	}
}

func (e *ears) forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if listeners, ok := e.heard[name]; ok && len(listeners) == 0 && !e.closed {
		delete(e.heard, name)
		e.want(name, false)
	}
}

func (e *ears) start(i int) {
	opt := *e.masters.options[i]
	opt.PoolSize = 2
	client := redis.NewClient(&opt)
	x := &ear{
		client: client, sub: client.Subscribe(e.masters.life), work: make(chan struct{}, 1),
		want: map[string]bool{}, have: map[string]struct{}{},
	}
	e.each = append(e.each, x)
	e.masters.goroutines.Add(2)
	go func() {
		defer e.masters.goroutines.Done()
		e.attend(x)
	}()
	messages := x.sub.Channel(redis.WithChannelSize(16))
	go func() {
		defer e.masters.goroutines.Done()
		for m := range messages {
			e.tell(m.Channel)
		}
	}()
}

// attend subscribes and leaves as is wanted, until the masters are closed.
func (e *ears) attend(x *ear) {
	for {
		select {
		case <-x.work:
		case <-e.masters.life.Done():
			return
		}
		var enter, leave []string
		e.mu.Lock()
		for name, yes := range x.want {
			if _, have := x.have[name]; yes && !have {
				enter = append(enter, name)
			} else if !yes && have {
				leave = append(leave, name)
			}
		}
		clear(x.want)
		e.mu.Unlock()
		// What fails is tried again by go-redis, once it has a connection.
		ctx, cancel := context.WithTimeout(e.masters.life, patientFor)
		if len(enter) > 0 {
			_ = x.sub.Subscribe(ctx, enter...)
		}
		if len(leave) > 0 {
			_ = x.sub.Unsubscribe(ctx, leave...)
		}
		cancel()
		for _, name := range enter {
			x.have[name] = struct{}{}
		}
		for _, name := range leave {
			delete(x.have, name)
		}
	}
}

func (e *ears) tell(name string) {
	e.mu.Lock()
	var all []*listener
	for l := range e.heard[name] { // in any order: each only learns that it was released
		all = append(all, l)
	}
	e.mu.Unlock()
	for _, l := range all {
		l.heard()
	}
}

func (e *ears) close() {
	e.mu.Lock()
	e.closed = true
	each := e.each
	e.mu.Unlock()
	for _, x := range each {
		_ = x.sub.Close()
		_ = x.client.Close()
	}
}
