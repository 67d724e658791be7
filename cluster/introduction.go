package cluster

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"

	"lockpick/cluster/resp"
)

// authenticOK is the only reply to AUTH after which a connection may be used.
const authenticOK = "+OK\r\n"

// logOut makes the connection as it was before the link logged in (since Redis 6.2), and logOutOK is the only reply to it after
// which the connection may be used.
const (
	logOut   = "RESET\r\n"
	logOutOK = "+RESET\r\n"
)

// introduction returns the link's own commands at the beginning of a connection.
func (c *conn) introduction() (commands string) {
	if l := c.link; l.User != "" {
		commands = resp.Encode("AUTH", l.User, l.Password)
	} else if l.Password != "" {
		commands = resp.Encode("AUTH", l.Password)
	}
	if c.asks {
		commands += askAddress
	}
	if c.link.LogsOut {
		commands += logOut
	}
	return commands
}

// introduce reads the replies to the link's own commands. passed reports whether other replies may
// follow. If they may not, closed reports whether the master has ended the connection by closing its
// side. A server that does not accept the password is not the link's master, or refuses connections:
// the client gets this one reply, and nothing more, which it would take for the reply to another
// command.
func (c *conn) introduce(upstream *net.TCPConn) (closed, passed bool) {
	if c.link.Password != "" {
		if closed, passed = c.expect(upstream, authenticOK); !passed {
			return closed, false
		}
	}
	if c.asks {
		address, err := readAddress(upstream)
		if err != nil {
			return errors.Is(err, io.EOF), false
		}
		c.link.mu.Lock()
		c.address = address
		c.link.mu.Unlock()
		if c.observer != nil && address != "" && address != upstream.LocalAddr().String() {
			c.observer.Opened(address)
		}
	}
	if c.link.LogsOut {
		return c.expect(upstream, logOutOK)
	}
	return false, true
}

// expect reads the reply to one of the link's own commands, as introduce does, and passes another one than that on.
func (c *conn) expect(upstream *net.TCPConn, reply string) (closed, passed bool) {
	said, err := readLine(upstream)
	if err != nil {
		return errors.Is(err, io.EOF), false
	}
	if string(said) != reply {
		c.replies.put(item{kind: itemBytes, data: said})
		upstream.Close()
		return true, false
	}
	return false, true
}

// readLine reads no further than the end of a line, because the next bytes belong to the client.
func readLine(r io.Reader) (line []byte, err error) {
	for !bytes.HasSuffix(line, []byte("\n")) && len(line) < chunkSize {
		var one [1]byte
		if _, err := r.Read(one[:]); err != nil {
			return nil, err
		}
		line = append(line, one[0])
	}
	return line, nil
}

// askAddress is the link's own command whose reply contains the address of the connection. A server
// that does not know the command replies with an error, and the address stays unknown.
const askAddress = "CLIENT INFO\r\n"

// readAddress reads the reply to askAddress.
func readAddress(r io.Reader) (string, error) {
	head, err := readLine(r)
	if err != nil || head[0] != '$' {
		return "", err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(head[1:])))
	if err != nil || n < 0 || n > chunkSize {
		return "", errors.New("the reply to CLIENT INFO has another form")
	}
	info := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(r, info); err != nil {
		return "", err
	}
	for _, field := range bytes.Fields(info) {
		if address, ok := bytes.CutPrefix(field, []byte("addr=")); ok {
			return string(address), nil
		}
	}
	return "", nil
}
