package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockpick/cluster"
)

// ErrPortTaken says that a server could not listen because another program uses the port.
var ErrPortTaken = errors.New("the port is taken")

// master consists of a server of a driver and its replicas, if it has any. It executes calls
// one after the other, and knows which of the servers is the current primary.
type master struct {
	name      string
	life      context.Context // ends when the cluster is closed
	turn      chan struct{}   // contains a token while a call is executed
	unshimmed error           // the reason why the faults of the shim are not available; nil if they are

	fill int  // number of fillers written so far
	held bool // replication is held

	links func() map[string]*cluster.TCPLink // returns the links to the master, by client

	account account

	mu       sync.Mutex
	primary  *server
	standby  []*server // replicas, and primaries that were killed
	electing bool      // the primary is gone, and no replica has been promoted
	apart    *server   // in standby: a primary that lives on for some clients; nil: none
	apartFor []string  // the clients that still reach apart
}

func newMaster(life context.Context, s *server) *master {
	return &master{name: s.Name, life: life, turn: make(chan struct{}, 1), primary: s}
}

func (m *master) Name() string { return m.name }

// now returns the current primary.
func (m *master) now() *server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.primary
}

// servers returns all servers of the master, the primary first.
func (m *master) servers() []*server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*server{m.primary}, m.standby...)
}

func (m *master) State() cluster.State {
	m.mu.Lock()
	electing, s := m.electing, m.primary
	m.mu.Unlock()
	if electing {
		return cluster.Down
	}
	return s.State()
}

// enter waits until the earlier calls have ended. The context that it returns also ends when
// the cluster is closed.
func (m *master) enter(ctx context.Context) (context.Context, func(), error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-m.life.Done():
		return nil, nil, cluster.ErrClosed
	}
	if m.life.Err() != nil {
		<-m.turn
		return nil, nil, cluster.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.life, func() { cancel(cluster.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		<-m.turn
	}, nil
}

// act executes one call on the master. what names the call in errors.
func (m *master) act(ctx context.Context, what string, f func(context.Context) error) error {
	ctx, leave, err := m.enter(ctx)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, m.name, err)
	}
	defer leave()
	if err := f(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", what, m.name, err)
	}
	return nil
}

func (m *master) Pause(ctx context.Context) error {
	return m.act(ctx, "pause", func(ctx context.Context) error {
		switch m.State() {
		case cluster.Down:
			return cluster.ErrDown
		case cluster.Paused:
			return nil
		}
		return m.now().pause(ctx)
	})
}

func (m *master) Resume(ctx context.Context) error {
	return m.act(ctx, "resume", func(ctx context.Context) error {
		switch m.State() {
		case cluster.Down:
			return cluster.ErrDown
		case cluster.Up:
			return nil
		}
		defer m.account.refresh()
		return m.now().resume(ctx)
	})
}

func (m *master) Kill(ctx context.Context) error {
	return m.act(ctx, "kill", func(ctx context.Context) error {
		if m.State() == cluster.Down {
			return nil
		}
		return m.now().kill(ctx, "kill")
	})
}

func (m *master) Shutdown(ctx context.Context) error {
	return m.act(ctx, "shut down", func(ctx context.Context) error {
		s := m.now()
		switch s.State() {
		case cluster.Down:
			return nil
		case cluster.Paused: // a stopped process handles no signal
			if err := s.resume(ctx); err != nil {
				return err
			}
		}
		s.log.mark("shut down %s", s.Name)
		spared := s.expectEnd()
		if err := s.engine.Terminate(ctx); err != nil {
			spared()
			return err
		}
		return s.awaitEnd(ctx, "SIGTERM")
	})
}

func (m *master) Start(ctx context.Context) error {
	return m.act(ctx, "start", func(ctx context.Context) error {
		switch m.State() {
		case cluster.Paused:
			return cluster.ErrPaused
		case cluster.Down:
			if err := restart(ctx, m.now()); err != nil {
				return err
			}
			m.account.attach(ctx, m.now())
		}
		return m.rejoin(ctx)
	})
}

// restart starts a server on its port. It retries, because another program may have used the
// port for a moment while the server was down.
func restart(ctx context.Context, s *server) error {
	for began := time.Now(); ; {
		err := s.start(ctx)
		if !errors.Is(err, ErrPortTaken) || time.Since(began) > portWithin {
			return err
		}
		if !Sleep(ctx, 50*time.Millisecond) {
			return err
		}
	}
}

// Inspect does not wait for other calls: it asks a master that is up, and fails immediately if
// it is not.
func (m *master) Inspect(ctx context.Context, keys []string) (cluster.Snapshot, error) {
	s := m.now()
	client := s.inspection()
	switch state := m.State(); {
	case state == cluster.Paused:
		return cluster.Snapshot{}, fmt.Errorf("look at %s: %w", m.name, cluster.ErrPaused)
	case state == cluster.Down || client == nil:
		return cluster.Snapshot{}, fmt.Errorf("look at %s: %w", m.name, cluster.ErrDown)
	}
	found, err := Snapshot(ctx, client, keys)
	if err != nil {
		return cluster.Snapshot{}, fmt.Errorf("look at %s: %w", m.name, err)
	}
	s.identify(found.RunID)
	if s.shared != nil {
		found.Disk = s.shared.counts()
	}
	return found, nil
}

// remove ends the master permanently. The context of the cluster has ended before.
func (m *master) remove() error {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.account.close()
	var errs []error
	for _, s := range m.servers() {
		errs = append(errs, s.remove())
	}
	return errors.Join(errs...)
}
