package sim

import (
	"bytes"
	"strconv"
	"strings"
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
		return strings.Fields(string(line)), n, ""
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

// write appends the reply, encoded in version 2 or 3 of the protocol.
func (r *reply) write(b []byte, version int) []byte {
	switch r.kind {
	case replyStatus:
		return line(b, '+', r.text)
	case replyError:
		return line(b, '-', oneLine.Replace(r.text))
	case replyInt:
		return count(b, ':', r.n)
	case replyBulk:
		b = count(b, '$', int64(len(r.text)))
		b = append(b, r.text...)
		return append(b, '\r', '\n')
	case replyArray, replyMap, replyPush:
		n, sign := int64(len(r.items)), byte('*')
		switch {
		case version == 3 && r.kind == replyMap:
			n, sign = n/2, '%'
		case version == 3 && r.kind == replyPush:
			sign = '>'
		}
		b = count(b, sign, n)
		for i := range r.items {
			b = r.items[i].write(b, version)
		}
		return b
	}
	switch {
	case version == 3:
		return append(b, "_\r\n"...)
	case r.kind == replyNilArray:
		return append(b, "*-1\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

// oneLine returns an error's text without line ends.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func line(b []byte, sign byte, text string) []byte {
	b = append(append(b, sign), text...)
	return append(b, '\r', '\n')
}

func count(b []byte, sign byte, n int64) []byte {
	b = strconv.AppendInt(append(b, sign), n, 10)
	return append(b, '\r', '\n')
}
