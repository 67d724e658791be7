package redlock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// shared is releases that share one script: a third of the masters' work for a pair.
type shared struct {
	commands []*pendingCommand
	cmd      *pendingCommand
}

func (s *shared) reset() {
	clear(s.commands)
	s.commands, s.cmd = s.commands[:0], nil
}

// shareMost is how many releases share a script at most: it runs for some 100 µs then,
// in which the master does nothing else.
const shareMost = 128

// shareable says that a command is a release that was not sent before.
func (c *pendingCommand) shareable() bool {
	return c.batch.cmd.Script == protocol.CompareAndDelete && !c.late && !c.byText && !c.resent && !c.alone
}

// share adds a release to a script.
func (call *pipelineCall) share(c *pendingCommand) {
	if n := len(call.shared); n == 0 || len(call.shared[n-1].commands) == shareMost {
		if n < cap(call.shared) {
			call.shared = call.shared[:n+1] // with its memory
		} else {
			call.shared = append(call.shared, shared{})
		}
	}
	s := &call.shared[len(call.shared)-1]
	s.commands = append(s.commands, c)
}

// encode is the command of the script, by its text if the master does not know it.
func (s *shared) encode(ctx context.Context, byText bool) redis.Cmder {
	if len(s.commands) == 1 {
		s.cmd = s.commands[0]
		s.cmd.encode()
		return s.cmd
	}
	n := len(s.commands)
	args := make([]any, 3+2*n)
	args[0], args[1], args[2] = "EVALSHA", protocol.CompareAndDeleteMany.SHA, n
	if byText {
		args[0], args[1] = "EVAL", protocol.CompareAndDeleteMany.Text
	}
	for i, c := range s.commands {
		args[3+i], args[3+n+i] = c.batch.key, c.batch.token
	}
	s.cmd = &pendingCommand{StatusCmd: redis.NewStatusCmd(ctx, args...)}
	return s.cmd
}

// result is what one of the releases was answered.
func (s *shared) result(i int, refused error) (int64, error) {
	if len(s.commands) == 1 {
		return result(s.cmd.StatusCmd, refused)
	}
	text, err := s.cmd.Result()
	switch {
	case err != nil:
		return 0, err
	case text == "" && refused != nil:
		return 0, refused
	case text == strconv.Itoa(len(s.commands)): // it deleted them all
		return 1, nil
	case len(text) != len(s.commands)+1:
		return 0, fmt.Errorf("unexpected reply %.100q to %d releases", text, len(s.commands))
	case text[i+1] == 'e':
		return 0, errShared{}
	}
	return int64(text[i+1] - '0'), nil
}

// errShared says that a master refused one of the releases that shared a script.
type errShared struct{}

func (errShared) Error() string { return "the master refused it" }
func (errShared) RedisError()   {}
