package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/history"
)

// TestLogs prints what the importer makes of logs: their problems, the certain holds, the possible
// overlaps, and which flag helps.
func TestLogs(t *testing.T) {
	datadriven.Walk(t, "testdata/logs", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o := Options{Format: Format(d.Cmd), Map: map[string]string{}, Events: map[string]string{}, HostErrors: map[string]time.Duration{}}
			for _, a := range d.CmdArgs {
				option(t, &o, a.Key, a.Vals)
			}
			im, err := New(o)
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			for n, file := range strings.Split(d.Input, "\n===\n") { // === separates files
				if err := im.Read(fmt.Sprintf("%c.log", 'a'+n), strings.NewReader(file)); err != nil {
					return fmt.Sprintf("error: %v\n", err)
				}
			}
			l, err := im.Log()
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			return told(l)
		})
	})
}

func option(t *testing.T, o *Options, name string, values []string) {
	t.Helper()
	parse := func(s string) time.Duration {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, v := range values {
		key, value, _ := strings.Cut(v, ":")
		switch name {
		case "map":
			o.Map[key] = value
		case "event":
			o.Events[value] = key
		case "clock-error":
			if value == "" {
				d := parse(key)
				o.ClockError = &d
			} else {
				o.HostErrors[key] = parse(value)
			}
		case "call-time":
			d := parse(v)
			o.CallTime = &d
		case "ttl":
			if o.NoTTL = v == "none"; !o.NoTTL {
				o.TTL = parse(v)
			}
		case "time-unit":
			o.TimeUnit = parse(v)
		case "ttl-unit":
			o.TTLUnit = parse(v)
		case "delimiter":
			o.Delimiter = rune(v[0])
		case "zone":
			zone, err := time.LoadLocation(v)
			if err != nil {
				t.Fatal(err)
			}
			o.Zone = zone
		default:
			t.Fatalf("no option %s", name)
		}
	}
}

// told formats everything that was derived from a log.
func told(l *Log) string {
	var b strings.Builder
	for _, n := range l.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range l.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	for _, d := range l.Doubts() {
		fmt.Fprintf(&b, "doubt: %s\n", d)
	}
	fmt.Fprintf(&b, "%d holds, %d certain, from %s\n", l.Holds, l.Judged, l.Header().Started.Format(time.RFC3339Nano))
	for _, op := range l.All().Ops {
		if op.F == history.FEnd || op.F == history.FRelease && op.Type == history.OK {
			continue
		}
		fmt.Fprintf(&b, "%v %s %s %s", op.Time, op.Process, op.F, op.Type)
		if op.Key != "" {
			fmt.Fprintf(&b, " %s", op.Key)
		}
		if v := op.Value; v != nil {
			fmt.Fprintf(&b, " %s", v.Token)
			if v.ValidUntil != 0 {
				fmt.Fprintf(&b, " until %v", v.ValidUntil)
			}
			fmt.Fprintf(&b, " (%s)", v.Evidence)
		}
		b.WriteByte('\n')
	}
	n, some := l.Possible(3)
	for _, p := range some {
		fmt.Fprintf(&b, "possible: %s\n", p)
	}
	if n > len(some) {
		fmt.Fprintf(&b, "%d possible in all\n", n)
	}
	return b.String()
}
