package shadow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// TestStreams makes steps of recorded streams: lines of MONITOR, events as "! DATABASE KEY EVENT", and
// "mark" where a marker of the harness came. What one block leaves is there in the next one.
//
//	stream             lines and events
//	begin              another connection goes on
//	snapshot now=MS    keys as "DATABASE KEY TYPE DEADLINE VALUE"
func TestStreams(t *testing.T) {
	datadriven.Walk(t, "testdata/streams", func(t *testing.T, path string) {
		var b strings.Builder
		unsure := ""
		g := newGroup(func(x cluster.Executed) { b.WriteString(render(x)) }, func(why string) { unsure = why })
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			b.Reset()
			unsure = ""
			switch d.Cmd {
			case "stream":
				for l := range strings.Lines(d.Input) {
					play(t, g, strings.TrimSuffix(l, "\n"))
				}
			case "begin":
				g.begin("reason")
			case "snapshot":
				var s snapshot
				d.ScanArgs(t, "now", &s.now)
				s.all = map[place]entry{}
				for l := range strings.Lines(d.Input) {
					var p place
					var e entry
					if _, err := fmt.Sscan(l, &p.db, &p.key, &e.kind, &e.deadline, &e.text); err != nil {
						t.Fatalf("%q: %v", l, err)
					}
					if e.kind != "string" {
						e.text = ""
					}
					s.all[p] = e
				}
				g.compare(s, time.Time{})
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			if unsure != "" {
				fmt.Fprintf(&b, "wants a snapshot: %s\n", unsure)
			}
			return b.String()
		})
	})
}

// play gives a group one line of a recording.
func play(t *testing.T, g *group, l string) {
	t.Helper()
	if l == "mark" {
		g.pause(time.Time{})
		return
	}
	if !strings.HasPrefix(l, "! ") {
		parsed, err := resp.ParseMonitor([]byte(l))
		if err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		g.line(parsed, time.Time{})
		return
	}
	var e event
	if _, err := fmt.Sscanf(l, "! %d %q %s", &e.db, &e.key, &e.what); err != nil {
		t.Fatalf("%q: %v", l, err)
	}
	g.event(e, time.Time{})
}

// render writes a step as text.
func render(x cluster.Executed) string {
	var b strings.Builder
	who := x.Conn
	if who == "" {
		who = "-"
	}
	fmt.Fprintf(&b, "%s %.60q\n", who, x.Args)
	if x.Gap != "" {
		fmt.Fprintf(&b, "  gap: %s\n", x.Gap)
	}
	for _, c := range x.Calls {
		fmt.Fprintf(&b, "  calls %.60q\n", c)
	}
	for _, c := range x.Changes {
		fmt.Fprintf(&b, "  %s %s", c.Key, c.Kind)
		if c.Doubtful != "" {
			fmt.Fprintf(&b, ", doubtful: %s\n", c.Doubtful)
			continue
		}
		fmt.Fprintf(&b, ": %s", c.Type)
		if c.Type == "string" {
			fmt.Fprintf(&b, " %.40q -> %.40q", c.Before, c.Value)
		}
		if c.Left != 0 {
			fmt.Fprintf(&b, ", %v left", c.Left)
		}
		if c.Call != nil {
			fmt.Fprintf(&b, ", by %.40q", c.Call)
		}
		b.WriteString("\n")
	}
	return b.String()
}
