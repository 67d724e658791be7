package remote

import (
	"errors"
	"sync"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/workload"
)

// sharers are the clients of a process, and the votes that were recorded for each.
type sharers struct {
	*Client
	mu    sync.Mutex
	votes map[string]string // clients, by token and command
}

func (s *sharers) named(name, object string) workload.Lock {
	return s.For(workload.Env{Client: name, AcquireTimeout: time.Second, Record: func(op history.Op, _ time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.votes[op.Value.Token+" "+op.Value.Command] = op.Value.Client
	}}, object)
}

func (s *sharers) see(command, token string) {
	s.observed(history.Op{Process: "m1", Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Command: command, Token: token, Yes: true}}, time.Now())
}

// shared starts a shell script as a process of several clients.
func shared(t *testing.T, script string) *sharers {
	t.Helper()
	u, err := foreign(t, script)
	if err != nil {
		t.Fatal(err)
	}
	return &sharers{Client: u.Client, votes: map[string]string{}}
}

// TestSharedProcessAnswersInAnyOrder: each client gets the answer to its own request.
func TestSharedProcessAnswersInAnyOrder(t *testing.T) {
	s := shared(t, `read l; echo '{"type":"ok","can":["shared"]}'; read a; read b; echo '{"type":"ok","id":2,"token":"two"}'; echo '{"type":"ok","id":1,"token":"one"}'; exec sleep 60`)
	one, two := s.named("c1", "c1"), s.named("c3", "c1")
	first := make(chan workload.Lease, 1)
	go func() {
		l, err := one.Acquire(t.Context(), "k0")
		if err != nil {
			t.Error(err)
		}
		first <- l
	}()
	waittest.Until(t, "the first request waits", func() bool { return s.waits(1) }) // then the numbers of the requests are known
	l, err := two.Acquire(t.Context(), "k0")
	if err != nil || l.Token() != "two" {
		t.Fatalf("%v, %v", l, err)
	}
	if l := <-first; l == nil || l.Token() != "one" {
		t.Errorf("the first has %v", l)
	}
}

// waits reports whether so many requests have no outcome yet.
func (s *sharers) waits(n int) bool {
	s.Client.mu.Lock()
	defer s.Client.mu.Unlock()
	return len(s.sharing.open) == n
}

// TestSharedProcessEnds: its end is the end of all its clients, and a grant without a token is one that
// nobody could tell from another's.
func TestSharedProcessEnds(t *testing.T) {
	s := shared(t, `read l; echo '{"type":"ok","can":["shared"]}'; read a; exit`)
	if _, err := s.named("c1", "c1").Acquire(t.Context(), "k0"); !errors.Is(err, workload.ErrGone) {
		t.Errorf("got %v", err)
	}
	<-s.waited
	if _, err := s.named("c3", "c1").Acquire(t.Context(), "k0"); !errors.Is(err, workload.ErrGone) {
		t.Errorf("got %v", err)
	}
	s = shared(t, `read l; echo '{"type":"ok","can":["shared"]}'; read a; echo '{"type":"ok","id":1}'; exec sleep 60`)
	if _, err := s.named("c1", "c1").Acquire(t.Context(), "k0"); !errors.Is(err, errNoToken) {
		t.Errorf("got %v", err)
	}
}

// TestVotesOfASharedProcess belong to the client that says it asks for the token, or whose answer names it; a
// release belongs to the client that releases, whatever the token.
func TestVotesOfASharedProcess(t *testing.T) {
	s := shared(t, `read l; echo '{"type":"ok","can":["shared"]}'; exec sleep 60`)
	one, two := s.named("c1", "c1").(*sharer), s.named("c3", "c1").(*sharer)
	ask := func(u *sharer, id int64, op string) {
		s.Client.mu.Lock()
		defer s.Client.mu.Unlock()
		s.sharing.open[id] = &question{u, make(chan Message, 1)}
		u.op, u.key = op, "k0"
	}
	outcome := func(u *sharer, m Message) {
		s.Client.mu.Lock()
		known := s.answered(u, m)
		s.Client.mu.Unlock()
		s.record(known)
	}
	ask(one, 1, opAcquire)
	ask(two, 2, opAcquire)
	s.take(Message{Type: msgToken, ID: 2, Value: &history.Value{Token: "said"}})
	s.see(history.CommandSet, "said")
	s.see(history.CommandSet, "unsaid")
	s.see(history.CommandSet, "failed")
	if got := s.votes["said set"]; got != "c3" || len(s.votes) != 1 {
		t.Errorf("votes: %v", s.votes)
	}
	outcome(one, Message{Type: string(history.OK), Value: &history.Value{Token: "unsaid"}})
	outcome(two, Message{Type: string(history.Fail)})
	if s.votes["unsaid set"] != "c1" || s.votes["failed set"] != "c3" {
		t.Errorf("votes: %v", s.votes)
	}
	ask(two, 3, opRelease)
	s.see(history.CommandRelease, "unsaid")
	if s.votes["unsaid release"] != "c3" {
		t.Errorf("votes: %v", s.votes)
	}
}
