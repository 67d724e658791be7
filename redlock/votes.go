package redlock

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// voteBatch is one command for some masters, and their votes.
type voteBatch struct {
	session  *session
	cmd      protocol.Command
	timeout  time.Duration
	asked    time.Duration // since the masters were made
	commands []pendingCommand
	room     [roomFor]pendingCommand

	// The caller is woken once a decision is possible: enough masters have answered,
	// or too few are left that could say yes.
	need, without int
	wake          chan struct{} // from newWake

	hash       uint32 // of the key
	key, token any    // cmd's, as go-redis takes them
	set        [6]any // the words of most commands

	mu          sync.Mutex
	idle        bool              // the caller waits, or will
	votes       []*pendingCommand // in the order in which they came
	arrived     [roomFor]*pendingCommand
	yes, failed int
	args        [2][]any // by hash or as it is, and by text
}

var hashSeed = maphash.MakeSeed()

// newWake gives a channel with room for one. A vote that comes when nobody waits any more may
// leave something in one: who gets it next looks, and waits on. Masters keep their own, because
// the channels of one testing/synctest bubble are of no use in another.
func (m *redisMasters) newWake() chan struct{} {
	if c, ok := m.wakes.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// newVoteBatch is for the masters in to; nil: for all.
func newVoteBatch(s *session, cmd *protocol.Command, to []int, timeout time.Duration) *voteBatch {
	n := len(s.with)
	all, need, without := len(to), len(to), len(to)
	if to == nil { // fewer votes neither make a majority nor rule one out
		all, need, without = n, min(n/2+1, n-n/2), n-n/2
	}
	v := &voteBatch{session: s, cmd: *cmd, timeout: timeout, asked: s.masters.now(), need: need, without: without, wake: s.masters.newWake(), idle: true}
	if v.key, v.token = s.key, s.token; cmd.Key != s.name.key || cmd.Token != s.name.token {
		v.key, v.token = cmd.Key, cmd.Token
	}
	v.hash = uint32(maphash.String(hashSeed, cmd.Key))
	if v.commands, v.votes = v.room[:], v.arrived[:0]; all > roomFor {
		v.commands = make([]pendingCommand, all)
	}
	v.commands = v.commands[:all]
	for i := range v.commands {
		c := &v.commands[i]
		c.batch, c.master = v, i
		if to != nil {
			c.master = to[i]
		}
	}
	return v
}

// pendingCommand is a command for one master, and its vote. The master's batcher guards
// it until the vote is delivered; after that it does not change.
//
// It is a go-redis command: one whose reply is a line or a string, so that no nested
// reply can exhaust the stack. NoRetry keeps go-redis from sending it twice.
type pendingCommand struct {
	*redis.StatusCmd
	batch  *voteBatch
	master int
	state  commandState
	late   bool // a release that is sent after its vote was delivered
	byText bool // the master does not know the script by its hash
	resent bool // it was sent before, and the answer was lost

	alone bool // a release that must not share a script: the master refused that

	last bool // a release that was sent when nothing of its session was on its way any more

	counted   bool // in exchange.stored
	uncertain bool // in exchange.uncertain

	reply int64
	err   error
	took  time.Duration
}

type commandState uint8

const (
	queued   commandState = iota
	inFlight              // the master may carry it out
	voted                 // nobody waits for it any more
)

// NoRetry says that go-redis must not send the command twice: whether a SET that is
// sent again meets its own key cannot be told.
func (*pendingCommand) NoRetry() bool { return true }

// encode gives the command its arguments. All masters share them.
func (c *pendingCommand) encode() {
	v, form := c.batch, 0
	if c.byText {
		form = 1
	}
	v.mu.Lock()
	if v.args[form] == nil {
		v.args[form] = v.words(c.byText)
	}
	args := v.args[form]
	v.mu.Unlock()
	c.StatusCmd = redis.NewStatusCmd(context.Background(), args...)
}

// words is the command as Redis gets it.
func (v *voteBatch) words(byText bool) []any {
	c := &v.cmd
	switch {
	case c.Script == nil && c.Short():
		v.set = [...]any{"set", v.key, v.token, "nx", "px", v.session.masters.ttlArg(c.TTL)}
		return v.set[:]
	case c.Short() && !byText:
		v.set = [...]any{"EVALSHA", c.Script.SHA, 1, v.key, v.token, nil}
		return v.set[:5]
	case c.Script == nil:
		return c.Args
	}
	keys, args := c.Keys, c.Args
	if c.Short() {
		keys, args = []string{c.Key}, []any{c.Token}
	}
	words := append(make([]any, 0, 3+len(keys)+len(args)), "EVALSHA", c.Script.SHA, len(keys))
	if byText {
		words[0], words[1] = "EVAL", c.Script.Text
	}
	for _, k := range keys {
		words = append(words, k)
	}
	return append(words, args...)
}

// yes says that the master did what it was asked to do.
func (c *pendingCommand) yes() bool { return c.err == nil && c.reply > 0 }

func (c *pendingCommand) vote() Vote {
	v := c.batch
	return Vote{
		Master: c.master, Name: v.session.masters.names[c.master], Kind: v.cmd.Kind, Key: v.cmd.Key, Token: v.cmd.Token,
		Reply: c.reply, Yes: c.yes(), Err: c.err, Took: c.took, TTL: time.Duration(v.cmd.TTL) * time.Millisecond,
		At: v.session.masters.began.Add(v.asked + c.took),
	}
}

// deliver passes a vote to observers and to the caller.
func (c *pendingCommand) deliver(now time.Duration) {
	v := c.batch
	c.took = now - v.asked
	if observe := v.session.observe; observe != nil {
		observe(c.vote())
	}
	v.mu.Lock()
	v.votes = append(v.votes, c)
	switch {
	case c.err != nil:
		v.failed++
	case c.yes():
		v.yes++
	}
	in := len(v.votes)
	last := in == len(v.commands)
	wake := v.idle && (last || in-v.failed >= v.need || in-v.yes >= v.without)
	v.idle = v.idle && !wake
	v.mu.Unlock()
	if wake {
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
	if last {
		v.session.masters.pending.Done()
	}
}

// take yields votes as they come, until all are in, or ctx ends, or the caller has enough.
func (v *voteBatch) take(ctx context.Context, yield func(*pendingCommand) bool) {
	defer func() {
		v.mu.Lock()
		v.idle = false
		v.mu.Unlock()
		v.session.masters.wakes.Put(v.wake)
	}()
	done := ctx.Done()
	for taken, ended := 0, false; ; {
		v.mu.Lock()
		votes := v.votes[taken:] // which is only appended to
		v.idle = true
		v.mu.Unlock()
		for _, c := range votes {
			if !yield(c) {
				return
			}
		}
		if taken += len(votes); taken == len(v.commands) || ended {
			return
		}
		if done == nil {
			<-v.wake
			continue
		}
		select {
		case <-v.wake:
		case <-done:
			ended = true // votes that are here by now still count
		}
	}
}
