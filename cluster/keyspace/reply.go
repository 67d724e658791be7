package keyspace

import (
	"strconv"
	"strings"
	"time"
)

// ReplyKind is the type of a reply in the protocol.
type ReplyKind uint8

// The types of replies.
const (
	ReplyNil ReplyKind = iota
	ReplyStatus
	ReplyInt
	ReplyBulk
	ReplyError
	ReplyArray
	ReplyNilArray
	ReplyMap        // keys and values in turn
	ReplyPairs      // the same; version 3 of the protocol nests an array for each pair
	ReplyMapOrPairs // the same; version 2 nests an array for each pair, and version 3 has a map
	ReplyDouble     // a number as text: a bulk string in version 2 of the protocol
	ReplyText       // text for people: a bulk string in version 2 of the protocol
	ReplyPush       // a message that is not a reply to a command

	// ReplyUnmodelled says that what Redis would reply is not known here; Text names it. Servers
	// replace it with an error.
	ReplyUnmodelled
)

// Reply is a server's reply to a command.
type Reply struct {
	Kind  ReplyKind
	N     int64
	Text  string // text of a status, a bulk string, a double or an error
	Items []Reply
	Later time.Duration // delay of the reply; below 0: it is never sent
}

// OK is the status OK, and Nil the reply for a value that does not exist.
var (
	OK  = Reply{Kind: ReplyStatus, Text: "OK"}
	Nil = Reply{}
)

// Int returns an integer as a reply.
func Int(n int64) Reply { return Reply{Kind: ReplyInt, N: n} }

// Bulk returns a string as a reply.
func Bulk(s string) Reply { return Reply{Kind: ReplyBulk, Text: s} }

// Error returns an error as a reply.
func Error(s string) Reply { return Reply{Kind: ReplyError, Text: s} }

// Unmodelled says that what Redis would reply to a command is not known.
func Unmodelled(what string) Reply { return Reply{Kind: ReplyUnmodelled, Text: what} }

// Array returns an array of replies.
func Array(r ...Reply) Reply { return Reply{Kind: ReplyArray, Items: r} }

// Bulks returns an array of strings.
func Bulks(all []string) Reply {
	r := Reply{Kind: ReplyArray}
	for _, s := range all {
		r.Items = append(r.Items, Bulk(s))
	}
	return r
}

// Bool returns 1 or 0.
func Bool(b bool) Reply {
	if b {
		return Int(1)
	}
	return Int(0)
}

// found returns a string, or nil if it does not exist.
func found(s string, ok bool) Reply {
	if ok {
		return Bulk(s)
	}
	return Nil
}

// Size returns the length of the encoded reply in bytes.
func (r *Reply) Size() int64 {
	switch r.Kind {
	case ReplyStatus, ReplyError, ReplyDouble:
		return int64(len(r.Text)) + 3
	case ReplyBulk, ReplyText:
		return int64(len(r.Text)) + 7
	case ReplyArray, ReplyMap, ReplyPairs, ReplyMapOrPairs, ReplyPush:
		n := int64(4)
		for i := range r.Items {
			n += r.Items[i].Size()
		}
		return n
	}
	return 4
}

// String formats the reply as redis-cli does.
func (r Reply) String() string {
	switch r.Kind {
	case ReplyStatus:
		return r.Text
	case ReplyInt:
		return "(integer) " + strconv.FormatInt(r.N, 10)
	case ReplyBulk, ReplyDouble, ReplyText:
		return strconv.Quote(r.Text)
	case ReplyError:
		return "(error) " + r.Text
	case ReplyArray, ReplyMap, ReplyPairs, ReplyMapOrPairs, ReplyPush:
		var items []string
		for _, i := range r.Items {
			items = append(items, i.String())
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return "(nil)"
}

// nests reports whether each pair is an array in a version of the protocol.
func (r *Reply) nests(version int) bool {
	return version == 3 && r.Kind == ReplyPairs || version != 3 && r.Kind == ReplyMapOrPairs
}

// Append appends the reply, encoded in version 2 or 3 of the protocol.
func (r *Reply) Append(b []byte, version int) []byte {
	switch r.Kind {
	case ReplyStatus:
		return line(b, '+', r.Text)
	case ReplyError:
		return line(b, '-', oneLine.Replace(r.Text))
	case ReplyInt:
		return count(b, ':', r.N)
	case ReplyDouble:
		if version == 3 {
			return line(b, ',', r.Text)
		}
		return bulk(b, r.Text)
	case ReplyText:
		if version == 3 {
			return line(count(b, '=', int64(len(r.Text))+4), 't', "xt:"+r.Text)
		}
		return bulk(b, r.Text)
	case ReplyBulk:
		return bulk(b, r.Text)
	case ReplyArray, ReplyMap, ReplyPairs, ReplyMapOrPairs, ReplyPush:
		n, sign := int64(len(r.Items)), byte('*')
		switch {
		case version == 3 && (r.Kind == ReplyMap || r.Kind == ReplyMapOrPairs):
			n, sign = n/2, '%'
		case version == 3 && r.Kind == ReplyPush:
			sign = '>'
		case r.nests(version):
			n /= 2
		}
		b = count(b, sign, n)
		for i := range r.Items {
			if r.nests(version) && i%2 == 0 {
				b = count(b, '*', 2)
			}
			b = r.Items[i].Append(b, version)
		}
		return b
	}
	switch {
	case version == 3:
		return append(b, "_\r\n"...)
	case r.Kind == ReplyNilArray:
		return append(b, "*-1\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

// oneLine returns an error's text without line ends.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func bulk(b []byte, text string) []byte {
	return append(append(count(b, '$', int64(len(text))), text...), '\r', '\n')
}

func line(b []byte, sign byte, text string) []byte {
	b = append(append(b, sign), text...)
	return append(b, '\r', '\n')
}

func count(b []byte, sign byte, n int64) []byte {
	b = strconv.AppendInt(append(b, sign), n, 10)
	return append(b, '\r', '\n')
}
