package transport

import (
	"fmt"
	"strconv"
	"strings"

	"lockpick/redlock/protocol"
)

// shared is a set of releases that share one script. For a pair of Lock and Unlock that saves a
// third of the masters' work.
type shared struct {
	commands []*pendingCommand
	cmd      *wireCommand // runs the script
}

func (s *shared) reset() {
	clear(s.commands)
	s.commands, s.cmd = s.commands[:0], nil
}

// shareMost is the greatest number of releases that share a script. Such a script takes
// about 100 µs, during which the master executes nothing else.
const shareMost = 128

// shareable reports whether a command is a release that can share a script: it is sent for the
// first time, and deletes the key without publishing.
func (c *pendingCommand) shareable() bool {
	return c.batch.cmd.Script == protocol.CompareAndDelete && !c.late && !c.byText && !c.resent && !c.alone
}

// share adds a release to a script.
func (call *pipelineCall) share(c *pendingCommand) {
	if n := len(call.shared); n == 0 || len(call.shared[n-1].commands) == shareMost {
		if n < cap(call.shared) {
			call.shared = call.shared[:n+1] // reuses the memory of an earlier pipeline
		} else {
			call.shared = append(call.shared, shared{})
		}
	}
	s := &call.shared[len(call.shared)-1]
	s.commands = append(s.commands, c)
}

// encode returns the arguments of the command that runs the script, by its text or by its hash.
func (s *shared) encode(byText bool) []any {
	if len(s.commands) == 1 {
		return s.commands[0].encode()
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
	return args
}

// result returns the reply to one of the releases.
func (s *shared) result(i int, refused error) (int64, error) {
	if len(s.commands) == 1 {
		return result(&s.cmd.StatusCmd, yesOrNo, refused)
	}
	text, err := s.cmd.Result()
	switch {
	case err != nil:
		return 0, err
	case text == "" && refused != nil:
		return 0, refused
	case text == strconv.Itoa(len(s.commands)): // all keys were deleted
		return 1, nil
	case len(text) != len(s.commands)+1 || text[0] != ':' || strings.Trim(text[1:], "01e") != "":
		return 0, fmt.Errorf("unexpected reply %.100q to %d releases", text, len(s.commands))
	case text[i+1] == 'e':
		return 0, errShared{}
	}
	return int64(text[i+1] - '0'), nil
}

// errShared is the error of a release in a script that failed for its key.
type errShared struct{}

func (errShared) Error() string { return "the master refused it" }
