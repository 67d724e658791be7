package campaign

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/resp"
	"lockpick/cluster/sim"
	"lockpick/redlock/protocol"
)

// lintedMasters are a client's simulated masters. A Lint follows its commands, which have no bytes.
type lintedMasters struct {
	*sim.Masters
	client string
	lint   *Lint
	now    func() time.Time
}

// Begin starts a conversation that is followed.
func (m *lintedMasters) Begin(observe func(protocol.Vote)) protocol.Conversation {
	c := &lintedConversation{masters: m}
	c.Conversation = m.Masters.Begin(func(v protocol.Vote) {
		c.vote(v)
		if observe != nil {
			observe(v)
		}
	})
	return c
}

// lintedConversation matches votes with the commands that they answer.
type lintedConversation struct {
	protocol.Conversation
	masters *lintedMasters
	asked   []askedCommand
}

type askedCommand struct {
	purpose protocol.Purpose
	args    []string
	sent    time.Time
}

// Ask sends a command, and notes it for the votes.
func (c *lintedConversation) Ask(ctx context.Context, cmd protocol.Command, to []int, timeout time.Duration) iter.Seq[protocol.Vote] {
	c.asked = append(c.asked, askedCommand{cmd.Purpose, wordsOf(&cmd), c.masters.now()})
	return c.Conversation.Ask(ctx, cmd, to, timeout)
}

// vote passes an exchange to the Lint: the vote is the reply to the latest command of its kind.
func (c *lintedConversation) vote(v protocol.Vote) {
	for _, a := range slices.Backward(c.asked) {
		if a.purpose == v.Purpose && len(a.args) > 0 {
			c.masters.lint.Exchange(v.Master, cluster.Exchange{Conn: c.masters.client, Args: a.args, Reply: replyOf(&v, a.args[0]), Sent: a.sent, Answered: c.masters.now()})
			return
		}
	}
}

// wordsOf returns a command as it is sent to Redis.
func wordsOf(cmd *protocol.Command) (args []string) {
	keys, rest := cmd.Keys, cmd.Args
	if cmd.Short() {
		keys, rest = []string{cmd.Key}, []any{cmd.Token}
	}
	switch {
	case cmd.Script != nil:
		args = append([]string{"eval", cmd.Script.Text, strconv.Itoa(len(keys))}, keys...)
	case cmd.Short():
		return []string{"set", cmd.Key, cmd.Token, "nx", "px", strconv.FormatInt(cmd.TTL, 10)}
	}
	for _, a := range rest {
		args = append(args, fmt.Sprint(a))
	}
	return args
}

// replyOf returns the reply that became a vote; nil: there was none.
func replyOf(v *protocol.Vote, command string) *resp.Reply {
	switch {
	case v.Err != nil:
		return nil
	case command != "set":
		return &resp.Reply{Value: resp.Value{Type: ':', Int: v.Reply}}
	case v.Yes:
		return &resp.Reply{Value: resp.Value{Type: '+', Text: []byte("OK")}}
	}
	return &resp.Reply{Value: resp.Value{Type: '$', Null: true}}
}
