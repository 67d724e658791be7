package process

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"lockpick/cluster"
	"lockpick/cluster/shadow"
)

// account is a master's account of what it does to its keys, if somebody wants one.
type account struct {
	shadow   atomic.Pointer[shadow.Account]  // nil: nobody wants it
	apart    *shadow.Account                 // of a primary that lives on for some clients; nil: there is none
	attached atomic.Pointer[<-chan struct{}] // the run of the server that clients may reach: its end
}

const (
	attachWithin = 5 * time.Second        // until the account follows a server that was started
	leaveWithin  = 200 * time.Millisecond // for what a server executed before another one takes its place
)

func (g *group) Account(f func(master int, x cluster.Executed)) error {
	starts, ctx := errgroup.WithContext(g.life)
	for i, m := range g.masters {
		starts.Go(func() error {
			return m.act(ctx, "get an account of", func(ctx context.Context) error {
				s := m.now()
				var one sync.Mutex // a primary that lives on has an account, too
				m.account.shadow.Store(shadow.New(func(x cluster.Executed) {
					one.Lock()
					defer one.Unlock()
					f(i, x)
				}))
				return m.account.attach(ctx, s)
			})
		})
	}
	return starts.Wait()
}

// Settled returns when everything that the master had executed before the call was delivered to the
// function given to Account. It returns an error if the master is down or paused, or ctx ends before.
func (g *group) Settled(ctx context.Context, master int) error {
	m := g.masters[master]
	err := shadow.ErrDetached
	switch a := m.account.shadow.Load(); {
	case m.State() == cluster.Down:
		err = cluster.ErrDown
	case m.State() == cluster.Paused:
		err = cluster.ErrPaused
	case a != nil:
		err = a.Settled(ctx)
	}
	if err != nil {
		return fmt.Errorf("settle the account of %s: %w", m.name, err)
	}
	return nil
}

// accounts reports whether the server at an address gives an account of the master: it is the current
// primary, or lives on for some clients.
func (m *master) accounts(server string) bool {
	if m.account.shadow.Load() == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.primary.addr == server || m.apart != nil && m.apart.addr == server
}

// attach makes the account follow a server that has just been started or promoted. Clients do not reach
// the server before that, so that the account misses nothing that they do.
func (a *account) attach(ctx context.Context, s *server) error {
	s.mu.Lock()
	ended := s.exited
	s.mu.Unlock()
	defer a.attached.Store(&ended)
	followed := a.shadow.Load()
	if followed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, attachWithin, fmt.Errorf("no account of %s within %v", s.Name, attachWithin))
	defer cancel()
	return followed.Attach(ctx, shadow.Server{Addr: s.addr, Dial: s.dial, Password: s.Password, Ended: ended})
}

// leave is called when the primary lives on for some clients only.
func (a *account) leave(ctx context.Context) {
	followed := a.shadow.Load()
	if followed == nil {
		return
	}
	a.join()
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	a.apart = followed
	a.shadow.Store(followed.Fork(ctx))
}

// join is called when no server lives on any more.
func (a *account) join() {
	if a.apart != nil {
		a.apart.Detach()
		a.apart = nil
	}
}

// admits reports whether clients may reach the current run of the server.
func (a *account) admits(s *server) bool {
	if a.shadow.Load() == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := a.attached.Load()
	return run != nil && *run == s.exited
}

// refresh is called when the server goes on after a pause.
func (a *account) refresh() {
	if followed := a.shadow.Load(); followed != nil {
		followed.Refresh()
	}
}

func (a *account) close() {
	a.join()
	if followed := a.shadow.Load(); followed != nil {
		followed.Detach()
	}
}
