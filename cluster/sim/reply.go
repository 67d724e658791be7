package sim

import (
	"strconv"
	"strings"
	"time"
)

// replyKind is the type of a reply in the protocol.
type replyKind uint8

const (
	replyNil replyKind = iota
	replyStatus
	replyInt
	replyBulk
	replyError
	replyArray
	replyNilArray
	replyMap  // keys and values in turn
	replyPush // a message that is not a reply to a command
)

// reply is a server's reply to a command.
type reply struct {
	kind  replyKind
	n     int64
	text  string // text of a status, a bulk string or an error
	items []reply
	later time.Duration // delay of the reply; below 0: it is never sent
}

var (
	okReply  = reply{kind: replyStatus, text: "OK"}
	nilReply = reply{}
)

func intReply(n int64) reply      { return reply{kind: replyInt, n: n} }
func bulkReply(s string) reply    { return reply{kind: replyBulk, text: s} }
func errorReply(s string) reply   { return reply{kind: replyError, text: s} }
func arrayReply(r ...reply) reply { return reply{kind: replyArray, items: r} }

func truth(b bool) reply {
	if b {
		return intReply(1)
	}
	return intReply(0)
}

// size returns the length of the encoded reply in bytes.
func (r *reply) size() int64 {
	switch r.kind {
	case replyStatus, replyError:
		return int64(len(r.text)) + 3
	case replyBulk:
		return int64(len(r.text)) + 7
	case replyArray, replyMap, replyPush:
		n := int64(4)
		for i := range r.items {
			n += r.items[i].size()
		}
		return n
	}
	return 4
}

// String formats the reply as redis-cli does.
func (r reply) String() string {
	switch r.kind {
	case replyStatus:
		return r.text
	case replyInt:
		return "(integer) " + strconv.FormatInt(r.n, 10)
	case replyBulk:
		return strconv.Quote(r.text)
	case replyError:
		return "(error) " + r.text
	case replyArray, replyMap, replyPush:
		var items []string
		for _, i := range r.items {
			items = append(items, i.String())
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return "(nil)"
}
