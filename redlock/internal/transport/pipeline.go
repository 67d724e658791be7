package transport

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// pipelineCall is one pipeline in flight.
type pipelineCall struct {
	number    uint64            // counts the pipelines of the batcher
	commands  []*pendingCommand // all commands of the pipeline
	singles   []*pendingCommand // commands that do not share a script
	sent      []redis.Cmder     // the commands for go-redis
	room      []wireCommand     // memory for further commands
	made      int               // number of commands made by command
	began     time.Duration
	shared    []shared         // releases that share a script; they are sent first
	byText    bool             // the script is sent as text
	hello     *redis.StatusCmd // INFO, to identify the server; nil if that is not necessary
	abandoned bool             // its connection hangs, and the master answers on another one
	refused   error            // the first error reply of Redis, or the panic of go-redis
	graced    bool             // its deadline was prolonged by graceFor
}

// add adds a command to a pipeline.
func (call *pipelineCall) add(c *pendingCommand) {
	e := c.exchange()
	first := e.on != call.number // the session has no other command in this pipeline
	c.last = e.uncertain == 0
	e.on = call.number
	if c.state == queued {
		c.state = inFlight
	}
	if stores(c.batch.cmd.Purpose) && !c.counted {
		c.counted = true
		e.stored++
	}
	call.commands = append(call.commands, c)
	if first && c.shareable() {
		call.share(c)
		return
	}
	call.singles = append(call.singles, c)
}

// reset empties a pipeline that has ended, so that its memory can be reused.
func (call *pipelineCall) reset() {
	clear(call.commands)
	clear(call.singles)
	clear(call.sent)
	for i := range call.shared {
		call.shared[i].reset()
	}
	*call = pipelineCall{commands: call.commands[:0], singles: call.singles[:0], sent: call.sent[:0], shared: call.shared[:0]}
}

// command makes a go-redis command. It allocates up to 64 at a time.
func (call *pipelineCall) command(ctx context.Context, args []any) *wireCommand {
	if len(call.room) == 0 {
		call.room = make([]wireCommand, min(len(call.singles)+len(call.shared)-call.made, 64))
	}
	c := &call.room[0]
	call.room, call.made = call.room[1:], call.made+1
	c.StatusCmd = *redis.NewStatusCmd(ctx, args...)
	return c
}

func (c *pendingCommand) exchange() *exchange { return &c.batch.session.with[c.master] }

// send executes a pipeline. If a command needs replicas (WithWait), the pipeline ends with
// WAIT, and replicas is the reply to it.
func (b *batcher) send(call *pipelineCall) (replicas *redis.StatusCmd) {
	need, timeout := 0, time.Duration(0)
	ctx, all := b.masters.life, call.sent[:0]
	// A master that was just connected gets the scripts first. Otherwise the first release
	// would fail with NOSCRIPT and be sent again, after the SET of the next waiter.
	if call.hello != nil {
		for _, s := range protocol.Scripts {
			all = append(all, redis.NewStatusCmd(ctx, "script", "load", s.Text))
		}
	}
	for i := range call.shared {
		s := &call.shared[i]
		s.cmd = call.command(ctx, s.encode(call.byText))
		all = append(all, s.cmd)
	}
	for _, c := range call.singles {
		c.sent = call.command(ctx, c.encode())
		all = append(all, c.sent)
		if n := c.batch.cmd.Wait; n > 0 {
			need, timeout = max(need, n), max(timeout, c.batch.timeout)
		}
	}
	if need > 0 { // WAIT must reply before the deadline of the votes
		replicas = redis.NewStatusCmd(ctx, "wait", need, max(1, (timeout*3/4).Milliseconds()))
		all = append(all, replicas)
	}
	if call.hello != nil {
		all = append(all, call.hello) // last, because go-redis evaluates the error of the first command
	}
	call.sent = all
	pipe := b.client.Pipeline()
	_ = pipe.BatchProcess(ctx, all...)
	// Each command has its own error, with two exceptions: if Redis refuses the connection
	// (WRONGPASS), or go-redis panics, the commands are without a reply and without an error.
	if err := execute(ctx, pipe); answered(err) || isPanic(err) {
		call.refused = err
	}
	return replicas
}

// greeting returns an INFO command for the first pipeline, and for the first one after the
// master was suspect: the reply identifies the server. Otherwise it returns nil. The caller
// holds mu.
func (b *batcher) greeting() *redis.StatusCmd {
	if b.greeted {
		return nil
	}
	b.greeted = true
	return redis.NewStatusCmd(b.masters.life, "info", "server")
}
