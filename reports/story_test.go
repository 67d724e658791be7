package reports

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/reports/term"
)

// parsed reads a history that is written for people: a line an operation,
//
//	TIME PROCESS F TYPE [name=value …]
//
// with the time in seconds, the first word of an error as error=…, and lists
// with commas. Several processes stand for a line each.
func parsed(t *testing.T, header history.Header, text string) *history.History {
	t.Helper()
	h := &history.History{Header: header}
	for _, row := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(row)
		if len(words) < 4 {
			t.Fatalf("not an operation: %q", row)
		}
		if strings.HasPrefix(words[0], "#") {
			continue
		}
		op := history.Op{Time: seconds(t, words[0]), F: words[2], Type: history.Type(words[3]), Value: &history.Value{}}
		for _, w := range words[4:] {
			name, value, _ := strings.Cut(w, "=")
			switch v := op.Value; name {
			case "key":
				op.Key = value
			case "error":
				op.Error = value
			case "token":
				v.Token = value
			case "until":
				v.ValidUntil = seconds(t, value)
			case "fence":
				v.Fence, _ = strconv.ParseInt(value, 10, 64)
			case "twin":
				v.Fenced = true
			case "client":
				v.Client = value
			case "command":
				v.Command = value
			case "yes":
				v.Yes = true
			case "took":
				v.Took = seconds(t, value)
			case "point":
				v.Point = value
			case "state":
				v.State = value
			case "keys":
				v.Keys = map[string]string{}
				for _, pair := range strings.Split(value, ",") {
					if k, token, ok := strings.Cut(pair, ":"); ok {
						v.Keys[k] = token
					}
				}
			case "id":
				v.ID, _ = strconv.Atoi(value)
			case "phase":
				v.Phase = value
			case "masters":
				v.Masters = strings.Split(value, ",")
			case "clients":
				v.Clients = strings.Split(value, ",")
			case "bit":
				v.TookEffect = true
			case "value":
				v.Value, _ = strconv.ParseInt(value, 10, 64)
			case "bound":
				v.Bound = seconds(t, value)
			case "mode", "direction", "clock", "rate", "delay", "at-point":
				if v.Params == nil {
					v.Params = map[string]string{}
				}
				v.Params[strings.TrimPrefix(name, "at-")] = value
			default:
				t.Fatalf("unknown field %q in %q", name, row)
			}
		}
		for _, process := range strings.Split(words[1], ",") {
			op.Index, op.Process = len(h.Ops), process
			h.Ops = append(h.Ops, op)
		}
	}
	return h
}

func seconds(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tellLanes writes a timeline as its lanes, for golden files.
func tellLanes(tl *timeline) string {
	var b strings.Builder
	from := func(from, to time.Duration) string { return fmt.Sprintf("%.2f-%.2f", from.Seconds(), to.Seconds()) }
	for c, name := range tl.clients {
		for _, a := range tl.attempts {
			if a.client != c {
				continue
			}
			fmt.Fprintf(&b, "%s  %s  acquire %s %s", name, from(a.invoked, a.returned), tl.keys[a.key], [...]string{"granted", "refused", "unknown"}[a.outcome])
			if a.token != "" {
				fmt.Fprintf(&b, ", token %s", a.token)
			}
			if len(a.tries) > 1 {
				fmt.Fprintf(&b, " after %d tries", len(a.tries))
			}
			if len(a.votes) > 0 {
				fmt.Fprintf(&b, ", %s", term.Plural(len(a.votes), "vote"))
			}
			if a.lease != nil {
				for _, s := range a.lease.Holds() {
					fmt.Fprintf(&b, ", held %s", from(s.From, s.To))
				}
			}
			b.WriteByte('\n')
		}
		for _, w := range tl.writes {
			if w.client == c {
				twin := ""
				if w.twin {
					twin = " on the twin"
				}
				fmt.Fprintf(&b, "%s  %.2f       write %s%s\n", name, w.at.Seconds(), [...]string{"applied", "applied, stale", "refused by its fence"}[w.effect], twin)
			}
		}
		for _, p := range tl.pauses {
			if p.client == c {
				fmt.Fprintf(&b, "%s  %s  stood still %s\n", name, from(p.from, p.to), p.point)
			}
		}
	}
	for m, name := range tl.masters {
		for _, s := range tl.states {
			if s.master == m {
				fmt.Fprintf(&b, "%s  %s  %s\n", name, from(s.from, s.to), s.is)
			}
		}
		for _, s := range tl.stored {
			if s.master == m {
				token := "a token of no known acquire"
				if s.attempt >= 0 {
					token = s.token + " of " + tl.clients[tl.attempts[s.attempt].client]
				}
				fmt.Fprintf(&b, "%s  %s  %s: %s, %s\n", name, from(s.from, s.to), tl.keys[s.key], token,
					[...]string{"still held", "released", "expired", "lost", "replaced", "gone, it said"}[s.ending])
			}
		}
	}
	return b.String()
}
