package workload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/redlock/protocol"
)

var errSilent = errors.New("no reply")

// masters keep keys in memory, as protocol.Masters do, and expire them by the
// runtime's clock.
type masters struct {
	runtime protocol.Runtime
	latency time.Duration
	mu      sync.Mutex
	all     []*master
	closed  atomic.Int64
}

type master struct {
	silent   bool
	keys     map[string]stored
	counters map[string]int64
}

type stored struct {
	token string
	until time.Time
}

func newMasters(n int) *masters {
	m := &masters{runtime: protocol.RealTime{}, latency: time.Millisecond}
	for range n {
		m.all = append(m.all, &master{keys: map[string]stored{}, counters: map[string]int64{}})
	}
	return m
}

func (m *masters) Names() []string {
	var names []string
	for i := range m.all {
		names = append(names, fmt.Sprintf("host%d:6379", i+1))
	}
	return names
}

func (m *masters) Close() error {
	m.closed.Add(1)
	return nil
}

func (m *masters) Begin(observe func(protocol.Vote)) protocol.Conversation {
	return conversation{m, observe}
}

// silence makes the masters answer nothing, or answer again.
func (m *masters) silence(silent bool, which ...int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range which {
		m.all[i].silent = silent
	}
}

type conversation struct {
	m       *masters
	observe func(protocol.Vote)
}

// Ask takes one latency for all votes.
func (c conversation) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	return func(yield func(protocol.Vote) bool) {
		if to == nil {
			for i := range c.m.all {
				to = append(to, i)
			}
		}
		_ = c.m.runtime.Sleep(context.WithoutCancel(ctx), c.m.latency)
		more := ctx.Err() == nil
		for _, i := range to {
			v := protocol.Vote{Master: i, Name: c.m.Names()[i], Purpose: cmd.Purpose, Key: cmd.Key, Token: cmd.Token, Took: c.m.latency}
			v.Reply, v.Err = c.m.do(i, cmd)
			v.Yes = v.Err == nil && v.Reply > 0
			if c.observe != nil {
				c.observe(v)
			}
			more = more && yield(v)
		}
	}
}

func (m *masters) do(i int, cmd protocol.Command) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, now := m.all[i], m.runtime.Now()
	if x.silent {
		return 0, errSilent
	}
	if s, ok := x.keys[cmd.Key]; ok && !now.Before(s.until) {
		delete(x.keys, cmd.Key)
	}
	s, taken := x.keys[cmd.Key]
	ours := taken && s.token == cmd.Token
	ttl := func() time.Time {
		ms := cmd.TTL
		if n := len(cmd.Args); n > 0 {
			ms = cmd.Args[n-1].(int64)
		}
		return now.Add(time.Duration(ms) * time.Millisecond)
	}
	switch {
	case cmd.Purpose == protocol.Set && !taken:
		x.keys[cmd.Key] = stored{cmd.Token, ttl()}
		if cmd.Script == nil {
			return 1, nil
		}
		x.counters[cmd.Key]++
		return x.counters[cmd.Key], nil
	case cmd.Purpose == protocol.Extend && ours:
		x.keys[cmd.Key] = stored{cmd.Token, ttl()}
		return 1, nil
	case cmd.Purpose == protocol.Release && ours:
		delete(x.keys, cmd.Key)
		return 1, nil
	case cmd.Purpose == protocol.WriteBack && ours:
		x.counters[cmd.Key] = max(x.counters[cmd.Key], cmd.Args[1].(int64))
		return 1, nil
	}
	return 0, nil
}
