package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// errSilent is how a fake master votes that did not answer in time.
var errSilent = errors.New("i/o timeout")

// errRefused is how a fake master votes that does not accept connections.
var errRefused = errors.New("connection refused")

// fate is what happens to one command on its way to a master and back.
type fate struct {
	arrives time.Duration // until the master carries it out
	returns time.Duration // from then until its reply is there
	lost    bool          // it never reaches the master
	mute    bool          // it is carried out, but the reply is lost
	refused bool          // the master refuses, after arrives
	said    *int64        // the reply that the master makes up instead of carrying it out
}

// fakeMasters is N masters in memory. They store keys and expire them on their own
// clocks, as Redis does, and are slow, deaf or mute as the test has it. They run in
// the virtual time of a synctest bubble.
type fakeMasters struct {
	masters []*fakeMaster

	// What the test has to say and to see. One is called at a time.
	telling sync.Mutex
	fate    func(master int, cmd protocol.Command) fate
	asked   func(cmd protocol.Command, to []int)
	applied func(master int, cmd protocol.Command, reply int64, late bool)
	voted   func(v redlock.Vote)

	mu     sync.Mutex
	closed bool
}

type fakeMaster struct {
	fast     float64 // its clock gains this much: 0.01 is 1 %
	keys     map[string]fakeKey
	counters map[string]int64
}

type fakeKey struct {
	token string
	ends  time.Time
}

func newFakeMasters(n int) *fakeMasters {
	f := &fakeMasters{
		fate:    func(int, protocol.Command) fate { return fate{arrives: time.Millisecond} },
		asked:   func(protocol.Command, []int) {},
		applied: func(int, protocol.Command, int64, bool) {},
		voted:   func(redlock.Vote) {},
	}
	for range n {
		f.masters = append(f.masters, &fakeMaster{keys: map[string]fakeKey{}, counters: map[string]int64{}})
	}
	return f
}

func (f *fakeMasters) Names() []string {
	var names []string
	for i := range f.masters {
		names = append(names, fmt.Sprintf("m%d", i+1))
	}
	return names
}

func (f *fakeMasters) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fakeMasters) tell(what func()) {
	f.telling.Lock()
	defer f.telling.Unlock()
	what()
}

// holder is whose token a master stores under a key now.
func (f *fakeMasters) holder(master int, key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.masters[master].keys[key]
	if !time.Now().Before(k.ends) {
		return ""
	}
	return k.token
}

// empty says that no master stores anything under the key.
func (f *fakeMasters) empty(key string) bool {
	for i := range f.masters {
		if f.holder(i, key) != "" {
			return false
		}
	}
	return true
}

// forget makes a master lose its keys, as a restart without persistence does.
func (f *fakeMasters) forget(master int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.masters[master].keys)
}

// ttl reads the time to live, in milliseconds, out of a command as it is sent.
func ttl(cmd protocol.Command) time.Duration {
	ms := cmd.TTL
	if n := len(cmd.Args); n > 0 {
		ms = cmd.Args[n-1].(int64)
	}
	return time.Duration(ms) * time.Millisecond
}

// apply carries out a command as Redis would.
func (f *fakeMasters) apply(master int, cmd protocol.Command) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.masters[master]
	now := time.Now()
	k, held := m.keys[cmd.Key]
	if held && !now.Before(k.ends) {
		held = false
		delete(m.keys, cmd.Key)
	}
	mine := held && k.token == cmd.Token
	lives := func() fakeKey {
		return fakeKey{cmd.Token, now.Add(time.Duration(float64(ttl(cmd)) / (1 + m.fast)))}
	}
	switch cmd.Purpose {
	case redlock.Set:
		if held {
			return 0
		}
		m.keys[cmd.Key] = lives()
		if cmd.Script == nil {
			return 1
		}
		m.counters[cmd.Key]++
		return m.counters[cmd.Key]
	case redlock.Extend:
		if !mine {
			return 0
		}
		m.keys[cmd.Key] = lives()
	case redlock.Release:
		if !mine {
			return 0
		}
		delete(m.keys, cmd.Key)
	case redlock.WriteBack:
		if !mine {
			return 0
		}
		m.counters[cmd.Key] = max(m.counters[cmd.Key], cmd.Args[1].(int64))
	default:
		panic("unknown command " + cmd.Purpose)
	}
	return 1
}

