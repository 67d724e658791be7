// Package loopback serves HTTP to programs and browsers on this machine only. No page of another site can reach such a
// server: a request must name the server's own address (a page elsewhere may have made its own name resolve to it), and
// what changes something must not come from another origin.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
)

// Only reports whether only this machine can reach an address.
func Only(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%s: it takes host:port, as in 127.0.0.1:8417", address)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// Listen listens on a loopback address and rejects all others.
func Listen(address string) (net.Listener, error) {
	only, err := Only(address)
	if err != nil {
		return nil, err
	}
	if !only {
		return nil, fmt.Errorf("%s may be reached by other machines: use 127.0.0.1, and a tunnel (ssh -L) from elsewhere", address)
	}
	return net.Listen("tcp", address)
}

// Hosts returns the values of the header Host that name a server at an address.
func Hosts(at net.Addr) ([]string, error) {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil, err
	}
	return []string{net.JoinHostPort(host, port), net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}, nil
}

// Admit sets the headers that every answer has, and reports whether a request names one of the hosts. If not, it has sent
// the refusal.
func Admit(w http.ResponseWriter, r *http.Request, hosts []string) bool {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Security-Policy", "frame-ancestors 'none'")
	if !slices.Contains(hosts, r.Host) {
		http.Error(w, "this server answers to "+hosts[0]+" only", http.StatusForbidden)
		return false
	}
	return true
}

// FromElsewhere reports whether a browser says that a request is of a page of another origin.
func FromElsewhere(r *http.Request) bool {
	from := r.Header.Get("Origin")
	return from != "" && from != "http://"+r.Host
}

// The timeouts of the HTTP server.
const (
	readTimeout = 10 * time.Second
	idleTimeout = time.Minute
)

// Server returns an HTTP server for a handler.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: readTimeout, IdleTimeout: idleTimeout}
}

// stopGrace is how long requests may take after Stop.
const stopGrace = 2 * time.Second

// Stop shuts a server down, and closes the connections that are left after a grace: those of slow requests, and those that
// a browser or a client opened in advance and never used, which [http.Server.Shutdown] waits for.
func Stop(web *http.Server) error {
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := web.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return web.Close()
	}
	return err
}
