package sim

import (
	"bytes"
	"strconv"

	"lockpick/cluster/resp"
)

// longestCommand is the length of the longest command that a client may send, in bytes. Locks
// send no longer commands, so a client that exceeds it speaks another protocol.
const longestCommand = 64 << 20

// parseCommand parses the command at the beginning of b. n is its length in bytes; 0: the
// command is not complete. problem is the text of an error, after which the connection ends.
func parseCommand(b []byte) (words []string, n int, problem string) {
	line, rest, ok := cutLine(b)
	if !ok {
		if len(b) > longestCommand {
			return nil, 0, "ERR Protocol error: too big inline request"
		}
		return nil, 0, ""
	}
	n = len(b) - len(rest)
	if len(line) == 0 {
		return nil, n, ""
	}
	if line[0] != '*' {
		inline, ok := resp.SplitInline(line)
		if !ok {
			return nil, n, "ERR Protocol error: unbalanced quotes in request"
		}
		for _, w := range inline {
			words = append(words, string(w))
		}
		return words, n, ""
	}
	count, err := strconv.Atoi(string(line[1:]))
	if err != nil || count > 1<<20 {
		return nil, n, "ERR Protocol error: invalid multibulk length"
	}
	if count > 0 {
		words = make([]string, 0, count)
	}
	for range count {
		if line, rest, ok = cutLine(rest); !ok {
			return nil, 0, ""
		}
		if len(line) == 0 || line[0] != '$' {
			return nil, n, "ERR Protocol error: expected '$'"
		}
		size, err := strconv.Atoi(string(line[1:]))
		if err != nil || size < 0 || size > longestCommand {
			return nil, n, "ERR Protocol error: invalid bulk length"
		}
		if len(rest) < size+2 {
			return nil, 0, ""
		}
		words = append(words, string(rest[:size]))
		rest = rest[size+2:]
	}
	return words, len(b) - len(rest), ""
}

func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return nil, nil, false
	}
	return bytes.TrimSuffix(b[:i], []byte("\r")), b[i+1:], true
}
