// Command lockpick-etcd is a client of Lockpick for the Mutex of etcd's package concurrency. docs/clients.md describes
// the protocol. Its first argument says how long the client counts on a lock:
//
//	timed   for the TTL, from the moment at which it sent the last keep-alive that was answered
//	done    until the session's Done is closed, as the documentation of Session says
//
// With read-write as second argument the lock is the RWMutex of etcd's package recipe instead.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// request is a line of stdin. Times are floats: a TTL may be 1500.5 ms.
type request struct {
	Op, Key string
	Mode    string // read, or a writer
	Masters []string
	TTL     float64 `json:"ttl_ms"`
	Within  float64 `json:"within_ms"`
}

type message map[string]any

var saying sync.Mutex

func say(m message) {
	saying.Lock()
	defer saying.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(m)
}

// monotonic is what CLOCK_MONOTONIC shows, in ns.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// held is a lock that the client has.
type held struct {
	key      string
	session  *concurrency.Session
	token    string
	fence    int64
	unlock   func(context.Context) error
	released chan struct{}
}

type client struct {
	etcd  *clientv3.Client
	timed bool
	rw    bool
	ttl   int // seconds
	held  map[string]*held
}

func main() {
	rw := len(os.Args) == 3 && os.Args[2] == "read-write"
	if len(os.Args) != 2 && !rw || os.Args[1] != "timed" && os.Args[1] != "done" {
		fmt.Fprintln(os.Stderr, "usage: lockpick-etcd timed|done [read-write]")
		os.Exit(64)
	}
	c := &client{timed: os.Args[1] == "timed", rw: rw, held: map[string]*held{}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var q request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil || q.Op == "exit" {
			return
		}
		answer, err := c.answer(q)
		switch {
		case errors.Is(err, errRefused):
			answer = message{"type": "fail", "error": err.Error()}
		case err != nil:
			answer = message{"type": "info", "error": err.Error()}
		}
		say(answer)
	}
}

// errRefused says that the client did not acquire the lock, or that it did not hold the lock any more, for certain.
var errRefused = errors.New("not held")

func (c *client) answer(q request) (message, error) {
	switch q.Op {
	case "init":
		return c.open(q)
	case "acquire":
		return c.acquire(q.Key, q.Mode, time.Duration(q.Within*float64(time.Millisecond)))
	case "release":
		return c.release(q.Key)
	}
	return nil, fmt.Errorf("unknown request %s", q.Op)
}

func (c *client) open(q request) (message, error) {
	var err error
	c.ttl = max(1, int(q.TTL/1000))
	c.etcd, err = clientv3.New(clientv3.Config{Endpoints: q.Masters, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
		DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second})
	library := "concurrency.Mutex"
	hello := message{"type": "ok", "ttl": message{"min_ms": 1000, "unit_ms": 1000}}
	if c.rw {
		library = "recipe.RWMutex"
		hello["kind"] = "rw"
	} else {
		hello["can"] = []string{"fence"}
	}
	hello["library"] = "etcd client " + version() + " " + library + " (" + os.Args[1] + ")"
	if !c.timed {
		hello["lease"] = "none"
	}
	return hello, err
}

func (c *client) acquire(key, mode string, within time.Duration) (message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	grant, err := c.etcd.Grant(ctx, int64(c.ttl)) // NewSession would wait for a server without a limit
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(c.etcd, concurrency.WithTTL(c.ttl), concurrency.WithLease(grant.ID))
	if err != nil {
		return nil, err
	}
	h := &held{key: key, session: session, released: make(chan struct{})}
	if c.rw {
		err = h.lockShared(ctx, mode == "read")
	} else {
		err = h.lock(ctx)
	}
	if err != nil {
		go session.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: not acquired in time", errRefused)
		}
		return nil, err
	}
	answer := message{"type": "ok", "token": h.token}
	if h.fence != 0 {
		answer["fence"] = h.fence
	}
	if c.timed {
		if answer["at"], answer["left"], err = c.renew(ctx, h); err != nil {
			go session.Close() // it would keep the lock for good
			return nil, err
		}
	}
	c.held[key] = h
	go c.watch(h)
	return answer, nil
}

// lock acquires a Mutex.
func (h *held) lock(ctx context.Context) error {
	mutex := concurrency.NewMutex(h.session, "/locks/"+h.key)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	h.token, h.fence, h.unlock = mutex.Key(), mutex.Header().Revision, mutex.Unlock
	return nil
}

// lockShared acquires an RWMutex. Its methods have no context and its key is its own: if the time is over, the caller ends
// the session, which deletes the key, and the session's lease is the token.
func (h *held) lockShared(ctx context.Context, reads bool) error {
	mutex := recipe.NewRWMutex(h.session, "/locks/"+h.key)
	acquire, unlock := mutex.Lock, mutex.Unlock
	if reads {
		acquire, unlock = mutex.RLock, mutex.RUnlock
	}
	h.token, h.unlock = fmt.Sprintf("%x", h.session.Lease()), func(ctx context.Context) error { return await(ctx, unlock) }
	return await(ctx, acquire)
}

// await calls f, and does not wait for it any longer than ctx lasts.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renew sends a keep-alive. The lease is valid for left from at.
func (c *client) renew(ctx context.Context, h *held) (at, left int64, err error) {
	at = monotonic()
	r, err := c.etcd.KeepAliveOnce(ctx, h.session.Lease())
	if err != nil {
		return 0, 0, err
	}
	return at, r.TTL * int64(time.Second), nil
}

// watch says what the client learns of the lock while it has it.
func (c *client) watch(h *held) {
	token := message{"token": h.token}
	for c.timed {
		select {
		case <-h.released:
			return
		case <-time.After(time.Duration(c.ttl) * time.Second / 3):
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if at, left, err := c.renew(ctx, h); err == nil && left > 0 {
			say(message{"type": "renewed", "key": h.key, "value": token, "at": at, "left": left})
		}
		cancel()
	}
	select {
	case <-h.released:
	case <-h.session.Done():
		say(message{"type": "ended", "key": h.key, "value": token, "error": "the session is over", "when": monotonic()})
	}
}

func (c *client) release(key string) (message, error) {
	h := c.held[key]
	if h == nil {
		return nil, errRefused
	}
	delete(c.held, key)
	close(h.released)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := h.unlock(ctx)
	go h.session.Close()
	if errors.Is(err, concurrency.ErrLockReleased) {
		return nil, errRefused
	}
	return message{"type": "ok"}, err
}
