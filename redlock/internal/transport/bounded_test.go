package transport

import (
	"strings"
	"testing"
)

// TestReplySizes: replies within the limits pass whole, in whatever pieces they arrive. Of others no
// byte passes from which go-redis could take a size, or a line without an end.
func TestReplySizes(t *testing.T) {
	for _, c := range []struct{ replies, why string }{
		{"+OK\r\n-ERR no\r\n:1\r\n$-1\r\n$2\r\nOK\r\n$0\r\n\r\n*-1\r\n*0\r\n_\r\n#t\r\n,1.5\r\n(123\r\n!3\r\nERR\r\n=6\r\ntxt:OK\r\n", ""},
		{"%2\r\n+a\r\n*2\r\n:1\r\n:2\r\n+b\r\n~1\r\n:1\r\n|1\r\n+a\r\n+b\r\n>2\r\n+x\r\n+y\r\n|0\r\n:1\r\n", ""},
		{strings.Repeat(strings.Repeat("*1\r\n", DepthMost)+":1\r\n", 3), ""},
		{strings.Repeat("*100\r\n"+strings.Repeat("$1\r\na\r\n", 100), 1000), ""},
		{strings.Repeat("|1\r\n+a\r\n+b\r\n+OK\r\n", 2*ElementsMost), ""},
		{"$9223372036854775807\r\n", "announces"},
		{"+OK\r\n$99999999999999999999999999\r\n", "announces"},
		{"*1048577\r\n", "announces"},
		{"*8193\r\n", "elements"},
		{"%4097\r\n", "elements"},
		{strings.Repeat("*2000\r\n", 5), "elements"},
		{strings.Repeat("|0\r\n", ElementsMost+1), "elements"},
		{strings.Repeat("*1\r\n", DepthMost+1), "deeper"},
		{"*2\r\n" + strings.Repeat("$1000000\r\n"+strings.Repeat("a", 1_000_000)+"\r\n", 2), "bytes"},
		{"+" + strings.Repeat("a", LineMost), "line"},
		{"$?\r\n", "in a size"},
		{">x\r\n", "in a size"},
	} {
		for _, piece := range []int{1, 7, len(c.replies)} {
			var r replySizes
			passed, why := 0, ""
			for i := 0; i < len(c.replies) && why == ""; i += piece {
				var n int
				n, why = r.check([]byte(c.replies[i:min(i+piece, len(c.replies))]))
				passed += n
			}
			switch {
			case c.why == "" && (why != "" || passed != len(c.replies) || r.depth != 0):
				t.Errorf("%.40q in pieces of %d: %d bytes passed, %q", c.replies, piece, passed, why)
			case c.why != "" && (!strings.Contains(why, c.why) || strings.HasSuffix(c.replies[:passed], c.replies)):
				t.Errorf("%.40q in pieces of %d: %d bytes passed, %q", c.replies, piece, passed, why)
			}
		}
	}
}
