package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anishathalye/porcupine"
	"olympos.io/encoding/edn"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports/junit"
	"lockpick/reports/story"
	"lockpick/reports/term"
)

// exported writes a run of the plan in a format.
func exported(t *testing.T, p plan, format string) (string, *Export) {
	t.Helper()
	h, r := synthesize(p)
	x := &Export{History: h, Result: r}
	x.Violation, _ = Violation(r, 0)
	return exportAs(t, x, format), x
}

func exportAs(t *testing.T, x *Export, format string) string {
	t.Helper()
	f, ok := ExportFormatNamed(format)
	if !ok {
		t.Fatalf("there is no format %q", format)
	}
	var out bytes.Buffer
	if err := f.Write(&out, x); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// mutexModel is Knossos' mutex, for porcupine.
var mutexModel = porcupine.Model{
	Init: func() any { return false },
	Step: func(state, input, _ any) (bool, any) {
		held := state.(bool)
		if input.(string) == "acquire" {
			return !held, true
		}
		return held, false
	},
}

// TestEDNIsAMutexHistoryThatIsLinearizableIfAndOnlyIfTheLockHeld reads the export with a parser
// of EDN, pairs the calls as Knossos does, and has porcupine judge them.
func TestEDNIsAMutexHistoryThatIsLinearizableIfAndOnlyIfTheLockHeld(t *testing.T) {
	for name, c := range map[string]struct {
		plan         plan
		linearizable bool
	}{"violated": {violatedPlan(), false}, "sound": {soundPlan(), true}} {
		t.Run(name, func(t *testing.T) {
			text, _ := exported(t, c.plan, "edn")
			type operation struct {
				Index   int         `edn:"index"`
				Time    int64       `edn:"time"`
				Process int         `edn:"process"`
				Type    edn.Keyword `edn:"type"`
				F       edn.Keyword `edn:"f"`
			}
			var calls []porcupine.Operation
			pending := map[int]operation{}
			last := int64(-1)
			d := edn.NewDecoder(strings.NewReader(text))
			for n := 0; ; n++ {
				var op operation
				if err := d.Decode(&op); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if op.Index != n || op.Time < last {
					t.Fatalf("line %d has the index %d and the time %d after %d", n, op.Index, op.Time, last)
				}
				last = op.Time
				call, busy := pending[op.Process]
				switch op.Type {
				case "invoke":
					if busy {
						t.Fatalf("line %d: process %d is in a call already", n, op.Process)
					}
					pending[op.Process] = op
				case "ok", "fail":
					if !busy || call.F != op.F {
						t.Fatalf("line %d completes no call of process %d", n, op.Process)
					}
					delete(pending, op.Process)
					if op.Type == "ok" {
						// Lines of one time are in order, which porcupine sees by their numbers.
						calls = append(calls, porcupine.Operation{ClientId: op.Process, Input: string(op.F), Call: int64(call.Index), Return: int64(op.Index)})
					}
				default:
					t.Fatalf("line %d has the type %q", n, op.Type)
				}
			}
			if len(calls) < 4 {
				t.Fatalf("only %d calls", len(calls))
			}
			if got := porcupine.CheckOperations(mutexModel, calls); got != c.linearizable {
				t.Errorf("linearizable: %v, want %v", got, c.linearizable)
			}
		})
	}
}

// TestPerfettoKeepsTheRulesOfTraceEvents checks what the viewer rejects or draws wrong: ends
// without beginnings, arrows without both ends, slices on one track that overlap in part.
func TestPerfettoKeepsTheRulesOfTraceEvents(t *testing.T) {
	text, x := exported(t, violatedPlan(), "perfetto")
	var trace struct {
		TraceEvents []struct {
			Name, Cat, Ph, ID string
			TS, Dur           float64
			PID, TID          int
			Args              map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	open, arrows, named := map[string]float64{}, map[string]int{}, map[string]bool{}
	slices := map[string][][2]float64{}
	votes := 0
	processes, owner, violated := map[int]string{}, map[string]int{}, map[string]int{} // by pid, by token, by process
	for _, e := range trace.TraceEvents {
		if name, ok := e.Args["name"].(string); ok && e.Name == "process_name" {
			processes[e.PID] = name
		}
		if token, ok := e.Args["token"].(string); ok && e.Ph == "b" { // its importer knows the process alone
			if pid, known := owner[token]; known && pid != e.PID {
				t.Fatalf("the lease %s is in two processes: %s and %s", token, processes[pid], processes[e.PID])
			}
			owner[token] = e.PID
		}
		if e.Ph == "i" && strings.HasSuffix(e.Name, " violated") {
			violated[processes[e.PID]]++
		}
		track := fmt.Sprintf("%d/%d", e.PID, e.TID)
		if e.Ph != "M" && !named[track] {
			t.Fatalf("%q is on track %s, which has no name yet", e.Name, track)
		}
		switch id := e.Cat + " " + e.ID; e.Ph {
		case "M":
			named[track] = true
		case "b":
			if _, twice := open[id]; twice {
				t.Fatalf("%s begins twice", id)
			}
			open[id] = e.TS
		case "e":
			from, begun := open[id]
			if !begun || e.TS < from {
				t.Fatalf("%s ends at %v and began at %v (%v)", id, e.TS, from, begun)
			}
			delete(open, id)
		case "s":
			arrows[e.ID]++
		case "f":
			arrows[e.ID]--
		case "X":
			slices[track] = append(slices[track], [2]float64{e.TS, e.TS + e.Dur})
			if e.Cat == "vote" {
				votes++
			}
		case "C", "i":
		default:
			t.Errorf("an event of the unknown phase %q", e.Ph)
		}
	}
	for _, l := range history.Leases(x.History.Ops) {
		if processes[owner[l.Token]] != l.Process {
			t.Errorf("the lease of %s is in the process %q", l.Process, processes[owner[l.Token]])
		}
	}
	if violated["violations"] != len(listViolations(x.Result)) || violated[x.Violation.Clients[0]] == 0 {
		t.Errorf("%d violations in the trace: %v", len(listViolations(x.Result)), violated)
	}
	if len(open) > 0 {
		t.Errorf("%d events never end: %v", len(open), open)
	}
	for id, n := range arrows {
		if n != 0 {
			t.Errorf("arrow %s has one end", id)
		}
	}
	for track, all := range slices {
		for i, a := range all {
			for _, b := range all[:i] {
				if a[0] < b[1] && b[0] < a[1] && a != b {
					t.Fatalf("track %s: %v and %v overlap in part", track, a, b)
				}
			}
		}
	}
	want := 0
	for i := range x.History.Ops {
		if x.History.Ops[i].F == history.FVote {
			want++
		}
	}
	if votes != want || votes == 0 {
		t.Errorf("%d votes, want those of the history: %d", votes, want)
	}
}

// mermaidLine is what a line of a sequence diagram may be.
var mermaidLine = regexp.MustCompile(`^(sequenceDiagram|    (participant|actor) p\d+ as [^;]+|    p\d+(->>|-x|-->>|--x)p\d+: .*|    Note over p\d+(,p\d+)?: .*)$`)

// characterCode is how Mermaid writes a character that is syntax.
var characterCode = regexp.MustCompile(`#\d+;`)

func TestMermaidKeepsItsSyntaxWhateverNamesSay(t *testing.T) {
	for name, p := range map[string]plan{"violated": violatedPlan(), "hostile": hostilePlan()} {
		text, _ := exported(t, p, "mermaid")
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			plain := characterCode.ReplaceAllString(line, "_")
			if !mermaidLine.MatchString(plain) || strings.ContainsAny(plain[min(len(plain), 20):], "#;<\"") {
				t.Errorf("%s: not a line of a sequence diagram: %s", name, line)
			}
		}
		if !strings.Contains(text, "✕") {
			t.Errorf("%s: the diagram does not say what is violated:\n%s", name, text)
		}
	}
}

func TestSVGIsWellFormedAndHoldsNoScript(t *testing.T) {
	for name, p := range map[string]plan{"violated": violatedPlan(), "hostile": hostilePlan()} {
		text, x := exported(t, p, "svg")
		elements := map[string]int{}
		said := ""
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				elements[e.Name.Local]++
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "script") {
						t.Errorf("%s: the attribute %s=%q", name, a.Name.Local, a.Value)
					}
				}
			case xml.CharData:
				said += string(e) + " "
			}
		}
		for e := range elements {
			if !strings.Contains(" svg title rect text line path ", " "+e+" ") {
				t.Errorf("%s: the element %s", name, e)
			}
		}
		for _, client := range x.Violation.Clients {
			if !strings.Contains(said, term.Cut(term.Printable(client), 12)) {
				t.Errorf("%s: the picture does not show %s", name, client)
			}
		}
	}
}

