package checker

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"lockpick/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGolden judges the histories in testdata/golden. The command is "check", with
//
//	masters=5 ttl=2s persistence=none faults=(kill,pause) fencing   the header
//	clients=5 keys=1 properties=(ghost-keys) resource=cas-mark-last dead=5s hung=8s retry=120ms format=2
//	fair quorum=1                                                       a lock with a queue on one master
//	service=etcd                                                        the masters are servers of another store
//	only=(L2,notified)                                                  print only these levels and properties
//	porcupine=(timeout|agrees|disagrees)                            replace porcupine's answer
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "check" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			h, only, porcupine, err := parseCase(t, d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			second := func(p *history.Packed) linearizability {
				switch porcupine {
				case "timeout":
					return linearizability{undecided: true, limit: time.Minute}
				case "disagrees":
					return linearizability{illegal: map[string]bool{"k9": true}}
				}
				return linearizable(p, time.Minute)
			}
			rep := check(h, second)
			if err := Retold(rep); err != nil {
				t.Errorf("%s: %v", d.Pos, err)
			}
			oneByOne(t, rep, func(p Property) Report { return check(h, second, p) })
			w := Watch{Header: h.Header}
			for _, op := range h.Ops {
				w.Observe(op)
			}
			if n := len(sweptIn(&h.Header, h.Ops)); w.Violations() != n {
				d.Fatalf(t, "Watch counts %d violations of L2, the sweep %d", w.Violations(), n)
			}
			return print(rep, only)
		})
	})
}

// oneByOne checks that a property judged alone gets the same result as among all.
func oneByOne(t *testing.T, all Report, alone func(Property) Report) {
	for _, p := range Properties {
		var want []Result
		if r := all.Result(p); r != nil {
			want = []Result{*r}
		}
		if got := alone(p); !reflect.DeepEqual(got.Results, want) {
			t.Errorf("%s alone: %+v\namong all: %+v", p.Name, got.Results, want)
		}
	}
}

// parseCase reads the directive and the history of a case.
func parseCase(t *testing.T, d *datadriven.TestData) (h *history.History, only []string, porcupine string, err error) {
	header, only, porcupine := directive(t, d)
	h, err = parse(header, d.Input)
	return h, only, porcupine, err
}

// ParseCase reads a history as WriteHeader and WriteHistory print it.
func ParseCase(t *testing.T, header, text string) (*history.History, error) {
	cmd, args, err := datadriven.ParseLine(header)
	if err != nil {
		return nil, err
	}
	h, _, _, err := parseCase(t, &datadriven.TestData{Cmd: cmd, CmdArgs: args, Input: text})
	return h, err
}

func directive(t *testing.T, d *datadriven.TestData) (header history.Header, only []string, porcupine string) {
	header = history.Header{Masters: 5, Quorum: -1, TTL: 2 * time.Second, Persistence: "none"}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "masters":
			arg.Scan(t, 0, &header.Masters)
		case "ttl":
			ttl, err := time.ParseDuration(arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			header.TTL = ttl
		case "driver":
			header.Driver = arg.Vals[0]
		case "persistence":
			header.Persistence = arg.Vals[0]
		case "faults":
			header.Faults = arg.Vals
		case "clients":
			arg.Scan(t, 0, &header.Clients)
		case "keys":
			arg.Scan(t, 0, &header.Keys)
		case "properties":
			header.Properties = arg.Vals
		case "resource":
			header.Resource = arg.Vals[0]
		case "duplicates":
			header.Duplicates = true
		case "dead", "hung", "settle", "retry":
			wait, err := time.ParseDuration(arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			*map[string]*time.Duration{"dead": &header.DeadWaiter, "hung": &header.HungHolder, "settle": &header.Settle, "retry": &header.Retry}[arg.Key] = wait
		case "format":
			arg.Scan(t, 0, &header.Format)
		case "service":
			header.Service = arg.Vals[0]
		case "kind":
			header.Kind = history.LockKind(arg.Vals[0])
		case "permits":
			arg.Scan(t, 0, &header.Permits)
		case "fair":
			header.Fair = true
		case "quorum":
			arg.Scan(t, 0, &header.Quorum)
		case "fencing":
			header.Fencing = true
		case "only":
			only = arg.Vals
		case "porcupine":
			porcupine = arg.Vals[0]
		default:
			d.Fatalf(t, "unknown argument %q", arg.Key)
		}
	}
	if header.Quorum < 0 { // not given; 0: the lock does not say
		header.Quorum = header.Masters/2 + 1
	}
	return header, only, porcupine
}

func print(rep Report, only []string) string {
	var b strings.Builder
	for _, r := range rep.Results {
		if only != nil && !slices.Contains(only, r.Level) && !slices.Contains(only, r.Name) {
			continue
		}
		fmt.Fprintf(&b, "%s %s: %s\n  %s\n", r.Level, r.Name, r.Verdict, r.Why)
		for _, v := range r.Violations {
			fmt.Fprintf(&b, "  * %s\n", v.Summary)
			for _, s := range v.Reason {
				fmt.Fprintf(&b, "    - %s\n", s)
			}
			fmt.Fprintf(&b, "    lines %v", v.Ops)
			if len(v.Faults) > 0 {
				fmt.Fprintf(&b, ", faults %v", v.Faults)
			}
			b.WriteString("\n")
		}
	}
	if err := rep.Err(); err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}
