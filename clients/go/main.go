// Command lockpick-go-clients has clients for locks of other Go libraries: its argument names one. docs/clients.md of
// Lockpick describes the protocol.
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

	"golang.org/x/sys/unix"
)

// lock is a library's lock for one key.
type lock interface {
	acquire(ctx context.Context) (token string, err error)
	extend(ctx context.Context) error
	release(ctx context.Context) error
	refused(err error) bool // err says that the lock is not held, for certain
}

// errNotHeld says that a lock is not held, for certain.
var errNotHeld = errors.New("not held")

// held is errNotHeld if nothing failed and the answer was no.
func held(ok bool, err error) error {
	if err == nil && !ok {
		return errNotHeld
	}
	return err
}

// library connects to the masters, and then makes locks. hello is what init answers about it.
type library struct {
	open  func(masters []string, ttl time.Duration) (newLock func(key string) lock, err error)
	hello message
}

type message map[string]any

// anyTTL is what libraries take that have a time.Duration.
var anyTTL = message{"unit_ms": 1e-6}

var libraries = map[string]library{
	"redsync":     {openRedsync, message{"can": []string{"extend", "shared"}, "masters": "n", "library": "redsync " + version("github.com/go-redsync/redsync/v4"), "ttl": anyTTL}},
	"redislock":   {openRedislock(firstMaster), message{"can": []string{"extend"}, "masters": 1, "library": "bsm/redislock " + version("github.com/bsm/redislock"), "ttl": anyTTL}},
	"rueidislock": {openRueidislock, message{"lease": "none", "masters": 1, "library": "rueidislock " + version("github.com/redis/rueidis"), "ttl": anyTTL}},
	"go-zero": {openGoZero, message{"can": []string{"extend"}, "masters": 1, "library": "go-zero " + version("github.com/zeromicro/go-zero"),
		"ttl": message{"min_ms": 1000, "unit_ms": 1000}}},
	"redislock-sentinel": {openRedislock(bySentinel), message{"can": []string{"extend"}, "library": "bsm/redislock " + version("github.com/bsm/redislock") + " on a FailoverClient", "ttl": anyTTL}},
	"redislock-cluster":  {openRedislock(inCluster), message{"can": []string{"extend"}, "library": "bsm/redislock " + version("github.com/bsm/redislock") + " on a ClusterClient", "ttl": anyTTL}},
}

// monotonic is what CLOCK_MONOTONIC shows, in ns.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // a zero is as if it were left out
	return t.Nano()
}

var saying sync.Mutex

func say(m message) {
	saying.Lock()
	defer saying.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(m)
}

// printEnd says that a lease is over, beside the answers.
func printEnd(key, why string) {
	say(message{"type": "ended", "key": key, "value": message{}, "error": why, "when": monotonic()})
}

// request is a line of stdin.
type request struct {
	Op, Key, Object string
	ID              int64
	Masters         []string
	TTL, Within     time.Duration // ns
}

// answer says how a request ended. The lock is nil for init.
func (r *request) answer(l lock, m message, err error) {
	switch {
	case err == nil:
		m["type"] = "ok"
	case errors.Is(err, errNotHeld) || l != nil && l.refused(err):
		m = message{"type": "fail", "error": err.Error()}
	default: // a timeout, a lost connection: it may have happened
		m = message{"type": "info", "error": err.Error()}
	}
	m["id"] = r.ID
	say(m)
}

// carryOut asks the lock, and answers.
func (r *request) carryOut(l lock) {
	ctx, cancel := context.Background(), func() {}
	if r.Within > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.Within)
	}
	defer cancel()
	switch r.Op {
	case "acquire":
		token, err := l.acquire(ctx)
		r.answer(l, message{"token": token}, err)
	case "extend":
		r.answer(l, message{}, l.extend(ctx))
	case "release":
		r.answer(l, message{}, l.release(ctx))
	}
}

func main() {
	lib, ok := libraries[os.Args[min(1, len(os.Args)-1)]]
	if !ok {
		fmt.Fprintln(os.Stderr, "which library? redsync, redislock, redislock-sentinel, redislock-cluster, rueidislock or go-zero")
		os.Exit(64)
	}
	type use struct{ object, key string }
	locks := map[use]lock{}
	var newLock func(key string) lock
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch r.Op {
		case "init":
			var err error
			newLock, err = lib.open(r.Masters, r.TTL)
			r.answer(nil, lib.hello, err)
		case "acquire", "extend", "release":
			u := use{r.Object, r.Key}
			if locks[u] == nil {
				locks[u] = newLock(r.Key)
			}
			go r.carryOut(locks[u]) // several clients may share the process
		case "exit":
			return
		}
	}
}
