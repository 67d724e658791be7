package cluster

import (
	"slices"

	"lockpick/cluster/resp"
)

// Observe makes an observer follow the connections that are opened from now on. It does not
// change their bytes.
func (l *TCPLink) Observe(o Observer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observer = &o
}

// keyless are commands that clients send to prepare a connection.
var keyless = []string{"hello", "auth", "client", "ping", "select", "command", "info", "readonly", "quit", "reset"}

// follow returns what follows a new connection.
func (o *Observer) follow(c *conn) *resp.Conversation {
	return &resp.Conversation{
		Lost: o.Lost, Transactions: true,
		Refused: func(name []byte, args []resp.Value) bool {
			if _, is := refused[string(name)]; !is || c.link.User == "" {
				return false
			}
			sub := ""
			if len(args) > 1 {
				sub = string(args[1].Text)
			}
			return Refused(string(name), sub) != ""
		},
		Keep: func(name []byte, args []resp.Value) bool {
			return !slices.Contains(keyless, string(name)) && !slices.ContainsFunc(args, func(a resp.Value) bool { return a.Cut })
		},
		Tell: func(x resp.Exchange) {
			e := Exchange{Conn: c.name(), Args: slices.Clone(x.Args), Sent: x.Sent, Answered: x.Answered, Replied: x.Reply != nil, Reply: x.Reply}
			if r := x.Reply; r != nil && (r.Type == '-' || r.Type == '!') {
				e.Error = string(r.Text)
			}
			o.Exchange(e)
		},
	}
}

// name returns the address of the connection as the master sees it; empty: it was never opened.
func (c *conn) name() string {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	switch {
	case c.address != "":
		return c.address
	case c.upstream == nil:
		return ""
	}
	return c.upstream.LocalAddr().String()
}
