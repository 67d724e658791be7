package watch

import (
	"strings"
	"testing"
	"time"

	"lockpick/internal/inputs"
)

// FuzzTraffic checks that no bytes in either direction make the reader panic, and that reports
// contain no token.
func FuzzTraffic(f *testing.F) {
	for _, x := range trafficSeeds {
		f.Add(x[0], x[1], len(x[0])/4)
	}
	f.Fuzz(checkTraffic)
}

var trafficSeeds = [][2]string{
	{"*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$12\r\nsecret-token\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n", ":1\r\n:1\r\n"},
	{"*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\nsecret-token\r\n$2\r\nNX\r\n$2\r\nPX\r\n$2\r\n50\r\n*4\r\n$4\r\nEVAL\r\n$1\r\nx\r\n$1\r\n1\r\n$1\r\nk\r\n", "+OK\r\n-ERR\r\n"},
}

func checkTraffic(t *testing.T, requests, replies string, cut int) {
	l, err := NewLint(Options{Masters: 1, HashKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	tap := NewTap(l)
	s := tap.Open(0)
	cut = max(0, min(cut, len(requests)))
	s.add(Requests, []byte(requests[:cut]))
	s.add(Replies, []byte(replies))
	s.add(Requests, []byte(requests[cut:]))
	s.Close()
	tap.Close()
	var report strings.Builder
	r := l.Result(time.Now().Add(2*time.Second), Missed{})
	r.Print(&report)
	if err := l.WriteHistory(&report); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(report.String(), "secret-token") {
		t.Errorf("a token is printed:\n%s", &report)
	}
}

// FuzzMonitor checks that no line of MONITOR makes the reader panic.
func FuzzMonitor(f *testing.F) {
	for _, s := range monitorSeeds {
		f.Add(s)
	}
	f.Fuzz(checkMonitor)
}

func checkMonitor(t *testing.T, line string) {
	l, err := NewLint(Options{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	state := &inferred{keys: map[string]stored{}, conns: map[string]int64{}}
	for range 2 {
		if c, err := parseMonitor([]byte(line)); err == nil {
			state.take(l, 0, c)
		}
	}
	l.Result(time.Now(), Missed{})
}

var monitorSeeds = []string{
	`+1339518083.107412 [0 127.0.0.1:60866] "set" "k" "secret" "NX" "PX" "500"`,
	`+1339518083.107412 [0 lua] "get" "\x00k\""`,
}

// TestManyInputs runs the fuzz tests on many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzMonitor", func(t *testing.T) {
		inputs.Try(t, "FuzzMonitor", inputs.Texts(monitorSeeds), func(t *testing.T, b []byte) { checkMonitor(t, string(b)) })
	})
	t.Run("FuzzTraffic", func(t *testing.T) {
		var seeds [][]byte
		for _, x := range trafficSeeds {
			seeds = append(seeds, []byte(x[0]+separator+x[1]))
		}
		inputs.Try(t, "FuzzTraffic", seeds, func(t *testing.T, b []byte) {
			requests, replies, _ := strings.Cut(string(b), separator)
			checkTraffic(t, requests, replies, len(replies))
		})
	})
}

// separator separates the requests from the replies in a mutated input.
const separator = "\n<<<\n"
