package cluster

import (
	"strings"
	"testing"
)

func TestAddressesOfServers(t *testing.T) {
	for text, want := range map[string]struct {
		Address
		shown string
		local bool
	}{
		"127.0.0.1:7001":                   {Address{Server: "127.0.0.1:7001"}, "127.0.0.1:7001", true},
		"localhost:1":                      {Address{Server: "localhost:1"}, "localhost:1", true},
		"[::1]:1":                          {Address{Server: "[::1]:1"}, "[::1]:1", true},
		"redis://ann:s3c%20ret@10.0.0.1:2": {Address{"10.0.0.1:2", "ann", "s3c ret"}, "redis://ann@10.0.0.1:2", false},
		"redis://:s3cret@redis.test:2/0":   {Address{Server: "redis.test:2", Password: "s3cret"}, "redis.test:2", false},
	} {
		a, err := ParseAddress(text)
		if err != nil || a != want.Address || a.String() != want.shown || a.Loopback() != want.local {
			t.Errorf("%s: %+v, %v, shown as %s, on this machine %v; want %+v", text, a, err, a, a.Loopback(), want)
		}
	}
	for _, text := range []string{"", "127.0.0.1", ":6379", "rediss://:s3cret@h:1", "http://h:1", "redis://:s3cret@h:1/3", "redis://:s3cret@h:1?x=1", "redis://:s3c%ret@h:1", "unix:///tmp/s3cret"} {
		if a, err := ParseAddress(text); err == nil || strings.Contains(err.Error(), "s3c") && !strings.HasPrefix(text, "unix") {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
}
