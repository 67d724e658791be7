package transport

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limits of one reply, counted from its first byte to its last one. Attributes belong to the reply
// after them.
const (
	// ReplyMost is the greatest size of a reply in bytes.
	ReplyMost = 1 << 20
	// LineMost is the greatest length of a line: an error, a status, a number.
	LineMost = 1 << 16
	// ElementsMost is the greatest number of elements in all arrays, maps and attributes of a reply.
	ElementsMost = 1 << 13
	// DepthMost is the greatest depth of arrays in arrays.
	DepthMost = 8
)

// BoundedDialer returns a Dialer that connects as the options say. Its connections check the sizes
// in replies before go-redis reads them.
func BoundedDialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		own := *o
		if own.DialTimeout == 0 {
			own.DialTimeout = 5 * time.Second // the default of go-redis
		}
		dial = redis.NewDialer(&own)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		bounded := &boundedConn{Conn: c}
		if raw, ok := c.(syscall.Conn); ok {
			return &boundedSocket{bounded, raw}, nil
		}
		return bounded, nil
	}
}

// boundedConn is a connection whose Read fails at the first size that is over a limit.
type boundedConn struct {
	net.Conn
	replies replySizes
	refused error // of every further Read
}

// boundedSocket also lets go-redis look for data that waits in the socket.
type boundedSocket struct {
	*boundedConn
	raw syscall.Conn
}

func (c *boundedSocket) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	n, err := c.Conn.Read(p)
	allowed, why := c.replies.check(p[:n])
	if why != "" {
		c.refused = fmt.Errorf("redlock: the master's reply is refused: %s", why)
		return allowed, c.refused
	}
	return n, err
}

// replySizes follows replies (RESP2 and RESP3) as their bytes pass.
type replySizes struct {
	kind     byte // the first byte of the current line; 0 before it
	length   int  // bytes of the current line
	number   int  // the number in the current line
	null     bool // the number is negative
	skip     int  // bytes of a string that are still to come, with their CRLF
	bytes    int  // of the reply
	elements int  // of the reply
	depth    int  // of the current element
	frames   [DepthMost]replyFrame
}

// replyFrame is an array, a map or an attribute that has begun.
type replyFrame struct {
	left      int // elements to come
	attribute bool
}

// check follows some bytes. It returns how many of them may be read, and why the next one may not.
func (r *replySizes) check(p []byte) (int, string) {
	for i := 0; i < len(p); {
		if r.skip > 0 {
			n := min(r.skip, len(p)-i)
			r.skip -= n
			i += n
			if r.skip == 0 {
				r.endElement()
			}
			continue
		}
		if why := r.next(p[i]); why != "" {
			return i, why
		}
		i++
	}
	return len(p), ""
}

// next follows one byte of a line.
func (r *replySizes) next(b byte) string {
	r.bytes++
	if r.length++; r.length > LineMost {
		return fmt.Sprintf("a line is longer than %d bytes", LineMost)
	}
	if r.bytes > ReplyMost {
		return fmt.Sprintf("it has more than %d bytes", ReplyMost)
	}
	switch {
	case r.kind == 0:
		r.kind = b
		return ""
	case b == '\n':
		return r.endLine()
	case !sized(r.kind) || b == '\r':
		return ""
	case b == '-' && r.length == 2:
		r.null = true
		return ""
	case b < '0' || b > '9':
		return fmt.Sprintf("%q in a size", b)
	}
	if r.number = 10*r.number + int(b-'0'); r.number > ReplyMost {
		return fmt.Sprintf("it announces more than %d bytes or elements", ReplyMost)
	}
	return ""
}

// sized reports whether a line that begins with a byte has a size.
func sized(kind byte) bool {
	switch kind {
	case '$', '=', '!', '*', '~', '>', '%', '|':
		return true
	}
	return false
}

// endLine follows the end of a line.
func (r *replySizes) endLine() string {
	kind, number, null := r.kind, r.number, r.null
	r.kind, r.length, r.number, r.null = 0, 0, 0, false
	switch {
	case null || !sized(kind):
		r.endElement()
		return ""
	case kind == '$' || kind == '=' || kind == '!':
		if r.bytes += number; r.bytes > ReplyMost {
			return fmt.Sprintf("it has more than %d bytes", ReplyMost)
		}
		r.skip = number + 2
		return ""
	case kind == '%' || kind == '|':
		number *= 2
	}
	// An attribute counts even if it is empty: the reply has yet to come.
	if r.elements += max(number, 1); r.elements > ElementsMost {
		return fmt.Sprintf("it has more than %d elements", ElementsMost)
	}
	switch {
	case r.depth == DepthMost:
		return fmt.Sprintf("arrays in arrays are deeper than %d", DepthMost)
	case number > 0:
		r.frames[r.depth] = replyFrame{number, kind == '|'}
		r.depth++
	case kind != '|':
		r.endElement()
	}
	return ""
}

// endElement follows the end of an element, and of all that end with it.
func (r *replySizes) endElement() {
	for r.depth > 0 {
		f := &r.frames[r.depth-1]
		if f.left--; f.left > 0 {
			return
		}
		r.depth--
		if f.attribute {
			return // the element itself follows
		}
	}
	r.bytes, r.elements = 0, 0
}
