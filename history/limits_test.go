package history

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestManyFieldsAreRefused checks that the number of fields is bounded, not only their length.
func TestManyFieldsAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"lockpick_history\":2}\n{")
	for i := range 1 << 20 {
		fmt.Fprintf(&b, `"%d":1,`, i)
	}
	b.WriteString("\n")
	_, err := Read(strings.NewReader(b.String()))
	if want := "history: line 2: not an operation: there are more than 1000 fields"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// endless is a reader that repeats a text between a start and an end.
type endless struct {
	start, middle string
	times         int
	end           string
	at            int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		total := len(e.start) + e.times*len(e.middle) + len(e.end)
		if e.at >= total {
			return n, io.EOF
		}
		switch i := e.at - len(e.start); {
		case i < 0:
			p[n] = e.start[e.at]
		case i < e.times*len(e.middle):
			p[n] = e.middle[i%len(e.middle)]
		default:
			p[n] = e.end[i-e.times*len(e.middle)]
		}
		n++
		e.at++
	}
	return n, nil
}

// TestHostileInputIsRefused checks that hostile input is refused with one sentence that names the
// line, and that reading it allocates no more memory than a line of the maximum length needs.
func TestHostileInputIsRefused(t *testing.T) {
	const header = `{"lockpick_history":2}` + "\n"
	for name, c := range map[string]struct {
		in   endless
		want string
	}{
		"a line without end":      {endless{header + `{"index":0,"time":5,"f":"`, "x", 1 << 30, "", 0}, "history: line 2: the line is longer than 16 MiB"},
		"a header without end":    {endless{"", "x", 1 << 30, "", 0}, "history: line 1: the line is longer than 16 MiB"},
		"deep lists in a field":   {endless{header + `{"index":0,"x":`, "[", 8 << 20, "\n", 0}, "history: line 2: not an operation: invalid character '[' exceeded max depth"},
		"deep objects in a field": {endless{header + `{"index":0,"value":{"x":`, `{"a":`, 1 << 20, "\n", 0}, "history: line 2: not an operation: invalid character '{' exceeded max depth"},
		"a deep header":           {endless{`{"lockpick_history":2,"x":`, "[", 8 << 20, "\n", 0}, "history: line 1: not a history's header: invalid character '[' exceeded max depth"},
		"many unknown fields":     {endless{header + `{`, `"a":1,`, 1 << 20, "\n", 0}, `history: line 2: not an operation: field "a" stands twice`},
		"a key that comes again":  {endless{header + `{"index":0,"time":5,"value":{"keys":{`, `"k":"t",`, 1 << 20, `"l":"t"}}}` + "\n", 0}, `history: line 2: not an operation: field "value.keys": field "k" stands twice`},
		"a name without end":      {endless{header + `{"`, `x`, 8 << 20, `":1}` + "\n", 0}, `history: line 2: not an operation: type "" is none of`},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(&c.in)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %.200v, want %s", err, c.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("%d MB were allocated in all", used>>20)
			}
		})
	}
}
