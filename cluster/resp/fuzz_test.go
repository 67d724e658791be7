package resp

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lockpick/internal/inputs"
)

// FuzzConversation: whatever comes, nothing panics, no byte is changed, memory stays bounded, and it
// makes no difference how the bytes are cut into pieces.
func FuzzConversation(f *testing.F) {
	for i, x := range seeds {
		f.Add([]byte(x.requests), []byte(x.replies), uint8(2*i+1))
	}
	f.Fuzz(func(t *testing.T, requests, replies []byte, size uint8) {
		random := rand.New(rand.NewPCG(uint64(size), 0))
		checkTraffic(t, &traffic{requests: requests, replies: replies, size: int(size)%17 + 1}, random)
	})
}

// TestManyInputs is the same of many more inputs: valid and broken commands and replies.
func TestManyInputs(t *testing.T) {
	random := inputs.Random(t)
	g := newGenerator(random)
	inputs.Count(t, "FuzzConversation", func() any { return g.next() }, func(t *testing.T, input any) {
		checkTraffic(t, input.(*traffic), random)
	})
}

// traffic is what a client and a master send each other: some of the requests, some of the replies, and
// then the rest of both. The first parts end where the cuts say, if these are in range.
type traffic struct {
	requests, replies    []byte
	requestCut, replyCut int
	size                 int // the longest piece that is read at once
}

func (x *traffic) String() string {
	return fmt.Sprintf("requests %q cut at %d, replies %q cut at %d, pieces of %d", x.requests, x.requestCut, x.replies, x.replyCut, x.size)
}

var seeds = []struct{ requests, replies string }{
	{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "$1\r\nv\r\n"},
	{"MULTI\r\nA\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n"},
	{"EVAL \"redis.call('set',KEYS[1],ARGV[1],'px',ARGV[2])\" 1 k t 5\r\n", "|1\r\n+a\r\n+b\r\n>1\r\n+x\r\n+OK\r\n"},
	{"SET k t NX PX 99999999999\r\nDEL k\r\n*1\r\n$4\r\nPING\r\n", "+OK\r\n:1\r\n%1\r\n+k\r\n_\r\n"},
	{"SUBSCRIBE c\r\nhset k f 1\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n:1\r\n"},
}

// checkTraffic follows the same traffic in one piece and in random pieces.
func checkTraffic(t *testing.T, x *traffic, random *rand.Rand) {
	requests, replies := bytes.Clone(x.requests), bytes.Clone(x.replies)
	whole, pieces := fnv.New64a(), fnv.New64a()
	follow(x, nil, whole)
	seed := [2]uint64{random.Uint64(), random.Uint64()}
	follow(x, rand.New(rand.NewPCG(seed[0], seed[1])), pieces)
	if whole.Sum64() != pieces.Sum64() {
		var one, other strings.Builder
		follow(x, nil, &one)
		follow(x, rand.New(rand.NewPCG(seed[0], seed[1])), &other)
		t.Errorf("%v\nin one piece:\n%s\nin pieces:\n%s", x, &one, &other)
	}
	if !bytes.Equal(x.requests, requests) || !bytes.Equal(x.replies, replies) {
		t.Errorf("%q, %q were changed to %v", requests, replies, x)
	}
}

// follow writes what a conversation makes of traffic. The pieces are of random lengths; random is nil:
// each part is one piece.
func follow(x *traffic, random *rand.Rand, told io.Writer) {
	over := false
	c := &Conversation{Tell: func(x Exchange) { io.WriteString(told, text(x)) }}
	c.Lost = func(why error) {
		if over {
			panic("lost twice")
		}
		over = true
		fmt.Fprintln(told, "lost:", why)
	}
	at := time.Unix(1, 0)
	var buffer []byte
	send := func(b []byte, to func([]byte, time.Time)) {
		for len(b) > 0 {
			n := len(b)
			if random != nil {
				n = min(n, 1+random.IntN(x.size))
			}
			// The link's buffer: it is used again at once.
			buffer = append(buffer[:0], b[:n]...)
			to(buffer, at)
			if !bytes.Equal(buffer, b[:n]) {
				panic("bytes were changed")
			}
			clear(buffer)
			b = b[n:]
		}
	}
	requestCut, replyCut := min(x.requestCut, len(x.requests)), min(x.replyCut, len(x.replies))
	send(x.requests[:requestCut], c.Request)
	send(x.replies[:replyCut], c.Reply)
	send(x.requests[requestCut:], c.Request)
	send(x.replies[replyCut:], c.Reply)
	if c.size < 0 || c.size > maxPendingText || c.count < 0 || c.count > maxPending ||
		cap(c.requests.kept) > 2*maxKept || cap(c.replies.kept) > 2*maxKept || cap(c.requests.line) > 2*maxLine || cap(c.replies.line) > 2*maxLine {
		panic(fmt.Sprintf("%d commands with %d bytes of arguments wait", c.count, c.size))
	}
	c.End(at)
	if !over && (c.size != 0 || c.count != 0) {
		panic(fmt.Sprintf("after the end %d commands with %d bytes of arguments wait", c.count, c.size))
	}
}
