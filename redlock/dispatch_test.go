package redlock

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// written is a connection that keeps what is written, write by write.
type written struct {
	net.Conn
	writes [][]byte
}

func (w *written) Write(b []byte) (int, error) {
	w.writes = append(w.writes, bytes.Clone(b))
	return len(b), nil
}

// listening are masters that take whatever comes, and never answer.
func listening(n int) (*redisMasters, []*written) {
	m := &redisMasters{began: time.Now()}
	for i := range n {
		m.names = append(m.names, fmt.Sprintf("m%d", i+1))
		m.options = append(m.options, &redis.Options{})
	}
	m.lanes = m.newLanes()
	var conns []*written
	for _, l := range m.lanes {
		c := &written{}
		conns = append(conns, c)
		l.state = up
		l.pipe = &pipe{lane: l, conn: c, wake: make(chan struct{}, 1)}
	}
	return m, conns
}

func (m *redisMasters) ask(t *testing.T, talk Conversation, cmd Command) {
	t.Helper()
	q := newQuestion(talk.(*redisConversation), cmd, nil, len(m.names), time.Hour)
	q.talk.lanes = m.lanes
	q.asked = m.now()
	q.deadline = q.asked + q.timeout
	if !m.dispatch(q) {
		t.Fatal("closed")
	}
}

// Who asks alone writes at once. Who asks while somebody carries questions to the masters
// leaves its own on the desk, and all of them leave in one write per master, in the order
// in which each conversation asked.
func TestQuestionsLeaveTogether(t *testing.T) {
	m, conns := listening(3)
	m.ask(t, m.Begin(nil), setCommand("alone", "t", 1000, false))
	for _, c := range conns {
		if len(c.writes) != 1 {
			t.Fatalf("%d writes for the first command, want 1", len(c.writes))
		}
	}
	for _, l := range m.lanes { // it was answered
		l.mu.Lock()
		l.pipe.flight, l.pipe.first = nil, 0
		l.mu.Unlock()
	}

	m.desk.carrying = true
	for i := range 10 {
		talk := m.Begin(nil)
		key := fmt.Sprintf("k%d", i)
		m.ask(t, talk, setCommand(key, "t", 1000, false))
		m.ask(t, talk, releaseCommand(key, "t", false))
	}
	for _, c := range conns {
		if len(c.writes) != 1 {
			t.Fatal("somebody wrote while another carried")
		}
	}
	m.carry(false)
	for _, c := range conns {
		if len(c.writes) != 2 {
			t.Fatalf("%d writes for ten locks and releases, want 1", len(c.writes)-1)
		}
		sets, scripts := bytes.Count(c.writes[1], []byte("$3\r\nset\r\n")), bytes.Count(c.writes[1], []byte("EVALSHA"))
		if sets != 10 || scripts != 1 || bytes.Index(c.writes[1], []byte("EVALSHA")) < bytes.LastIndex(c.writes[1], []byte("$3\r\nset\r\n")) {
			t.Errorf("%d SETs and %d scripts, want 10 and then 1:\n%s", sets, scripts, c.writes[1])
		}
	}
	for _, l := range m.lanes {
		l.alarm.Stop()
	}
	if m.more() || m.desk.carrying {
		t.Error("there is more to carry")
	}
}

// answer has all that was sent be answered with 1, and what waits for that be written.
func (m *redisMasters) answer() {
	for _, l := range m.lanes {
		l.mu.Lock()
		p := l.pipe
		var answers []answer
		for range p.flight[p.first:] {
			answers = append(answers, answer{n: 1})
		}
		l.heard(p, answers)
		p.flush()
		l.unlock()
	}
}

// The next in line asks once the release is asked, and need not wait for the answers; but
// where masters are far it does, so that others may find the lock free.
func TestTheNextInLineAsksBehindTheRelease(t *testing.T) {
	for far, want := range map[bool]int{false: 1, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			m, conns := listening(3)
			c, err := NewWithMasters(m, WithTTL(time.Hour), WithTimeout(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			leases := make(chan *Lease, 2)
			for range 2 {
				go func() {
					if lease, err := c.Lock(t.Context(), "k"); err == nil {
						leases <- lease
					}
				}()
				synctest.Wait()
			}
			m.answer()
			first := <-leases
			for _, l := range m.lanes {
				l.far.Store(far)
			}
			var unlocked error
			go func() { unlocked = first.Unlock(t.Context()) }()
			synctest.Wait()
			for _, l := range m.lanes {
				if n := len(l.pipe.pending); n != want {
					t.Errorf("far %v: %d commands wait for the answer to the release, want %d", far, n, want)
				}
			}
			m.answer()
			synctest.Wait()
			m.answer()
			second := <-leases
			if unlocked != nil || second.Token() == first.Token() {
				t.Error(unlocked, second)
			}
			for _, conn := range conns {
				if len(conn.writes) != 3 || !bytes.Contains(conn.writes[1], []byte("EVALSHA")) || !bytes.Contains(conn.writes[2], []byte(second.Token())) {
					t.Errorf("far %v: %q", far, conn.writes)
				}
			}
			for _, l := range m.lanes {
				l.alarm.Stop()
			}
		})
	}
}
