package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/shadow"
)

// Engine runs the process of one server for a driver. master calls the methods one at a time,
// and only in states in which they make sense.
type Engine interface {
	// Launch starts the server. exited is closed when the server has ended, whatever the cause.
	Launch(ctx context.Context) (exited <-chan struct{}, err error)
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Kill(ctx context.Context) error      // SIGKILL; a paused server must not execute anything before it ends
	Terminate(ctx context.Context) error // SIGTERM
	// Owns reports whether the server that answers on the master's port is this one.
	Owns(ServerInfo) bool
	// Complaint returns output of the server that is not in its log.
	Complaint() string
	// Remove ends the server and removes everything of it except the log.
	Remove() error
}

const (
	readyWithin = 20 * time.Second // from a start until the server answers PING
	EndWithin   = 20 * time.Second // from a signal to the end of the process
	portWithin  = 3 * time.Second  // time in which a start on a taken port is retried
)

// server is one redis-server of a driver: a process or a container with its own address, data,
// log and state. Its master executes calls one after the other.
type server struct {
	Site
	addr   string
	dial   cluster.Dialer
	engine Engine
	log    serverLog
	shared *sharedMemory    // nil without the shim
	feed   *cluster.TCPLink // the link through which it replicates; nil without replicas
	starts int

	mu     sync.Mutex
	exited <-chan struct{} // of the last start; nil before the first
	ready  bool            // the server has answered since the last start
	paused bool
	client *redis.Client // for requests of the harness; a new one for each start
	info   ServerInfo
	deaths deaths
}

func newServer(s Site, e Engine, log serverLog, p *sharedMemory, dial cluster.Dialer) *server {
	return &server{Site: s, dial: dial, addr: address(s.Port), engine: e, log: log, shared: p}
}

func (s *server) State() cluster.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.ready || ended(s.exited):
		return cluster.Down
	case s.paused:
		return cluster.Paused
	}
	return cluster.Up
}

// inspection returns the client for requests of the harness to the server; nil while the server is
// down.
func (s *server) inspection() *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *server) pause(ctx context.Context) error {
	if err := s.engine.Pause(ctx); err != nil {
		return err
	}
	s.setPaused(true)
	return nil
}

func (s *server) resume(ctx context.Context) error {
	if err := s.engine.Resume(ctx); err != nil {
		return err
	}
	s.setPaused(false)
	return nil
}

func (s *server) setPaused(p bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = p
}

// kill ends the server with SIGKILL; why is written to its log.
func (s *server) kill(ctx context.Context, why string) error {
	s.log.mark("%s %s", why, s.Name)
	spared := s.expectEnd()
	if err := s.engine.Kill(ctx); err != nil {
		spared()
		return err
	}
	return s.awaitEnd(ctx, "SIGKILL")
}

func (s *server) awaitEnd(ctx context.Context, signal string) error {
	timer := time.NewTimer(EndWithin)
	defer timer.Stop()
	select {
	case <-s.exited:
		s.settle()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sent %s, and then did not wait for its end: %w", signal, context.Cause(ctx))
	case <-timer.C:
		return fmt.Errorf("it still runs %v after %s (it may fail to save its data); its log ends:\n%s", EndWithin, signal, s.log.tail())
	}
}

// settle records that the process has ended.
func (s *server) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.paused = false, false
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// start launches the server and waits until it answers. After that it is either up or down.
func (s *server) start(ctx context.Context) error {
	s.settle() // the server may have ended by itself
	s.starts++
	if s.shared != nil {
		if err := s.shared.prepare(s.data()); err != nil {
			return err
		}
	}
	from := s.log.mark("start %d of %s on %s", s.starts, s.Name, s.addr)
	exited, err := s.engine.Launch(ctx)
	if err != nil {
		return s.failed(from, err)
	}
	s.mu.Lock()
	s.exited = exited
	s.mu.Unlock()
	info, err := s.awaitReady(ctx, exited)
	if err == nil && s.shared != nil && s.starts > 1 { // at the first start the cluster reports it
		err = s.shared.proof()
	}
	if err != nil {
		// A process that still runs could answer later, when it counts as down.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), EndWithin)
		defer cancel()
		if kerr := s.engine.Kill(end); kerr != nil {
			err = errors.Join(err, kerr)
		} else {
			select {
			case <-exited:
			case <-end.Done():
			}
		}
		return s.failed(from, err)
	}
	s.mu.Lock()
	s.ready, s.info, s.client = true, info, newInspectionClient(s.addr, s.Password, shadow.OwnName, s.dial)
	l := new(life)
	s.deaths.process = l
	s.mu.Unlock()
	go s.watchForEnd(l, exited)
	return nil
}

// failed returns the error of a start that failed, with the output of the server.
func (s *server) failed(from int64, err error) error {
	if said := s.engine.Complaint(); said != "" {
		s.log.write(said)
	}
	if len(s.Users) > 0 && strings.Contains(s.log.tail(), "ACL") {
		err = fmt.Errorf("%w (users and their rules are those of --acl, or of acl in the scenario)", err)
	} else if s.ClientUser != "" && strings.Contains(s.log.tail(), "CONFIG FILE ERROR") {
		err = fmt.Errorf("%w (a server before Redis 7.0 cannot refuse commands as its settings ask: --admin, or admin: true in the scenario, does without)", err)
	}
	if s.log.takenPort(from) {
		err = fmt.Errorf("%w: %w", ErrPortTaken, err)
	}
	if errors.Is(err, cluster.ErrClosed) || errors.Is(err, context.Canceled) {
		return err // the start was cancelled, and the log would only mislead
	}
	return fmt.Errorf("%w; its log (%s) ends:\n%s", err, s.log.path, s.log.tail())
}

// awaitReady polls until the server answers PING.
func (s *server) awaitReady(ctx context.Context, exited <-chan struct{}) (ServerInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("it does not answer PING on %s within %v", s.addr, readyWithin))
	defer cancel()
	go func() { // a probe of a server that has ended must not wait for its timeout
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	pause := time.Millisecond
	var last error
	for {
		try, done := context.WithTimeout(ctx, time.Second)
		info, err := probe(try, s.dial, s.addr, s.Password)
		done()
		switch {
		case ended(exited):
			return ServerInfo{}, errors.New("the server ended before it answered PING")
		case errors.Is(err, errOtherPassword), errors.Is(err, cluster.ErrStranger):
			return ServerInfo{}, fmt.Errorf("%w: %s is answered by another server: %w", ErrPortTaken, s.addr, err)
		case err == nil && s.engine.Owns(info):
			return info, nil
		case err == nil:
			return ServerInfo{}, fmt.Errorf("%w: %s is answered by another server (pid %d)", ErrPortTaken, s.addr, info.Pid)
		case ctx.Err() == nil:
			last = err
		}
		if !Sleep(ctx, pause) {
			if ended(exited) {
				return ServerInfo{}, errors.New("the server ended before it answered PING")
			}
			if err := context.Cause(ctx); last == nil {
				return ServerInfo{}, err
			}
			return ServerInfo{}, fmt.Errorf("%w (last try: %v)", context.Cause(ctx), last)
		}
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// Sleep waits for d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// remove ends the server permanently.
func (s *server) remove() error {
	s.expectEnd()
	err := s.engine.Remove()
	s.settle()
	if s.feed != nil {
		s.feed.Close()
	}
	if s.shared != nil {
		s.shared.close()
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", s.Name, err)
	}
	return nil
}
