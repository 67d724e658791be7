package history

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestViews prints the Leases, Calls, Votes and Faults of the histories in
// testdata/views. An operation has the form
//
//	<time> <process> <type> <f> [key=k0] [token=t1] [until=2s] …
//
// An underscore in a value is a space.
func TestViews(t *testing.T) {
	datadriven.Walk(t, "testdata/views", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			ops := parse(t, d)
			var b strings.Builder
			switch d.Cmd {
			case "leases":
				for _, l := range Leases(ops) {
					printLease(&b, l)
				}
			case "calls":
				printCalls(&b, ops)
			case "votes":
				for _, v := range Votes(ops) {
					says := "no"
					switch {
					case v.Yes && v.Unknown:
						says = "yes and unknown at once"
					case v.Yes:
						says = "yes"
					case v.Unknown:
						says = "unknown (" + v.Error + ")"
					}
					fmt.Fprintf(&b, "%d: at %v after %v: %s to %s, %s %s of %s: %s\n", v.Index, v.At, v.Took, v.Master, v.Client, v.Command, v.Token, v.Key, says)
				}
			case "faults":
				for _, f := range Faults(ops) {
					printFault(&b, f)
				}
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return b.String()
		})
	})
}

func printCalls(b *strings.Builder, ops []Op) {
	calls := CallsOf(ops)
	for i := range ops {
		if !calls.Completed(i) {
			continue
		}
		began, known := calls.Began(i)
		how := fmt.Sprintf("no invocation, began at %v or later", began)
		if invocation, ok := calls.Invocation(i); ok && known {
			how = fmt.Sprintf("began at %v (line %d)", began, invocation)
		}
		fmt.Fprintf(b, "%d %s %s %s: %s\n", i, ops[i].Process, ops[i].F, ops[i].Type, how)
	}
}

func printLease(b *strings.Builder, l *Lease) {
	again := ""
	if l.Reused {
		again = ", a token that had been granted before"
	}
	fmt.Fprintf(b, "%s of %s on %s, fence %d: invoked %v, acquired %v, until %v%s\n", l.Token, l.Process, l.Key, l.Fence, l.Invoked, l.Acquired(), l.Until(), again)
	for _, g := range l.Grants {
		fmt.Fprintf(b, "  grant at %v until %v (line %d)\n", g.At, g.Until, g.Index)
	}
	for _, s := range l.Holds() {
		empty := ""
		if s.Empty() {
			empty = " empty"
		}
		fmt.Fprintf(b, "  hold [%v, %v)%s\n", s.From, s.To, empty)
	}
	if l.ReleaseIndex >= 0 {
		fmt.Fprintf(b, "  released at %v (line %d)\n", l.Released, l.ReleaseIndex)
	}
	if l.CrashIndex >= 0 {
		fmt.Fprintf(b, "  its client crashed at %v (line %d)\n", l.Crashed, l.CrashIndex)
	}
	if l.EnterIndex >= 0 {
		fmt.Fprintf(b, "  inside from %v to %v (lines %d, %d)\n", l.Entered, l.Left, l.EnterIndex, l.LeaveIndex)
	}
}

func printFault(b *strings.Builder, f *Fault) {
	fmt.Fprintf(b, "%d %s of %v %v %v: began %v, from %v to %v\n", f.ID, f.Name, f.Masters, f.Clients, f.Params, f.Began, f.From, f.To)
	fmt.Fprintf(b, "  installed %v, healed %v, bit %v (%s), lines %d, %d\n", f.Installed, f.Healed, f.TookEffect, f.Evidence, f.Index, f.HealIndex)
	if f.Skipped != "" {
		fmt.Fprintf(b, "  skipped: %s\n", f.Skipped)
	}
	if f.Problem != "" {
		fmt.Fprintf(b, "  problem: %s\n", f.Problem)
	}
}

func parse(t *testing.T, d *datadriven.TestData) []Op {
	t.Helper()
	var ops []Op
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		at, err := time.ParseDuration(words[0])
		if err != nil || len(words) < 4 {
			d.Fatalf(t, "%q: %v", line, err)
		}
		op := Op{Index: len(ops), Time: at, Process: words[1], Type: Type(words[2]), F: words[3]}
		v := &Value{}
		for _, w := range words[4:] {
			name, text, _ := strings.Cut(w, "=")
			text = strings.ReplaceAll(text, "_", " ")
			duration := func() time.Duration {
				d, err := time.ParseDuration(text)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			switch name {
			case "key":
				op.Key = text
			case "error":
				op.Error = text
			case "token":
				v.Token = text
			case "until":
				v.ValidUntil = duration()
			case "fence":
				v.Fence, _ = strconv.ParseInt(text, 10, 64)
			case "client":
				v.Client = text
			case "command":
				v.Command = text
			case "yes":
				v.Yes = true
			case "took":
				v.Took = duration()
			case "id":
				v.ID, _ = strconv.Atoi(text)
			case "phase":
				v.Phase = text
			case "masters":
				v.Masters = strings.Split(text, ",")
			case "clients":
				v.Clients = strings.Split(text, ",")
			case "mode":
				v.Params = map[string]string{"mode": text}
			case "bit":
				v.TookEffect = true
			case "evidence":
				v.Evidence = text
			default:
				d.Fatalf(t, "%q: unknown field %q", line, name)
			}
		}
		if len(words) > 4 {
			op.Value = v
		}
		ops = append(ops, op)
	}
	return ops
}