func TestITFHasAStateForEachStep(t *testing.T) {
	text, x := exported(t, violatedPlan(), "itf")
	var trace struct {
		Vars   []string
		States []map[string]any
	}
	if err := json.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	steps, _ := story.Steps(x.Violation)
	if len(trace.States) != len(steps)+1 {
		t.Errorf("%d states for %d steps and their conclusion", len(trace.States), len(steps))
	}
	both := false
	for i, s := range trace.States {
		if s["#meta"].(map[string]any)["index"] != float64(i) || len(s) != len(trace.Vars)+1 {
			t.Fatalf("state %d: %v", i, s)
		}
		for _, name := range trace.Vars {
			if _, ok := s[name]; !ok {
				t.Errorf("state %d has no %s", i, name)
			}
		}
		valid := 0
		for _, pair := range s["leases"].(map[string]any)["#map"].([]any) {
			if len(pair.([]any)[1].(map[string]any)["#set"].([]any)) > 0 {
				valid++
			}
		}
		both = both || valid > 1
	}
	if !both && x.Violation.Level == checker.MutualExclusion.Level {
		t.Error("in no state do two clients have valid leases, and that is the violation")
	}
}

func TestCSVHasARowForEachOperation(t *testing.T) {
	for name, p := range map[string]plan{"violated": violatedPlan(), "hostile": hostilePlan()} {
		text, x := exported(t, p, "csv")
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(rows) != len(x.History.Ops)+1 {
			t.Errorf("%s: %d rows for %d operations and a header", name, len(rows), len(x.History.Ops))
		}
	}
}

