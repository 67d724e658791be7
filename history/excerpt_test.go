package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestExcerpt checks that an excerpt of a random history has the selected lines and the ends of the
// calls and leases that begin in it, and that its operations are equal to those of the whole history.
func TestExcerpt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now time.Duration
		path := filepath.Join(os.TempDir(), fmt.Sprintf("excerpt-%d.jsonl", os.Getpid()))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		defer f.Close()
		r, err := NewRecorder(f, Header{Masters: 1, Clients: 3}, func() time.Duration { return now })
		if err != nil {
			t.Fatal(err)
		}
		tokens := map[string]string{} // by client: the token of its lease
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 3).Draw(t, "later")) * time.Second
			client := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "client")
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what == 0:
				r.Record(Op{Process: Nemesis, F: "kill", Type: OK, Value: &Value{ID: 1, Phase: PhaseInstall}})
			case what == 1:
				r.Record(Op{Process: "m1", F: FVote, Type: OK, Key: "k", Value: &Value{Client: client, Command: CommandSet, Token: fmt.Sprint("v", i)}})
			case tokens[client] == "":
				tokens[client] = fmt.Sprint("t", i)
				r.Record(Op{Process: client, F: FAcquire, Type: Invoke, Key: "k"})
				now += time.Second
				r.Record(Op{Process: client, F: FAcquire, Type: OK, Key: "k", Value: &Value{Token: tokens[client], ValidUntil: now + time.Hour}})
			default:
				r.Record(Op{Process: client, F: FRelease, Type: Invoke, Key: "k", Value: &Value{Token: tokens[client]}})
				now += time.Second
				r.Record(Op{Process: client, F: FRelease, Type: OK, Key: "k", Value: &Value{Token: tokens[client]}})
				delete(tokens, client)
			}
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		whole, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Duration(rapid.IntRange(0, 60).Draw(t, "from")) * time.Second
		e := Excerpt{Spans: []Span{{from, from + 5*time.Second}}, Lines: []int{rapid.IntRange(0, len(whole.Ops)).Draw(t, "line")}, Around: 1}
		some, err := ReadExcerpt(path, e)
		if err != nil {
			t.Fatal(err)
		}
		if some.Whole != len(whole.Ops) || some.Header.Clients != 3 {
			t.Fatalf("Whole is %d of %d, the header %+v", some.Whole, len(whole.Ops), some.Header)
		}
		for i := range whole.Ops {
			op := &whole.Ops[i]
			at, found := some.At(op.Index)
			if found && (some.Ops[at].F != op.F || some.Ops[at].Time != op.Time || some.Ops[at].Process != op.Process) {
				t.Errorf("line %d is %+v, want %+v", op.Index, some.Ops[at], *op)
			}
			asked := op.Process == Nemesis || from <= op.Time && op.Time < from+5*time.Second || max(op.Index-e.Lines[0], e.Lines[0]-op.Index) <= 1
			if asked && !found {
				t.Errorf("line %d is not there: %+v", op.Index, *op)
			}
			if !found || op.Type != Invoke {
				continue
			}
			end := i + 1 + slices.IndexFunc(whole.Ops[i+1:], func(o Op) bool { return o.Process == op.Process && o.F == op.F })
			if _, there := some.At(whole.Ops[end].Index); !there {
				t.Errorf("line %d is there, and line %d, which completes it, is not", op.Index, end)
			}
			if op.F != FAcquire {
				continue
			}
			for _, o := range whole.Ops[end:] {
				if _, there := some.At(o.Index); o.Process == op.Process && o.F == FRelease && o.Value.Token == whole.Ops[end].Value.Token && !there {
					t.Errorf("the lease of line %d is there, and its release in line %d is not", end, o.Index)
				}
			}
		}
		for _, op := range some.Ops {
			if whole.Ops[op.Index].F != op.F {
				t.Errorf("line %d is not of the history", op.Index)
			}
		}
	})
}

// TestExcerptLimitsItsLines checks that an excerpt keeps at most Most lines for its spans, besides the
// lines of the nemesis.
func TestExcerptLimitsItsLines(t *testing.T) {
	e := Excerpt{Spans: []Span{{0, time.Hour}}, Most: 3, tokens: map[string]bool{}, begun: map[string]string{}}
	kept := 0
	for i := range 10 {
		if e.keeps(&Op{Index: i, Process: "m1", F: FVote, Type: OK, Value: &Value{}}) {
			kept++
		}
	}
	if kept != 3 || !e.keeps(&Op{Index: 10, Process: Nemesis, F: "kill"}) {
		t.Errorf("%d lines are kept", kept)
	}
}
