// Command lockpick-etcd is a client of Lockpick for the Mutex of etcd's package concurrency. docs/clients.md describes
// the protocol. Its argument says how long the client counts on a lock:
//
//	timed   for the TTL, from the moment at which it sent the last keep-alive that was answered
//	done    until the session's Done is closed, as the documentation of Session says
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
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// request is a line of stdin. Times are floats: a TTL may be 1500.5 ms.
type request struct {
	Op, Key string
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
	mutex    *concurrency.Mutex
	released chan struct{}
}

type client struct {
	etcd  *clientv3.Client
	timed bool
	ttl   int // seconds
	held  map[string]*held
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "timed" && os.Args[1] != "done" {
		fmt.Fprintln(os.Stderr, "usage: lockpick-etcd timed|done")
		os.Exit(64)
	}
	c := &client{timed: os.Args[1] == "timed", held: map[string]*held{}}
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
		return c.acquire(q.Key, time.Duration(q.Within*float64(time.Millisecond)))
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
	hello := message{"type": "ok", "library": "etcd client " + version() + " concurrency.Mutex (" + os.Args[1] + ")", "can": []string{"fence"},
		"ttl": message{"min_ms": 1000, "unit_ms": 1000}}
	if !c.timed {
		hello["lease"] = "none"
	}
	return hello, err
}

func (c *client) acquire(key string, within time.Duration) (message, error) {
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
	h := &held{key: key, session: session, mutex: concurrency.NewMutex(session, "/locks/"+key), released: make(chan struct{})}
	if err := h.mutex.Lock(ctx); err != nil {
		go session.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: not acquired in time", errRefused)
		}
		return nil, err
	}
	answer := message{"type": "ok", "token": h.mutex.Key(), "fence": h.mutex.Header().Revision}
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
	token := message{"token": h.mutex.Key()}
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
	err := h.mutex.Unlock(ctx)
	go h.session.Close()
	if errors.Is(err, concurrency.ErrLockReleased) {
		return nil, errRefused
	}
	return message{"type": "ok"}, err
}
