package redlock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What the batching connections (pipe.go) speak: the little of Redis's protocol that a
// lock needs. Requests are written by appending, so that one command is put into bytes
// once for all masters; replies are numbers, and errors.
// https://redis.io/docs/latest/develop/reference/protocol-spec/

// appendHead begins a request of so many words.
func appendHead(b []byte, words int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(words), 10)
	return append(b, "\r\n"...)
}

func appendWord(b []byte, word string) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(word)), 10)
	b = append(b, "\r\n"...)
	b = append(b, word...)
	return append(b, "\r\n"...)
}

func appendNumber(b []byte, n int64) []byte {
	var digits [20]byte
	return appendWord(b, string(strconv.AppendInt(digits[:0], n, 10)))
}

// appendArg writes a command's argument, which is a string or a whole number.
func appendArg(b []byte, arg any) []byte {
	switch a := arg.(type) {
	case string:
		return appendWord(b, a)
	case int64:
		return appendNumber(b, a)
	case int:
		return appendNumber(b, int64(a))
	}
	return appendWord(b, fmt.Sprint(arg))
}

// refusal is an error that a master replied with.
type refusal string

func (r refusal) Error() string { return string(r) }

// RedisError marks it as go-redis marks such errors (redis.Error).
func (r refusal) RedisError() {}

// hasPrefix says whether the master's error is of a kind, such as NOSCRIPT.
func hasPrefix(err error, kind string) bool {
	r, ok := err.(refusal) // of an answer: nothing has wrapped it yet
	return ok && strings.HasPrefix(string(r), kind)
}

// answer is one reply: a number (OK is 1, nil is 0), an error, or a list of answers.
type answer struct {
	n    int64
	err  error
	list []answer
	many bool
}

var errProtocol = errors.New("a reply that is not Redis's protocol")

// readAnswer reads one reply. Its own error says that the connection is of no more use.
func readAnswer(r *bufio.Reader) (answer, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return answer{}, err
		}
		text := line[1:]
		switch line[0] {
		case '+':
			if string(text) == "OK" {
				return answer{n: 1}, nil
			}
			return answer{err: fmt.Errorf("unexpected reply %s", text)}, nil
		case ':':
			n, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return answer{}, fmt.Errorf("%w: %q", errProtocol, line)
			}
			return answer{n: n}, nil
		case '-':
			return answer{err: refusal(text)}, nil
		case '_':
			return answer{}, nil
		case '#':
			return answer{n: int64(len(text) - len(bytes.TrimPrefix(text, []byte("t"))))}, nil
		case '$':
			return readBulk(r, text)
		case '*', '>':
			push := line[0] == '>'
			a, err := readList(r, text)
			if err == nil && push {
				continue // nobody asked for it
			}
			return a, err
		default:
			return answer{}, fmt.Errorf("%w: %q", errProtocol, line)
		}
	}
}

// readLine reads a line that is not empty, without its end. It is valid until the next
// read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("%w: a line of more than %d bytes", errProtocol, r.Size())
	}
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
	if len(line) == 0 {
		return nil, fmt.Errorf("%w: an empty line", errProtocol)
	}
	return line, nil
}

// longest bounds what a reply may announce: no lock command has a long one.
const longest = 1 << 20

func readLength(text []byte) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < -1 || n > longest {
		return 0, fmt.Errorf("%w: a length of %q", errProtocol, text)
	}
	return n, nil
}

func readBulk(r *bufio.Reader, length []byte) (answer, error) {
	n, err := readLength(length)
	if n < 0 || err != nil {
		return answer{}, err
	}
	var head [64]byte
	kept := 0
	for left := n + len("\r\n"); left > 0; {
		peek, err := r.Peek(min(left, 64))
		if err != nil {
			return answer{}, err
		}
		kept += copy(head[kept:], peek)
		left -= len(peek)
		_, _ = r.Discard(len(peek)) // they are there
	}
	if n == 2 && string(head[:2]) == "OK" {
		return answer{n: 1}, nil
	}
	return answer{err: fmt.Errorf("unexpected reply %q", head[:min(n, len(head))])}, nil
}

func readList(r *bufio.Reader, length []byte) (answer, error) {
	n, err := readLength(length)
	if n < 0 || err != nil {
		return answer{}, err
	}
	a := answer{many: true, list: make([]answer, 0, min(n, 1024))}
	for range n {
		x, err := readAnswer(r)
		if err != nil {
			return answer{}, err
		}
		a.list = append(a.list, x)
	}
	return a, nil
}
