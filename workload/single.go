package workload

import (
	"context"
	"io"
	"iter"
	"time"

	"lockpick/redlock/protocol"
)

// first returns the Env with only the first master.
func (s Env) first() Env {
	if s.Masters != nil {
		s.Masters = firstMaster{s.Masters}
	}
	s.Addrs = s.Addrs[:min(1, len(s.Addrs))]
	return s
}

// firstMaster gives access to the first of some masters only.
type firstMaster struct{ all protocol.Masters }

func (m firstMaster) Names() []string { return m.all.Names()[:1] }

func (m firstMaster) Begin(observe func(protocol.Vote)) protocol.Conversation {
	return firstConversation{m.all.Begin(observe)}
}

// Close closes the masters, if they have a Close method.
func (m firstMaster) Close() error {
	if c, ok := m.all.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type firstConversation struct{ all protocol.Conversation }

func (c firstConversation) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	if to == nil { // to all masters, of which there is one
		to = []int{0}
	}
	return c.all.Ask(ctx, cmd, to, timeout)
}
