package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Address is a Redis server that Lockpick did not start, and how to log in there.
type Address struct {
	Server   string // host:port
	User     string // empty: the default user
	Password string // empty: none, or it is not known
}

// ParseAddress parses host:port or redis://user:password@host:port. Errors do not quote passwords.
func ParseAddress(text string) (Address, error) {
	if !strings.Contains(text, "://") {
		text = "redis://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, errors.New("a server is host:port or redis://user:password@host:port") // err may quote the password
	}
	switch {
	case u.Scheme == "rediss":
		return Address{}, fmt.Errorf("%s speaks TLS, which links do not: give a port without TLS", u.Host)
	case u.Scheme != "redis":
		return Address{}, fmt.Errorf("%s:// is not the address of a Redis: a server is host:port or redis://user:password@host:port", u.Scheme)
	case u.Hostname() == "" || u.Port() == "":
		return Address{}, errors.New("a server needs a host and a port, as in 127.0.0.1:6379")
	case u.Path != "" && u.Path != "/" && u.Path != "/0" || u.RawQuery != "" || u.Fragment != "":
		return Address{}, fmt.Errorf("%s: only database 0 can be used, without options", u.Host)
	}
	a := Address{Server: u.Host, User: u.User.Username()}
	a.Password, _ = u.User.Password()
	return a, nil
}

// String returns the address without the password.
func (a Address) String() string {
	if a.User == "" {
		return a.Server
	}
	return (&url.URL{Scheme: "redis", Host: a.Server, User: url.User(a.User)}).String()
}

// Loopback reports whether the server is on this machine for certain.
func (a Address) Loopback() bool {
	host, _, err := net.SplitHostPort(a.Server)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