func (f *fakeMasters) Begin(observe func(redlock.Vote)) protocol.Conversation {
	return &fakeConversation{masters: f, observe: observe, turn: make([]chan struct{}, len(f.masters)), reached: make([]chan struct{}, len(f.masters))}
}

// fakeConversation keeps both orders that a real one keeps: of sending (the next
// command waits for the vote on the last one) and of arriving.
type fakeConversation struct {
	masters *fakeMasters
	observe func(redlock.Vote)
	turn    []chan struct{}
	reached []chan struct{}
}

func (c *fakeConversation) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[redlock.Vote] {
	return func(yield func(redlock.Vote) bool) {
		f := c.masters
		if to == nil {
			for i := range f.masters {
				to = append(to, i)
			}
		}
		f.mu.Lock()
		if f.closed {
			panic("a command after Close")
		}
		f.mu.Unlock()
		f.tell(func() { f.asked(cmd, to) })
		asked := time.Now()
		votes := make(chan redlock.Vote, len(to))
		for _, i := range to {
			before, done := c.turn[i], make(chan struct{})
			c.turn[i] = done
			arrival, arrived := c.reached[i], make(chan struct{})
			c.reached[i] = arrived
			go func() {
				await(before)
				late := time.Since(asked) > 0 // it had to wait for its turn
				v := c.send(i, cmd, timeout, late, arrival, arrived)
				f.tell(func() { f.voted(v) })
				if c.observe != nil {
					c.observe(v)
				}
				votes <- v
				close(done)
			}()
		}
		for range to {
			select {
			case v := <-votes:
				if !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func await(c chan struct{}) {
	if c != nil {
		<-c
	}
}

// instants are nanoseconds that keep any two things from happening at the same
// instant, so that their order is certain.
var instants = map[redlock.Purpose]time.Duration{redlock.Set: 1, redlock.Extend: 10, redlock.Release: 100, redlock.WriteBack: 1000}

// send has a command travel, and waits for its reply until the timeout.
func (c *fakeConversation) send(i int, cmd protocol.Command, timeout time.Duration, late bool, arrival, arrived chan struct{}) redlock.Vote {
	f := c.masters
	v := redlock.Vote{Master: i, Name: fmt.Sprintf("m%d", i+1), Purpose: cmd.Purpose, Key: cmd.Key, Token: cmd.Token}
	var way fate
	f.tell(func() { way = f.fate(i, cmd) })
	instant := instants[cmd.Purpose] * time.Duration(i+1)
	way.arrives += instant
	reply := make(chan int64, 1)
	refusal := make(chan struct{})
	if way.lost || way.refused {
		go func() {
			await(arrival)
			close(arrived)
		}()
		if way.refused {
			time.AfterFunc(way.arrives, func() { close(refusal) })
		}
	} else {
		go func() {
			time.Sleep(way.arrives) // in a bubble
			await(arrival)
			var n int64
			if way.said != nil {
				n = *way.said
			} else {
				n = f.apply(i, cmd)
			}
			f.tell(func() { f.applied(i, cmd, n, late) })
			close(arrived)
			if !way.mute {
				time.Sleep(way.returns) // in a bubble
				reply <- n
			}
		}()
	}
	start := time.Now()
	select {
	case v.Reply = <-reply:
		v.Yes = v.Reply > 0
	case <-refusal:
		v.Err = fmt.Errorf("%s: %w", v.Name, errRefused)
	case <-time.After(timeout + instant):
		v.Err = fmt.Errorf("%s: %w", v.Name, errSilent)
	}
	v.Took = time.Since(start)
	return v
}

// settle waits until all that is on its way has arrived.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// bubble runs f in virtual time, which stands still while anything runs.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		settle()
	})
}

// open makes a client on fake masters, closed when the test ends.
func open(t *testing.T, m protocol.Masters, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	c, err := redlock.NewWithMasters(m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func pointer(n int64) *int64 { return &n }

// Replies that a master makes up.
var (
	yes = fate{arrives: time.Millisecond, said: pointer(1)}
	no  = fate{arrives: time.Millisecond, said: pointer(0)}

	silent  = fate{lost: true}
	refuses = fate{arrives: time.Millisecond, refused: true}
)
