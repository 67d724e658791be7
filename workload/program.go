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

// program is a process that several clients share, like the goroutines of a Go program. They reach the
// masters through the same connections. With ShareLock they use one lock object, otherwise each client has
// its own.
type program struct {
	config  *Config
	name    string // name of its first client, whose links it uses
	env     func(client string) (Env, error)
	clients []*client

	mu  sync.Mutex   // not held while a lock of this program is made
	now *programLife // nil: it does not run
}

// programLife is the state of a program from its start to its end.
type programLife struct {
	users   int // number of clients that have a lock
	masters Env // the masters, as the locks reach them
	hangUp  func() error
	lock    Lock // the lock that all clients use; nil: it is not made yet
	host    Host // the process with the locks; nil: the clients are part of this program
}

// Host is a process that serves several clients.
type Host interface {
	Process
	// For returns the lock of a client. Its calls use the lock object with that name.
	For(s Env, object string) Lock
	Gone() bool
	LastWords() string
	Close() error
}

// programs divides the clients into two programs if the usages require that: c1, c3, … and c2, c4, …
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

func (p *program) oneLock() bool { return slices.Contains(p.config.Usages, ShareLock) }

// open gives a client its lock.
func (p *program) open(c *client) (Lock, error) {
	l, err := p.live(c)
	if err != nil {
		return nil, err
	}
	m := &member{program: p, life: l}
	if l.host != nil {
		object := c.name
		if p.oneLock() {
			object = p.name
		}
		m.Lock, m.shared = l.host.For(c.env, object), true
		return hosted{m, l.host}, nil
	}
	if m.Lock, m.shared = p.existing(l); m.shared {
		return m, nil
	}
	s := c.env
	if p.oneLock() {
		s = p.forAll(s)
	}
	if m.Lock, err = p.config.Lock.New(s); err != nil {
		return nil, errors.Join(err, p.leave(l))
	}
	if p.oneLock() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.lock == nil { // otherwise two clients opened it at once, and each keeps its own
			l.lock, m.shared = m.Lock, true
		}
	}
	return m, nil
}

// live adds a client to the users of the program, and starts it if it does not run.
func (p *program) live(c *client) (*programLife, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil || p.now.host != nil && p.now.host.Gone() {
		l, err := p.start(c.env)
		if err != nil {
			return nil, err
		}
		p.now = l
	}
	p.now.users++
	c.env.Masters, c.env.Addrs, c.env.Dial, c.env.Access = p.now.masters.Masters, p.now.masters.Addrs, p.now.masters.Dial, p.now.masters.Access
	return p.now, nil
}

// start connects to the masters, or starts the process with the locks.
func (p *program) start(like Env) (*programLife, error) {
	s, err := p.env(p.name)
	if err != nil {
		return nil, err
	}
	if p.config.Processes {
		all := p.forAll(like)
		all.Client, all.Addrs, all.Dial, all.Access, all.Env, all.Observe = p.name, s.Addrs, s.Dial, s.Access, s.Env, s.Observe
		lock, err := p.config.Lock.New(all)
		if err != nil {
			return nil, err
		}
		host, ok := lock.(Host)
		if !ok {
			return nil, errors.Join(errors.New("its process serves one client alone"), lock.Close())
		}
		return &programLife{masters: s, host: host, hangUp: host.Close}, nil
	}
	if s.Masters, err = s.masters(); err != nil {
		return nil, err
	}
	l := &programLife{masters: s, hangUp: func() error { return nil }}
	if m, ok := s.Masters.(io.Closer); ok {
		l.hangUp = m.Close
	}
	if l.masters.Masters = (kept{s.Masters}); p.oneLock() {
		l.masters.Masters = attributing{s.Masters}
	}
	return l, nil
}

// existing returns the lock that all clients use, if it exists already.
func (p *program) existing(l *programLife) (Lock, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.lock, l.lock != nil
}

// forAll returns the environment of a lock, or of a process, that all clients use.
func (p *program) forAll(s Env) Env {
	s.Hooks = redlock.Hooks{Vote: func(protocol.Vote) {}} // attributing passes the votes on
	s.Pass = func(string, string) bool { return true }    // no fault stops a single client
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

// leave is called when a client has closed its lock. The last client closes the connections.
func (p *program) leave(l *programLife) error {
	p.mu.Lock()
	l.users--
	last := l.users == 0
	if last && p.now == l {
		p.now = nil
	}
	lock := l.lock
	p.mu.Unlock()
	if !last {
		return nil
	}
	var err error
	if lock != nil {
		err = lock.Close()
	}
	return errors.Join(err, l.hangUp())
}

// member is a lock of a program, as one of its clients uses it.
type member struct {
	Lock
	program *program
	life    *programLife
	shared  bool // other clients use the lock, too, and the last one closes it
}

// AcquireShare acquires a part of the lock.
func (m *member) AcquireShare(ctx context.Context, key string, share Share) (Lease, error) {
	return AcquireShare(ctx, m.Lock, key, share)
}

// AcquireAll acquires several keys.
func (m *member) AcquireAll(ctx context.Context, keys []string) (Lease, error) {
	return m.Lock.(MultiLock).AcquireAll(ctx, keys)
}

func (m *member) Close() (err error) {
	if !m.shared {
		err = m.Lock.Close()
	}
	return errors.Join(err, m.program.leave(m.life))
}

// Kill ends the lock of a client that has crashed, if the lock can be ended so and no other client uses it.
func (m *member) Kill() {
	if l, ok := m.Lock.(interface{ Kill() }); ok && !m.shared {
		l.Kill()
	}
}

// hosted is a lock in a process that serves several clients.
type hosted struct {
	*member
	Process
}

// Kill ends the process.
func (h hosted) Kill() { h.Process.Kill() }

func (h hosted) LastWords() string { return h.life.host.LastWords() }

// kept are masters that the locks of a program cannot close.
type kept struct{ protocol.Masters }

// attributing are masters through which one lock serves several clients: each vote belongs to the client
// whose call sent the command.
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

// attributed is a conversation that records which client sends each command.
type attributed struct {
	protocol.Conversation
	mu     sync.Mutex // not held while waiting
	first  *client    // the client that began it
	askers map[question]*client
}

type question struct {
	purpose protocol.Purpose
	token   string
}

// Ask records the client whose call sends the command, and sends it.
func (t *attributed) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	if c, ok := ctx.Value(callerKey{}).(*client); ok {
		t.mu.Lock()
		t.askers[question{cmd.Purpose, cmd.Token}] = c
		if t.first == nil {
			t.first = c
		}
		t.mu.Unlock()
	}
	return t.Conversation.Ask(ctx, cmd, to, timeout)
}

// asker returns the client that sent the command of a vote. Commands that the lock sends in the background
// belong to the client that began the conversation.
func (t *attributed) asker(v protocol.Vote) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.askers[question{v.Purpose, v.Token}]; c != nil {
		return c
	}
	return t.first
}

// callerKey is the key of the client in the context of a call of a lock that several clients use.
type callerKey struct{}

// calling returns the context for a call of the client's lock.
func (c *client) calling(ctx context.Context) context.Context {
	if c.program == nil {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, c)
}
