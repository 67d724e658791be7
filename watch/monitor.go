package watch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster/resp"
)

// MonitorReader reads the output of MONITOR from one Redis.
type MonitorReader struct {
	conn net.Conn
	done chan struct{}
}

// Close closes the connection and waits until the reader has ended.
func (m *MonitorReader) Close() error {
	err := m.conn.Close()
	<-m.done
	return err
}

// Monitor starts to read the commands that a Redis executes, on a connection of its own.
func Monitor(ctx context.Context, master int, o *redis.Options, tap *Tap) (*MonitorReader, error) {
	d := &net.Dialer{Timeout: dialTimeout}
	var c net.Conn
	var err error
	if o.TLSConfig != nil {
		c, err = (&tls.Dialer{NetDialer: d, Config: o.TLSConfig}).DialContext(ctx, "tcp", o.Addr)
	} else {
		c, err = d.DialContext(ctx, "tcp", o.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", o.Addr, err)
	}
	in := bufio.NewReaderSize(c, 1<<20)
	ask := func(args ...string) error {
		_ = c.SetDeadline(time.Now().Add(dialTimeout))
		defer c.SetDeadline(time.Time{})
		if _, err := io.WriteString(c, resp.Encode(args...)); err != nil {
			return err
		}
		b, err := in.ReadSlice('\n') // a longer line than the buffer is an error
		line := string(b)
		if err == nil && !strings.HasPrefix(line, "+OK") {
			err = fmt.Errorf("%.200s", strings.TrimSpace(line))
		}
		return err
	}
	if o.Password != "" {
		args := []string{"AUTH", o.Password}
		if o.Username != "" {
			args = []string{"AUTH", o.Username, o.Password}
		}
		err = ask(args...)
	}
	if err == nil {
		err = ask("MONITOR")
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("start MONITOR on %s: %w", o.Addr, err)
	}
	m := &MonitorReader{conn: c, done: make(chan struct{})}
	go m.read(in, master, tap)
	return m, nil
}

func (m *MonitorReader) read(in *bufio.Reader, master int, tap *Tap) {
	defer close(m.done)
	state := &inferred{keys: map[string]stored{}, conns: map[string]int64{}}
	for {
		line, err := in.ReadSlice('\n')
		for err == bufio.ErrBufferFull { // skip a line of more than a megabyte, which no lock's command has
			_, err = in.ReadSlice('\n')
			line = nil
		}
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				tap.Problem(fmt.Sprintf("MONITOR of m%d has ended: %v", master+1, err))
			}
			return
		}
		c, err := parseMonitor(line)
		if err != nil || c.Addr == "" { // a script called it; the script's own line stands for it
			continue
		}
		tap.Read(func(l *Lint) { state.take(l, master, c) })
	}
}

// printed is the output of MONITOR of one master that somebody saved.
type printed struct {
	in    *bufio.Scanner
	state inferred
	next  resp.MonitorLine // if more
	more  bool
}

// maxLine is the longest line of a saved output, in bytes.
const maxLine = 16 << 20

var errLongLine = errors.New("a line is longer than 16 MiB: is this what redis-cli printed of MONITOR?")

// ReadMonitor lints what redis-cli printed of MONITOR, one reader for each master. It takes the commands in the order
// of their times, which are those of the masters' clocks. It returns the lint, the time of the last command, and the
// number of lines that are not commands.
func ReadMonitor(ctx context.Context, opt Options, masters []io.Reader) (l *Lint, end time.Time, others int, err error) {
	var all []*printed
	advance := func(p *printed) error {
		for p.more = false; p.in.Scan(); {
			c, err := parseMonitor(p.in.Bytes())
			if err == nil && c.Addr != "" {
				p.next, p.more = c, true
				return nil
			}
			if text := strings.TrimSpace(p.in.Text()); err != nil && text != "" && text != "OK" && text != "+OK" {
				others++
			}
		}
		if errors.Is(p.in.Err(), bufio.ErrTooLong) {
			return errLongLine
		}
		return p.in.Err()
	}
	for _, r := range masters {
		p := &printed{in: bufio.NewScanner(r), state: inferred{keys: map[string]stored{}, conns: map[string]int64{}}}
		p.in.Buffer(nil, maxLine)
		if err := advance(p); err != nil {
			return nil, end, others, err
		}
		all = append(all, p)
	}
	for ctx.Err() == nil {
		first := -1
		for i, p := range all {
			if p.more && (first < 0 || p.next.Time < all[first].next.Time) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		p := all[first]
		if l == nil {
			opt.Masters, opt.Start = len(masters), executed(p.next)
			if l, err = NewLint(opt); err != nil {
				return nil, end, others, err
			}
		}
		end = executed(p.next)
		p.state.take(l, first, p.next)
		if err := advance(p); err != nil {
			return nil, end, others, err
		}
	}
	return l, end, others, ctx.Err()
}

// parseMonitor parses a line that a server sent or redis-cli printed.
func parseMonitor(line []byte) (resp.MonitorLine, error) {
	return resp.ParseMonitor(bytes.TrimPrefix(bytes.TrimRight(line, "\r\n"), []byte("+")))
}

// executed returns when the master executed a command, by its clock.
func executed(c resp.MonitorLine) time.Time { return time.UnixMicro(c.Time) }

// inferred tracks the keys that a master must store after the commands seen so far, to infer the
// replies, which MONITOR does not show.
type inferred struct {
	keys  map[string]stored
	conns map[string]int64
}

// stored is a key's hashed token and its expiry.
type stored struct {
	token string
	until time.Time
}

func (i *inferred) take(l *Lint, master int, c resp.MonitorLine) {
	at, args := executed(c), c.Args
	conn := i.conns[c.Addr]
	if conn == 0 {
		if len(i.conns) >= maxCells {
			clear(i.conns)
		}
		conn = int64(len(i.conns) + 1)
		i.conns[c.Addr] = conn
	}
	values := make([]resp.Value, len(args))
	for n, a := range args {
		values[n] = resp.Value{Type: '$', Text: []byte(a), Cut: n != 1 && len(a) > 1024}
		if resp.HasText(args[0]) {
			values[n].Cut = false
		}
	}
	if !l.wants([]byte(strings.ToLower(args[0])), values) {
		return
	}
	x := resp.Exchange{Args: args, Sent: at, Answered: at, Reply: &resp.Reply{Value: resp.Value{Type: '+', Text: []byte("OK")}}}
	s, ok := l.classify(master, conn, &x)
	if !ok {
		l.exchange(master, conn, x)
		return
	}
	now, held := i.keys[s.key]
	if held && !now.until.IsZero() && !at.Before(now.until) {
		held = false
	}
	mine := held && (s.token == "" || now.token == s.token)
	switch s.action {
	case acquire:
		if s.yes = !held || s.script && mine; s.yes {
			i.set(s, at)
		}
	case extend:
		if s.yes = held && (mine || !s.compares); s.yes && s.ttl > 0 {
			i.set(step{key: s.key, token: now.token, ttl: s.ttl}, at)
		}
	case release:
		if s.yes = held && (mine || !s.compares); s.yes {
			delete(i.keys, s.key)
		}
	}
	s.unheard = true
	l.take(s)
}

func (i *inferred) set(s step, at time.Time) {
	x := stored{token: s.token}
	if s.ttl > 0 {
		x.until = at.Add(s.ttl)
	}
	if len(i.keys) >= maxCells {
		clear(i.keys)
	}
	i.keys[s.key] = x
}
