package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster/resp"
)

// OwnName is the name of the harness's own connections to masters (CLIENT SETNAME). Their commands are
// left out of the account, unless they change keys.
const OwnName = "lockpick-harness"

// Server is one run of a master's server.
type Server struct {
	Addr     string // host:port
	Password string // empty: none

	Dial  func(ctx context.Context, address string) (net.Conn, error) // nil: that of package net
	Ended <-chan struct{}                                             // closed when the run has ended
}

// tapped is a server with the connections of its account.
type tapped struct {
	stream, control *wire
	own             []string // addresses of the connections of the harness
}

// wire is a connection to a server.
type wire struct {
	net.Conn
	reader *reader
}

// connectWithin limits the time for the first steps on a connection.
const connectWithin = 5 * time.Second

// connect opens both connections of an account. With probe it also checks the order of events and
// lines.
func connect(ctx context.Context, server Server, probe bool) (*tapped, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, fmt.Errorf("%s does not answer within %v", server.Addr, connectWithin))
	defer cancel()
	var t tapped
	err := t.open(ctx, server, probe)
	if err == nil {
		return &t, nil
	}
	t.close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

func (t *tapped) open(ctx context.Context, server Server, probe bool) (err error) {
	if t.stream, err = dial(ctx, server); err != nil {
		return err
	}
	defer t.stream.limit(ctx)()
	if err := enableEvents(t.stream); err != nil {
		return err
	}
	for _, command := range [][]string{
		// The server does not cut the connection, however far behind the harness reads.
		{"CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0"},
		{"PSUBSCRIBE", "__keyspace@*__:*"},
		{"MONITOR"},
	} {
		if _, err := t.stream.do(command...); err != nil {
			return err
		}
	}
	if t.control, err = dial(ctx, server); err != nil {
		return err
	}
	defer t.control.limit(ctx)()
	if probe {
		if err := t.probe(); err != nil {
			return err
		}
	}
	list, err := t.control.do("CLIENT", "LIST")
	if err != nil {
		return err
	}
	t.own = ownAddresses(string(list.text))
	return nil
}

func (t *tapped) close() {
	for _, w := range []*wire{t.stream, t.control} {
		if w != nil {
			w.Close()
		}
	}
}

// dial opens a connection that speaks RESP3 and has the name of the harness.
func dial(ctx context.Context, server Server) (*wire, error) {
	open := server.Dial
	if open == nil {
		open = func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	}
	c, err := open(ctx, server.Addr)
	if err != nil {
		return nil, err
	}
	w := &wire{c, newReader(c)}
	defer w.limit(ctx)()
	hello := []string{"HELLO", "3"}
	if server.Password != "" {
		hello = append(hello, "AUTH", "default", server.Password)
	}
	if _, err := w.do(append(hello, "SETNAME", OwnName)...); err != nil {
		c.Close()
		return nil, err
	}
	return w, nil
}

// limit makes the connection unusable when ctx ends, until the result is called.
func (w *wire) limit(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { w.SetDeadline(time.Unix(1, 0)) })
}

// do sends a command and returns its reply. Events and lines of MONITOR before it are discarded.
func (w *wire) do(args ...string) (value, error) {
	if _, err := io.WriteString(w, resp.Encode(args...)); err != nil {
		return value{}, err
	}
	for {
		v, err := w.reader.next()
		if err != nil {
			return value{}, err
		}
		if _, isEvent := v.event(); isEvent || v.isLine() {
			continue
		}
		if v.kind == '-' || v.kind == '!' {
			return value{}, fmt.Errorf("%s: %w", strings.Join(args[:min(2, len(args))], " "), refusal(v.text))
		}
		return v, nil
	}
}

// refusal is an error that a server has replied.
type refusal string

func (r refusal) Error() string { return string(r) }

// isLine reports whether the value is a line of MONITOR.
func (v value) isLine() bool {
	return v.kind == '+' && len(v.text) > 0 && v.text[0] >= '0' && v.text[0] <= '9'
}

// event returns the keyspace event that the value reports, if it does.
func (v value) event() (e event, ok bool) {
	if v.kind != '>' || len(v.elems) != 4 || string(v.elems[0].text) != "pmessage" {
		return e, false
	}
	db, key, ok := strings.Cut(string(v.elems[2].text), "__:")
	if !ok {
		return e, false
	}
	e.db, _ = strconv.Atoi(strings.TrimPrefix(db, "__keyspace@"))
	e.key, e.what = key, string(v.elems[3].text)
	return e, true
}

// wantedEvents selects all keyspace events, new keys included: Redis 7 and Valkey have them.
const wantedEvents = "KAn"

// enableEvents switches the wanted events on, and leaves others on.
func enableEvents(w *wire) error {
	v, err := w.do("CONFIG", "GET", "notify-keyspace-events")
	if err != nil {
		return err
	}
	flags := wantedEvents
	if len(v.elems) == 2 {
		for _, f := range string(v.elems[1].text) {
			if !strings.ContainsRune(flags, f) {
				flags += string(f)
			}
		}
	}
	_, err = w.do("CONFIG", "SET", "notify-keyspace-events", flags)
	return err
}

// ownAddresses returns the addresses of the harness's connections in a reply to CLIENT LIST.
func ownAddresses(list string) (addrs []string) {
	for l := range strings.Lines(list) {
		fields := strings.Fields(l)
		if !slices.Contains(fields, "name="+OwnName) {
			continue
		}
		for _, f := range fields {
			if addr, ok := strings.CutPrefix(f, "addr="); ok {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs
}

var errOrder = errors.New("the server sends keyspace events and lines of MONITOR in another order than Redis 7")

// probe checks that events and lines come in the order on which the account rests.
func (t *tapped) probe() error {
	key := probePrefix + "1"
	commands := [][]string{
		{"SET", key, "1", "PX", "60000"},
		{"EVAL", "return redis.call('INCR', KEYS[1])", "1", key},
		{"MULTI"}, {"DEL", key}, {"EXEC"},
	}
	for _, c := range commands {
		if _, err := t.control.do(c...); err != nil {
			return err
		}
	}
	want := []string{"new", "set", "expire", "SET", "EVAL", "incrby", "INCR", "MULTI", "del", "DEL", "EXEC"}
	var got []string
	for len(got) < len(want) {
		v, err := t.stream.reader.next()
		if err != nil {
			return fmt.Errorf("%w: after %v: %w", errOrder, got, err)
		}
		if e, ok := v.event(); ok && e.key == key {
			got = append(got, e.what)
		} else if l, err := resp.ParseMonitor(v.text); v.isLine() && err == nil && slices.ContainsFunc(commands, func(c []string) bool { return slices.Equal(c, l.Args) }) {
			got = append(got, l.Args[0])
		} else if v.isLine() && err == nil && l.Addr == "" {
			got = append(got, l.Args[0])
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: %v", errOrder, got)
	}
	return nil
}
