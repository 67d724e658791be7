package watch

import (
	"bytes"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/waittest"
)

// TestMonitorRefusesAFirstLineWithoutAnEnd: a server that is not a Redis sends bytes for ever in answer to MONITOR, or to AUTH.
func TestMonitorRefusesAFirstLineWithoutAnEnd(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for text := bytes.Repeat([]byte("x"), 1<<16); err == nil; {
					_, err = c.Write(text)
				}
			}()
		}
	}()
	for _, password := range []string{"", "secret"} {
		waittest.Returns("Monitor", func() {
			m, err := Monitor(t.Context(), 0, &redis.Options{Addr: ln.Addr().String(), Password: password}, nil)
			if err == nil {
				m.Close()
				t.Error("no error")
			}
		})
	}
}
