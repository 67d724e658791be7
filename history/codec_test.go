package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestRoundTrip checks that a reader reads the operations that a recorder got, up to the end mark.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := headers().Draw(t, "header")
		ops := rapid.SliceOfN(operations(), 0, 8).Draw(t, "ops")
		var file bytes.Buffer
		now := time.Duration(0)
		r, err := NewRecorder(&file, header, func() time.Duration { return now })
		if err != nil {
			t.Fatal(err)
		}
		for i := range ops {
			now += time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "step"))
			ops[i] = r.Record(ops[i])
		}
		if end := slices.IndexFunc(ops, func(op Op) bool { return op.endsHistory() }); end >= 0 {
			ops = ops[:end+1]
		}
		h, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		header.Format = FormatVersion
		if !reflect.DeepEqual(h.Header, header) {
			t.Fatalf("header\n%+v\nwas read as\n%+v", header, h.Header)
		}
		if len(h.Ops) != len(ops) || h.Torn {
			t.Fatalf("%d operations, torn %v, of %d", len(h.Ops), h.Torn, len(ops))
		}
		for i := range ops {
			if !reflect.DeepEqual(h.Ops[i], ops[i]) {
				t.Fatalf("operation\n%+v %+v\nwas read as\n%+v %+v", ops[i], ops[i].Value, h.Ops[i], h.Ops[i].Value)
			}
		}
	})
}

// TestTruncatedFileIsReadToItsLastCompleteLine checks that a reader reads all complete lines of a
// file whose end is missing. The history is torn unless the file ends with a complete line, with or
// without its newline.
func TestTruncatedFileIsReadToItsLastCompleteLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		r, err := NewRecorder(&file, Header{Name: "cut"}, func() time.Duration { return 0 })
		if err != nil {
			t.Fatal(err)
		}
		header := file.Len() - 1
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			r.Record(operations().Draw(t, "op"))
		}
		kept := file.Bytes()[:rapid.IntRange(header, file.Len()).Draw(t, "kept")]
		h, err := Read(bytes.NewReader(kept))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(kept, []byte("\n"))
		whole := len(kept) == 0 || bytes.HasSuffix(kept, []byte("\n"))
		if !whole && file.Bytes()[len(kept)] == '\n' {
			lines, whole = lines+1, true
		}
		if len(h.Ops) != lines-1 || h.Torn != !whole {
			t.Fatalf("%d operations, torn %v, of %d whole lines in %q", len(h.Ops), h.Torn, lines, kept)
		}
	})
}

// TestFields fixes the names of the fields, since files outlive the code that wrote them.
func TestFields(t *testing.T) {
	var file bytes.Buffer
	r, err := NewRecorder(&file, Header{
		Name: "n", Seed: 7, Driver: "process", Lock: "redlock", Masters: 5, Quorum: 3, Persistence: "none", Clients: 2, Keys: 1,
		TTL: time.Second, Fencing: true, Faults: []string{"kill"}, Nemesis: "guided", Versions: map[string]string{"go": "1"}, Scenario: "s",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}, func() time.Duration { return 1500 })
	if err != nil {
		t.Fatal(err)
	}
	r.Record(Op{Process: "c1", Type: Invoke, F: FAcquire, Key: "k0"})
	r.Record(Op{Process: "c1", Type: OK, F: FAcquire, Key: "k0", Value: &Value{Token: "t", ValidUntil: 9, Fence: 4}})
	r.Record(Op{Process: "m1", Type: Info, F: FVote, Key: "k0", Value: &Value{Token: "t", Client: "c1", Command: CommandSet, Took: 5}, Error: "<timeout>"})
	r.Record(Op{Process: Resource, Type: Fail, F: FApply, Key: "k0", Value: &Value{Token: "t", Fence: 4, Value: 8, Fenced: true}})
	r.Record(Op{Process: "m1", Type: Info, F: FState, Value: &Value{State: "up", Keys: map[string]string{}}})
	r.Record(Op{Process: "m1", Type: Info, F: FState, Value: &Value{State: "down"}})
	r.Record(Op{Process: "c1", Type: Invoke, F: FPaused, Key: "k0", Value: &Value{Point: "before-write"}})
	r.Record(Op{Process: Nemesis, Type: OK, F: "kill", Value: &Value{ID: 1, Phase: PhaseHeal, Masters: []string{"m1"}, Clients: []string{"c1"}, Params: map[string]string{"step": "1"}, TookEffect: true, Evidence: "e"}})
	r.Record(Op{Process: Nemesis, Type: Info, F: FHealed, Value: &Value{Bound: 3}})
	datadriven.RunTest(t, "testdata/fields.txt", func(*testing.T, *datadriven.TestData) string { return file.String() })
}

// TestBadLines checks that each error names its line.
func TestBadLines(t *testing.T) {
	datadriven.RunTest(t, "testdata/bad_lines.txt", func(t *testing.T, d *datadriven.TestData) string {
		in := d.Input
		if d.Cmd == "read" && in != "" {
			in += "\n"
		}
		h, err := Read(strings.NewReader(in))
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d operations", len(h.Ops))
		if h.Torn {
			b.WriteString(", torn")
		}
		if h.Ended {
			b.WriteString(", ended")
		}
		for _, p := range h.Problems {
			fmt.Fprintf(&b, "\n%v", p)
		}
		return b.String()
	})
}

