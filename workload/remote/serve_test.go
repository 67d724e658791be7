package remote

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestServe prints what a client process answers. The directives are
//
//	serve           a new process
//	ask             each line is a request, and is followed by what comes up to an outcome or a point
//	tell            requests that nothing answers
//	await           what comes by itself, up to the end of a lease
//	end             stdin ends: what else comes, and what Serve returns
//
// $M is the address of a master, and t1, t2, … are tokens in the order in which they came.
func TestServe(t *testing.T) {
	master := masters(t, 1)[0]
	var s *conversation
	datadriven.RunTest(t, "testdata/serve.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "serve" {
			s = converse(t, master)
			return ""
		}
		switch d.Cmd {
		case "ask":
			for _, request := range strings.Split(d.Input, "\n") {
				s.tell(request)
				s.hear("ok", "fail", "info", "point")
			}
		case "tell":
			s.tell(d.Input)
		case "await":
			s.hear("ended")
		case "end":
			s.in.Close()
			s.hear()
		default:
			d.Fatalf(t, "no such directive")
		}
		return s.said()
	})
}

// conversation is one with a Serve that runs here.
type conversation struct {
	t      *testing.T
	master string
	in     *io.PipeWriter
	lines  chan string // closed when Serve has returned
	err    error       // of Serve
	tokens []string
	b      strings.Builder
}

func converse(t *testing.T, master string) *conversation {
	requests, in := io.Pipe()
	out, messages := io.Pipe()
	s := &conversation{t: t, master: master, in: in, lines: make(chan string, 100)}
	go func() {
		s.err = Serve(requests, messages)
		messages.Close()
		requests.Close()
	}()
	go func() {
		defer close(s.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			s.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		for range s.lines {
		}
	})
	return s
}

func (s *conversation) tell(request string) {
	request = strings.ReplaceAll(request, "$M", s.master)
	for i, token := range s.tokens {
		request = strings.ReplaceAll(request, fmt.Sprintf(`"t%d"`, i+1), `"`+token+`"`)
	}
	_, _ = fmt.Fprintln(s.in, request) // an error: Serve has returned, which hear tells
}

// hear notes messages up to one of a type in until, or to the end.
func (s *conversation) hear(until ...string) {
	for {
		select {
		case l, more := <-s.lines:
			if !more {
				fmt.Fprintf(&s.b, "served: %v\n", s.err)
				return
			}
			fmt.Fprintln(&s.b, s.known(l))
			for _, u := range until {
				if strings.HasPrefix(l, `{"type":"`+u+`"`) {
					return
				}
			}
		case <-time.After(10 * time.Second):
			s.t.Fatalf("nothing more came after\n%s", s.b.String())
		}
	}
}

func (s *conversation) said() string {
	defer s.b.Reset()
	return s.b.String()
}

var (
	tokens = regexp.MustCompile(`[0-9a-f]{40}`)
	took   = regexp.MustCompile(`"took":[0-9]+`)
	when   = regexp.MustCompile(`,"when":[0-9]+`)
	left   = regexp.MustCompile(`"left":(-?[0-9]+),"at":([0-9]+)`)
)

// known makes of a message what it is each time. Whether the time of a lease's end is
// right, the tests with a real process tell.
func (s *conversation) known(l string) string {
	var m Message
	if err := json.Unmarshal([]byte(l), &m); err != nil {
		return "no message: " + l
	}
	l = tokens.ReplaceAllStringFunc(l, func(token string) string {
		for i, t := range s.tokens {
			if t == token {
				return fmt.Sprintf("t%d", i+1)
			}
		}
		s.tokens = append(s.tokens, token)
		return fmt.Sprintf("t%d", len(s.tokens))
	})
	if age := time.Duration(monotonic() - m.At); m.Left > 0 && age >= 0 && age < 10*time.Second {
		l = left.ReplaceAllString(l, `"left":…,"at":…`)
	}
	l = took.ReplaceAllString(l, `"took":…`)
	l = when.ReplaceAllString(l, "")
	return strings.ReplaceAll(l, s.master, "$M")
}

// TestNobodyAsksAnyMore: who waits for a lock gives up when stdin ends.
func TestNobodyAsksAnyMore(t *testing.T) {
	s := converse(t, nowhere)
	s.tell(`{"op":"init","client":"c1","lock":"redlock","masters":["$M"],"ttl":1000000000,"timeout":10000000}`)
	s.tell(`{"op":"acquire","key":"k0","within":3600000000000}`)
	s.hear("vote")
	s.in.Close()
	s.hear()
	if said := s.said(); s.err != nil || !strings.Contains(said, errInEnded.Error()) {
		t.Errorf("%v after\n%s", s.err, said)
	}
}
