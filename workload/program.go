package workload

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// program is a process of which several clients are part, as goroutines are of a Go program. They reach
// the masters through the same connections. With ShareLock they use one lock object, otherwise each
// has its own.
type program struct {
	config  *Config
	name    string // of its first client, whose links it has
	env     func(client string) (Env, error)
	clients []*client

	mu     sync.Mutex // not held while a lock is made
	users  int        // clients that have a lock
	shared Env        // of the locks; set while there are users
	hangUp func() error
	lock   Lock // that all of them use; nil: none is made yet
}

// programs divides the clients into two programs if the usages ask for that: c1, c3, … and c2, c4, …
func programs(cfg *Config, env func(client string) (Env, error)) []*program {
	if !slices.ContainsFunc(cfg.Usages, Usage.Shares) {
		return nil
	}
	var all []*program
	for _, first := range Clients(min(2, cfg.Clients)) {
		all = append(all, &program{config: cfg, name: first, env: env})
	}
	return all
}

// open gives a client its lock.
func (p *program) open(c *client) (Lock, error) {
	one := slices.Contains(p.config.Usages, ShareLock)
	p.mu.Lock()
	if p.users == 0 {
		if err := p.connect(); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
	p.users++
	lock := p.lock
	c.env.Masters, c.env.Addrs, c.env.Dial = p.shared.Masters, p.shared.Addrs, p.shared.Dial
	p.mu.Unlock()
	if one && lock != nil {
		return &member{lock, p, true}, nil
	}
	s := c.env
	if one {
		s = p.forAll(s)
	}
	lock, err := p.config.Lock.New(s)
	if err != nil {
		return nil, errors.Join(err, p.leave())
	}
	m := &member{lock, p, false}
	if one {
		p.mu.Lock()
		if p.lock == nil { // otherwise two clients opened it at once, and each keeps its own
			p.lock, m.shared = lock, true
		}
		p.mu.Unlock()
	}
	return m, nil
}

// connect makes the connections. The caller holds p.mu.
func (p *program) connect() (err error) {
	if p.shared, err = p.env(p.name); err != nil {
		return err
	}
	if p.shared.Masters, err = p.shared.masters(); err != nil {
		return err
	}
	p.hangUp = func() error { return nil }
	if m, ok := p.shared.Masters.(io.Closer); ok {
		p.hangUp = m.Close
	}
	if slices.Contains(p.config.Usages, ShareLock) {
		p.shared.Masters = attributing{p.shared.Masters}
	} else {
		p.shared.Masters = kept{p.shared.Masters}
	}
	return nil
}

// forAll is the environment of a lock that all clients use.
func (p *program) forAll(s Env) Env {
	s.Hooks = redlock.Hooks{Vote: func(protocol.Vote) {}} // attributing passes them on
	s.Pass = func(string, string) bool { return true }    // no fault stops single clients
	s.Renewed = func(key string, l Lease) {
		for _, c := range p.clients {
			c.renewed(key, l)
		}
	}
	s.Lost = func(key, token string, cause error, at time.Time) {
		for _, c := range p.clients {
			c.hasLost(key, token, cause, at)
		}
	}
	return s
}

// leave is called when a client closes its lock. The last one hangs up.
func (p *program) leave() error {
	p.mu.Lock()
	p.users--
	last, lock, hangUp := p.users == 0, p.lock, p.hangUp
	if last {
		p.lock = nil
	}
	p.mu.Unlock()
	if !last {
		return nil
	}
	var err error
	if lock != nil {
		err = lock.Close()
	}
	return errors.Join(err, hangUp())
}

// member is a lock of a program, as one of its clients uses it.
type member struct {
	Lock
	program *program
	shared  bool // with others, the last of which closes it
}

func (m *member) Close() (err error) {
	if !m.shared {
		err = m.Lock.Close()
	}
	return errors.Join(err, m.program.leave())
}

// kept are masters that the locks of a program cannot close.
type kept struct{ protocol.Masters }

// attributing are masters through which one lock serves several clients: each vote belongs to the client
// whose call asked for it.
type attributing struct{ protocol.Masters }

// Begin starts a conversation.
func (m attributing) Begin(observe func(protocol.Vote)) protocol.Conversation {
	t := &attributed{askers: map[question]*client{}}
	t.Conversation = m.Masters.Begin(func(v protocol.Vote) {
		if c := t.asker(v); c != nil {
			c.env.Hooks.Vote(v)
		}
		if observe != nil {
			observe(v)
		}
	})
	return t
}

// attributed is a conversation that knows which client asks.
type attributed struct {
	protocol.Conversation
	mu     sync.Mutex // not held while waiting
	first  *client    // that began it
	askers map[question]*client
}

type question struct {
	kind  protocol.Kind
	token string
}

// Ask notes who asks.
func (t *attributed) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	if c, ok := ctx.Value(callerKey{}).(*client); ok {
		t.mu.Lock()
		t.askers[question{cmd.Kind, cmd.Token}] = c
		if t.first == nil {
			t.first = c
		}
		t.mu.Unlock()
	}
	return t.Conversation.Ask(ctx, cmd, to, timeout)
}

// asker is the client that asked for a vote. What the lock does in the background it does for the client that
// began the conversation.
func (t *attributed) asker(v protocol.Vote) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.askers[question{v.Kind, v.Token}]; c != nil {
		return c
	}
	return t.first
}

// callerKey is the key of the client in the context of a call of a lock that several clients use.
type callerKey struct{}

// calling is the context of a call of the client's lock.
func (c *client) calling(ctx context.Context) context.Context {
	if c.program == nil {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, c)
}
