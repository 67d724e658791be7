package scenario

import (
	"strings"
	"testing"
)

// withService is a scenario with a service, to which a test adds lines.
const withService = `client: [my-client]
masters: 3
faults: [kill, peers]
service:
  name: store
  ports: [client]
  clients: {port: client}
  command: [store]
  ready: {tcp: '{{.Listen "client"}}'}
`

func TestAServiceIsPartOfAScenario(t *testing.T) {
	s, err := Parse([]byte(withService))
	if err != nil {
		t.Fatal(err)
	}
	if s.Service == nil || s.Service.Name != "store" || s.Service.Ready.TCP == "" {
		t.Fatalf("it was read as %+v", s.Service)
	}
	b, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(b); err != nil || again.Service.Ready.TCP != s.Service.Ready.TCP {
		t.Errorf("written and read again: %v\n%s", err, b)
	}
}

func TestMistakesInAServiceNameTheirLine(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"  name: store", "  name: store\n  pots: [x]", "6:3: unknown field \"pots\""},
		{"  command: [store]", "  command: ['{{.Nane}}']", "8:13: service.command[0]"},
		{"client: [my-client]\n", "", "3: service: Lockpick's own locks are for Redis"},
		{"masters: 3", "driver: docker", "2:9: driver: store runs as processes"},
		{"masters: 3", "persistence: always", "service: persistence, max_memory"},
		{"masters: 3", "server: valkey-server", "server: the servers are those of store"},
		{"kill, peers", "kill, powercut", "3:16: faults[1]: powercut is a fault of redis-server: on a service there are pause, kill,"},
		{"masters: 3", "targets: [leader]", "targets: no one knows who leads"},
		{withService[strings.Index(withService, "service:"):], "", "peers cuts servers from each other"},
	} {
		text := strings.Replace(withService, c.from, c.to, 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v, want %s", c.to, c.from, err, c.want)
		}
	}
}

// TestAClientOfAnotherStoreBringsItsServers: the scenario may give their number, and servers of its own.
func TestAClientOfAnotherStoreBringsItsServers(t *testing.T) {
	for _, c := range []struct {
		text, service string
		masters       int
	}{
		{"client: [etcd]\nfaults: [peers]\n", "etcd", 3},
		{"client: [kazoo-lost]\nmasters: 5\n", "ZooKeeper", 5},
		{"client: [redis-py-sentinel]\n", "Redis Sentinel", 6},
		{"client: [redis-py]\n", "", 5},
		{strings.Replace(withService, "my-client", "etcd", 1), "store", 3},
	} {
		s, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatalf("%s%v", c.text, err)
		}
		service := ""
		if s.Service != nil {
			service = s.Service.Name
		}
		if service != c.service || s.Masters != c.masters {
			t.Errorf("%s%d servers of %q", c.text, s.Masters, service)
		}
	}
}