func TestJUnitOfARunFailsWhatIsViolatedAndSkipsWhatNobodyAskedFor(t *testing.T) {
	text, x := exported(t, violatedPlan(), "junit")
	var suites junit.Suites
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]checker.Verdict{}
	for _, v := range x.Result.Verdicts {
		verdicts[v.Level+" "+checker.TitleOf(v.Name)] = v.Verdict
	}
	violated := 0
	for _, c := range suites.Suites[0].Cases {
		if (c.Failure != nil) != (verdicts[c.Name] == checker.Violated) {
			t.Errorf("%s is %s, and its failure is %v", c.Name, verdicts[c.Name], c.Failure)
		}
		if c.Failure != nil {
			violated++
		}
	}
	if violated == 0 || violated != suites.Failures || suites.Tests != len(checker.Properties) {
		t.Errorf("%d failures counted, %d in the head; %d tests of %d properties", violated, suites.Failures, suites.Tests, len(checker.Properties))
	}
}

func TestAFormatOfAViolationSaysThatThereIsNone(t *testing.T) {
	x := &Export{History: &history.History{}, Result: &judge.Result{}}
	for _, f := range ExportFormats {
		err := f.Write(io.Discard, x)
		if f.Violation != errors.Is(err, ErrNothingToShow) || !f.Violation && err != nil {
			t.Errorf("%s of an empty run: %v", f.Name, err)
		}
	}
}

// TestACardFitsItsFrame: the picture to share is XML of 1200 by 630 with the verdict, four lifelines, the sentence and
// the command, and no text leaves it.
func TestACardFitsItsFrame(t *testing.T) {
	for name, p := range map[string]plan{"violated": violatedPlan(), "hostile": hostilePlan()} {
		_, x := exported(t, p, "card")
		x.Result.Command = "lockpick run /home/user/store/run/scenario.yaml"
		text := exportAs(t, x, "card")
		d := xml.NewDecoder(strings.NewReader(text))
		var said []string
		depth, x0, size := 0, 0.0, 0.0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			number := func(e xml.StartElement, name string) (n float64) {
				for _, a := range e.Attr {
					if a.Name.Local == name {
						n, _ = strconv.ParseFloat(a.Value, 64)
					}
				}
				return n
			}
			switch e := token.(type) {
			case xml.StartElement:
				if e.Name.Local == "svg" {
					if depth++; depth == 1 && (number(e, "width") != 1200 || number(e, "height") != 630) {
						t.Errorf("%s: %v by %v", name, number(e, "width"), number(e, "height"))
					}
				}
				if e.Name.Local == "text" {
					x0, size = number(e, "x"), number(e, "font-size")
				}
			case xml.CharData:
				if line := strings.TrimSpace(string(e)); line != "" {
					said = append(said, line)
					if wide := x0 + 0.62*size*float64(utf8.RuneCountInString(line)); size > 0 && wide > 1200 {
						t.Errorf("%s: %q is %v wide", name, line, wide)
					}
				}
			case xml.EndElement:
				if size = 0; e.Name.Local == "svg" {
					depth--
				}
			}
		}
		all := strings.Join(said, "\n")
		for _, want := range []string{"VIOLATED", x.Violation.Level, "masters", "$ lockpick run scenario.yaml"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the card does not say %s:\n%s", name, want, all)
			}
		}
		if name == "violated" && !strings.Contains(all, "storage") {
			t.Errorf("the card has no storage:\n%s", all)
		}
	}
}