func TestReadFails(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("{\"lockpick_history\":1}\n"), iotest.ErrReader(errors.New("the disk is gone")))
	if _, err := Read(broken); err == nil || err.Error() != "history: line 2: the disk is gone" {
		t.Errorf("got %v", err)
	}
	missing := filepath.Join(t.TempDir(), "none.jsonl")
	if _, err := ReadFile(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(bad); err == nil || !strings.HasPrefix(err.Error(), bad+": history: line 1: ") {
		t.Errorf("got %v", err)
	}
}

// operations generates operations that a reader accepts. Only Value.Keys may be an empty map,
// since the encoder does not distinguish nil and empty in other lists and maps.
func operations() *rapid.Generator[Op] {
	text := rapid.StringN(0, 6, -1)
	some := rapid.StringN(1, 6, -1)
	span := rapid.Map(rapid.Int64Range(0, int64(MaxTime)), func(n int64) time.Duration { return time.Duration(n) })
	instant := rapid.Map(rapid.Int64Range(1, int64(MaxTime)), func(n int64) time.Duration { return time.Duration(n) })
	values := rapid.Custom(func(t *rapid.T) *Value {
		return &Value{
			Token: some.Draw(t, "token"), ValidUntil: instant.Draw(t, "until"), Fence: rapid.Int64().Draw(t, "fence"),
			Mode: rapid.SampledFrom([]string{"", ModeRead}).Draw(t, "mode"), Permits: rapid.IntRange(0, MaxPermits).Draw(t, "permits"),
			Value: rapid.Int64().Draw(t, "value"), Fenced: rapid.Bool().Draw(t, "fenced"),
			Client: text.Draw(t, "client"), Command: text.Draw(t, "command"), Yes: rapid.Bool().Draw(t, "yes"), Took: span.Draw(t, "took"),
			TTL: span.Draw(t, "ttl"), Delay: span.Draw(t, "delay"), RedisKey: text.Draw(t, "redis key"), Form: text.Draw(t, "form"),
			Point: text.Draw(t, "point"), State: text.Draw(t, "state"),
			Keys: rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(text, text, 0, 2)).Draw(t, "keys"),
			ID:   rapid.Int().Draw(t, "id"), Phase: text.Draw(t, "phase"),
			Masters: list(text).Draw(t, "masters"), Clients: list(text).Draw(t, "clients"), Params: dictionary(text).Draw(t, "params"),
			TookEffect: rapid.Bool().Draw(t, "bit"), Evidence: text.Draw(t, "evidence"), Bound: span.Draw(t, "bound"),
		}
	})
	return rapid.Custom(func(t *rapid.T) Op {
		op := Op{
			Process: text.Draw(t, "process"), Type: rapid.SampledFrom([]Type{Invoke, OK, Fail, Info}).Draw(t, "type"),
			F:   rapid.OneOf(text, rapid.SampledFrom(knownOperations)).Draw(t, "f"),
			Key: text.Draw(t, "key"), Value: rapid.OneOf(rapid.Just[*Value](nil), values).Draw(t, "v"), Error: text.Draw(t, "error"),
		}
		if op.missingField() != "" {
			op.Value = values.Draw(t, "required value")
		}
		return op
	})
}

func headers() *rapid.Generator[Header] {
	text := rapid.StringN(0, 6, -1)
	return rapid.Custom(func(t *rapid.T) Header {
		return Header{
			Name: text.Draw(t, "name"), Started: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
			Seed: rapid.Uint64().Draw(t, "seed"), Driver: text.Draw(t, "driver"), Lock: text.Draw(t, "lock"),
			Kind: rapid.SampledFrom(append([]LockKind{""}, LockKinds...)).Draw(t, "kind"), Permits: rapid.IntRange(1, MaxPermits).Draw(t, "permits"),
			Masters: MaxMasters, Quorum: rapid.IntRange(0, MaxMasters).Draw(t, "quorum"), Persistence: text.Draw(t, "persistence"),
			Clients: rapid.IntRange(0, MaxClients).Draw(t, "clients"), Keys: rapid.IntRange(0, MaxKeys).Draw(t, "keys"),
			TTL:     time.Duration(rapid.Int64Range(0, int64(MaxTime)).Draw(t, "ttl")),
			Fencing: rapid.Bool().Draw(t, "fencing"), Faults: list(text).Draw(t, "faults"), Nemesis: text.Draw(t, "nemesis"),
			Versions: dictionary(text).Draw(t, "versions"), Scenario: text.Draw(t, "scenario"),
		}
	})
}

func list(of *rapid.Generator[string]) *rapid.Generator[[]string] {
	return rapid.OneOf(rapid.Just[[]string](nil), rapid.SliceOfN(of, 1, 3))
}

func dictionary(of *rapid.Generator[string]) *rapid.Generator[map[string]string] {
	return rapid.OneOf(rapid.Just[map[string]string](nil), rapid.MapOfN(of, of, 1, 2))
}
