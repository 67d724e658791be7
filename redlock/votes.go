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
	asked    time.Duration // when it was submitted (redisMasters.now)
	commands []pendingCommand
	room     [roomFor]pendingCommand

	// The caller is woken when a decision is possible: when at least `need` masters answered
	// without an error, or at least `without` masters did not vote yes.
	need, without int
	wake          chan struct{} // from newWake

	slot       int    // of the key, in batcher.flying
	key, token any    // those of cmd as arguments for go-redis
	set        [6]any // memory for the arguments of most commands

	mu          sync.Mutex
	idle        bool              // the caller waits, or is about to
	votes       []*pendingCommand // in the order of their arrival
	arrived     [roomFor]*pendingCommand
	yes, failed int
	args        [2][]any // arguments with the script's hash (or without a script), and with its text
}

var hashSeed = maphash.MakeSeed()

// newWake returns a channel with room for one signal. A late vote can leave a signal in a
// channel that is reused: its next user then finds no new vote and waits again.
// Each redisMasters has a pool of its own, because a channel of one testing/synctest bubble
// cannot be used in another.
func (m *redisMasters) newWake() chan struct{} {
	if c, ok := m.wakes.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// newVoteBatch makes a batch for the masters in to, or for all masters if to is nil.
func newVoteBatch(s *session, cmd *protocol.Command, to []int, timeout time.Duration) *voteBatch {
	n := len(s.with)
	all, need, without := len(to), len(to), len(to)
	if to == nil { // with fewer votes a majority is neither reached nor ruled out
		all, need, without = n, min(n/2+1, n-n/2), n-n/2
	}
	v := &voteBatch{session: s, cmd: *cmd, timeout: timeout, asked: s.masters.now(), need: need, without: without, wake: s.masters.newWake(), idle: true}
	if v.key, v.token = s.key, s.token; cmd.Key != s.name.key || cmd.Token != s.name.token {
		v.key, v.token = cmd.Key, cmd.Token
	}
	v.slot = int(maphash.String(hashSeed, cmd.Key) % slots)
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
// It is a go-redis command whose reply must be a line or a string, so that a deeply nested
// reply cannot exhaust the stack. NoRetry keeps go-redis from sending it twice.
type pendingCommand struct {
	redis.StatusCmd
	batch  *voteBatch
	master int
	state  commandState
	late   bool // a release that is sent after its vote was delivered
	byText bool // the master does not know the script by its hash
	resent bool // it was sent before, and the reply was lost
	alone  bool // a release that must not share a script, because such a script failed
	last   bool // a release that was sent after every command of its session had a known outcome

	counted   bool // it is counted in exchange.stored
	uncertain bool // it is counted in exchange.uncertain

	reply int64
	err   error
	took  time.Duration
}

type commandState uint8

const (
	queued   commandState = iota
	inFlight              // the master may execute it
	voted                 // its vote is cast
)

// NoRetry keeps go-redis from sending the command twice: a SET that is sent again could be
// refused because of its own key.
func (*pendingCommand) NoRetry() bool { return true }

// encode sets the command's arguments, which it shares with those for the other masters.
func (c *pendingCommand) encode() {
	v, form := c.batch, 0
	if c.byText {
		form = 1
	}
	v.mu.Lock()
	if v.args[form] == nil {
		v.args[form] = v.arguments(c.byText)
	}
	args := v.args[form]
	v.mu.Unlock()
	c.StatusCmd = *redis.NewStatusCmd(context.Background(), args...)
}

// arguments returns the command as it is sent to Redis.
func (v *voteBatch) arguments(byText bool) []any {
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
	all := append(make([]any, 0, 3+len(keys)+len(args)), "EVALSHA", c.Script.SHA, len(keys))
	if byText {
		all[0], all[1] = "EVAL", c.Script.Text
	}
	for _, k := range keys {
		all = append(all, k)
	}
	return append(all, args...)
}

// yes says whether the vote is yes: the master did what the command is for.
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

// take yields votes as they arrive, until all have arrived, ctx ends, or yield returns
// false.
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
			ended = true // votes that have arrived by now still count
		}
	}
}
