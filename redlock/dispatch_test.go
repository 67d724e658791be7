package redlock

import (
	"bytes"
	"fmt"
	"net"
	"testing"
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
