package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// Account follows one master through the runs of its servers. Its methods are safe for concurrent use.
type Account struct {
	group *group // used by one goroutine at a time: keep

	attaching sync.Mutex // held while the followed server changes
	tried     bool       // the order of events and lines was checked; used by keep

	mu   sync.Mutex
	end  context.CancelFunc // ends keep; nil: no server is followed
	done chan struct{}      // closed when keep has ended
	now  *session           // nil: there is no connection
}

// New makes an account. deliver is called with each step, one after the other.
func New(deliver func(cluster.Executed)) *Account {
	a := &Account{}
	a.group = newGroup(deliver, a.unsure)
	return a
}

// ErrDetached says that the account follows no server at the moment.
var ErrDetached = errors.New("the account of the master is not connected to it")

// Attach makes the account follow a run of a server, from now on, instead of the one before. The
// steps that lead from what the account knew to what the server stores are delivered before it
// returns. An error says that the server can give no account, or not yet: after the first time,
// the account continues to try until the server has ended.
func (a *Account) Attach(ctx context.Context, server Server) error {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.detach()
	life, end := context.WithCancel(context.Background())
	first, done := make(chan error, 1), make(chan struct{})
	a.mu.Lock()
	a.end, a.done = end, done
	a.mu.Unlock()
	go func() {
		defer close(done)
		a.keep(life, server, first)
	}()
	select {
	case err := <-first:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Detach ends the account of the server that is followed now. Steps that have not arrived are lost.
func (a *Account) Detach() {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.detach()
}

func (a *Account) detach() {
	a.mu.Lock()
	end, done := a.end, a.done
	a.end = nil
	a.mu.Unlock()
	if end != nil {
		end()
		<-done
	}
}

// Settled returns when everything that the master had executed before the call was delivered. It
// returns an error if the connection breaks, or ctx ends before, for example because the master is
// paused.
func (a *Account) Settled(ctx context.Context) error {
	a.mu.Lock()
	s := a.now
	a.mu.Unlock()
	if s == nil {
		return ErrDetached
	}
	return s.settled(ctx, func() {})
}

// Fork ends the account of the server that is followed now: another server takes its place, which the
// result follows after an Attach. The server lives on for some clients, and the account goes on with
// what they do there, as steps that are apart. If the server does not answer until ctx ends, because it
// is paused, the account does not go on.
func (a *Account) Fork(ctx context.Context) *Account {
	var next *Account
	fork := func() {
		next = New(a.group.sink)
		next.tried = true
		next.group.keys.all = maps.Clone(a.group.keys.all)
		a.group.sink = func(x cluster.Executed) {
			x.Apart = true
			next.group.sink(x)
		}
	}
	a.mu.Lock()
	s := a.now
	a.mu.Unlock()
	if s == nil || s.settled(ctx, fork) != nil {
		a.Detach()
		if next == nil {
			fork()
		}
	}
	return next
}

// Refresh asks for a snapshot, which corrects the deadlines of keys: the server was paused, perhaps
// while it executed a command, so that the time of the command's line is too late.
func (a *Account) Refresh() { a.unsure("") }

// unsure asks for a snapshot.
func (a *Account) unsure(string) {
	a.mu.Lock()
	s := a.now
	a.mu.Unlock()
	if s != nil {
		notify(s.wanted)
	}
}

const (
	retryAfter    = 20 * time.Millisecond  // between tries to connect
	snapshotAfter = 100 * time.Millisecond // between snapshots
	refusedAfter  = time.Second            // after a snapshot that the server has refused
	flushAfter    = 5 * time.Millisecond   // until a marker shows that a script has ended
)

// keep follows a server until it has ended, and connects again if the connection breaks. first gets
// the result of the first connection.
func (a *Account) keep(life context.Context, server Server, first chan<- error) {
	report := func(err error) {
		select {
		case first <- err:
		default:
		}
	}
	for gap := "the server was started again, or another one took its place"; ; gap = "the connection to the server broke" {
		t, err := connect(life, server, !a.tried)
		if err == nil {
			if a.tried {
				a.group.begin(gap)
			}
			a.tried = true
			err = a.run(life, t, report)
		}
		report(fmt.Errorf("no account: %w", err))
		if !a.tried {
			return
		}
		select {
		case <-life.Done():
			return
		case <-server.Ended:
			return
		case <-time.After(retryAfter):
		}
	}
}

// session is one connection to a server.
type session struct {
	*tapped
	values *queue
	name   string        // begins the markers and stamps of this session
	wanted chan struct{} // a snapshot is wanted
	over   chan struct{} // closed when the session has ended

	mu        sync.Mutex
	marks     int64               // number of markers sent
	waiting   map[int64]func()    // called when a marker has come
	snapshots map[string]snapshot // by stamp
	taken     chan struct{}       // a snapshot was added
}

// run processes what the server sends until the connection breaks.
func (a *Account) run(life context.Context, t *tapped, report func(error)) error {
	s := &session{
		tapped: t, values: newQueue(), name: probePrefix + strconv.FormatInt(time.Now().UnixNano(), 36) + ":",
		wanted: make(chan struct{}, 1), over: make(chan struct{}),
		waiting: map[int64]func(){}, snapshots: map[string]snapshot{}, taken: make(chan struct{}, 1),
	}
	clear(a.group.own)
	for _, addr := range t.own {
		a.group.own[addr] = true
	}
	defer context.AfterFunc(life, t.close)()
	var helpers sync.WaitGroup
	helpers.Go(func() { s.values.fill(t.stream.reader, s.over) })
	helpers.Go(s.takeSnapshots)
	notify(s.wanted) // the first one
	a.mu.Lock()
	a.now = s
	a.mu.Unlock()
	err := a.process(s, report)
	a.mu.Lock()
	a.now = nil
	a.mu.Unlock()
	close(s.over)
	t.close()
	helpers.Wait()
	a.group.pause(time.Now())
	return err
}

// process handles the values in their order.
func (a *Account) process(s *session, report func(error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	marked := false
	for {
		all, err := s.values.take()
		for _, v := range all {
			if a.handle(s, v, report) {
				marked = false
			}
		}
		if len(all) > 0 {
			continue
		}
		if err != nil {
			return err
		}
		var late <-chan time.Time
		if a.group.pending() && !marked {
			timer.Reset(flushAfter)
			late = timer.C
		}
		select {
		case <-s.values.more:
		case <-late:
			marked = true
			s.mark(nil)
		}
	}
}

// handle handles one value. It reports whether it was the reply to a marker.
func (a *Account) handle(s *session, v value, report func(error)) (marker bool) {
	if e, ok := v.event(); ok {
		a.group.event(e, v.at)
		return false
	}
	if v.kind == '-' { // to a marker, for example because a script has run for too long
		return true
	}
	if v.kind == '$' {
		if number, ok := strings.CutPrefix(string(v.text), s.name); ok {
			a.group.pause(v.at)
			n, _ := strconv.ParseInt(number, 10, 64)
			s.reached(n)
			return true
		}
	}
	if !v.isLine() {
		return false
	}
	l, err := resp.ParseMonitor(v.text)
	if err != nil || v.cut {
		a.group.pause(v.at)
		a.unsure("a line of MONITOR cannot be read")
		return false
	}
	a.group.line(l, v.at)
	if len(l.Args) > 3 && strings.HasPrefix(l.Args[3], s.name) {
		found, err := s.snapshot(l.Args[3])
		if err == nil {
			a.group.compare(found, v.at)
		} else {
			err = fmt.Errorf("no account: read all keys: %w", err)
		}
		report(err)
	}
	return false
}

// mark sends a marker; reached, unless it is nil, is called when everything before it was delivered.
func (s *session) mark(reached func()) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks++
	if reached != nil {
		s.waiting[s.marks] = reached
	}
	// A server that does not read, because it is paused, must not block this.
	s.stream.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(s.stream, resp.Encode("ECHO", s.name+strconv.FormatInt(s.marks, 10))); err != nil {
		s.stream.Close()
	}
	return s.marks
}

func (s *session) reached(n int64) {
	s.mu.Lock()
	f := s.waiting[n]
	delete(s.waiting, n)
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// settled waits until everything that the server has executed so far was delivered, and f was called
// after that.
func (s *session) settled(ctx context.Context, f func()) error {
	done := make(chan struct{})
	n := s.mark(func() {
		f()
		close(done)
	})
	select {
	case <-done:
		return nil
	case <-s.over:
		return ErrDetached
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, n)
		return context.Cause(ctx)
	}
}

// takeSnapshots takes the snapshots that are wanted.
func (s *session) takeSnapshots() {
	for n := 1; ; n++ {
		select {
		case <-s.wanted:
		case <-s.over:
			return
		}
		stamp := s.name + "s" + strconv.Itoa(n)
		var found snapshot
		if found.err = enableEvents(s.control); found.err == nil {
			var v value
			if v, found.err = s.control.do(snapshotCommand(stamp)...); found.err == nil {
				found = parseSnapshot(v)
			}
		}
		s.mu.Lock()
		s.snapshots[stamp] = found
		s.mu.Unlock()
		notify(s.taken)
		if found.err != nil && !errors.As(found.err, new(refusal)) && !errors.Is(found.err, errSnapshot) {
			s.stream.Close() // without the other connection there are no snapshots
			return
		}
		pause := snapshotAfter
		if found.err != nil {
			notify(s.wanted)
			pause = refusedAfter
		}
		select {
		case <-time.After(pause):
		case <-s.over:
			return
		}
	}
}

// snapshot returns the snapshot whose line has come.
func (s *session) snapshot(stamp string) (snapshot, error) {
	for {
		s.mu.Lock()
		found, ok := s.snapshots[stamp]
		delete(s.snapshots, stamp)
		s.mu.Unlock()
		if ok {
			return found, found.err
		}
		<-s.taken
	}
}
