package loopback

import (
	"errors"
	"net"
	"net/http"
	"testing"
)

// TestStopWaitsForNobody: a connection on which nothing was ever asked does not make Stop fail.
func TestStopWaitsForNobody(t *testing.T) {
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := Server(http.NotFoundHandler())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	unused, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()
	answer, err := http.Get("http://" + listener.Addr().String()) // after it the server knows the other connection
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := Stop(web); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
