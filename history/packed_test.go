package history

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// votesOf unpacks all votes, in the order in which clients received them.
func votesOf(p *Packed) []Vote {
	var all []Vote
	for i := range p.Len() {
		all = append(all, p.Vote(p.InOrder(i)))
	}
	return all
}

// TestPackedEqualsTheHistory checks that a packed history has the same lines as the history, both if it
// was packed in memory and if it was packed while it was read.
func TestPackedEqualsTheHistory(t *testing.T) {
	votes, late, looked := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		now := time.Duration(0)
		r, err := NewRecorder(&file, Header{Name: "packed"}, func() time.Duration { return now })
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "step"))
			op := operations().Draw(t, "op")
			switch rapid.IntRange(0, 4).Draw(t, "kind of line") {
			case 0:
			case 1:
				op = Op{Process: "m1", Type: Info, F: FSnapshot, Value: &Value{Took: 3, Delay: 2, Keys: map[string]string{}}}
				for _, key := range []string{"k0", "k1", "k2"}[:rapid.IntRange(0, 3).Draw(t, "keys")] {
					op.Value.Keys[key] = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "token")
					if expiry := rapid.IntRange(0, 3).Draw(t, "expiry"); expiry > 0 {
						if op.Value.Expires == nil {
							op.Value.Expires = map[string]time.Duration{}
						}
						op.Value.Expires[key] = time.Duration(expiry)
					}
				}
				if rapid.Bool().Draw(t, "offset") {
					op.Value.Offset = new(time.Duration)
				}
				looked++
			default:
				op = Op{Process: rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "master"), F: FVote, Key: "k0",
					Type: rapid.SampledFrom([]Type{OK, Fail, Info}).Draw(t, "type"), Error: rapid.SampledFrom([]string{"", "lost"}).Draw(t, "error"),
					Value: &Value{Token: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "token"), Client: "c1", Command: CommandSet, Yes: rapid.Bool().Draw(t, "yes"),
						Took: time.Duration(rapid.SampledFrom([]int{0, 1, 9, 1<<31 - 1, 1 << 31, 5e9}).Draw(t, "took")), Delay: time.Duration(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "delay")),
						Fence: int64(rapid.IntRange(0, 2).Draw(t, "fence")), RedisKey: rapid.SampledFrom([]string{"", "{k0}"}).Draw(t, "redis key"), Form: rapid.SampledFrom([]string{"", "SET NX"}).Draw(t, "form")}}
			}
			r.Record(op)
		}
		h, err := Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadPacked(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for how, p := range map[string]*Packed{"in memory": Pack(h), "while it was read": read} {
			if got, want := votesOf(p), Votes(h.Ops); !reflect.DeepEqual(got, want) {
				t.Fatalf("packed %s, the votes are\n%+v\nnot\n%+v", how, got, want)
			}
			if p.Lines() != len(h.Ops) || p.Ended != h.Ended || len(p.Problems) != len(h.Problems) {
				t.Fatalf("packed %s: %d lines of %d", how, p.Lines(), len(h.Ops))
			}
			kept := 0
			for i := range h.Ops {
				op := &h.Ops[i]
				if op.F == FVote && op.Value != nil {
					votes++
					if op.Value.Delay > 0 {
						late++
					}
					if f := p.FenceOf(i); f != op.Value.Fence {
						t.Fatalf("packed %s, line %d has fence %d, not %d", how, i, f, op.Value.Fence)
					}
				} else if kept++; !reflect.DeepEqual(p.Op(i), op) {
					t.Fatalf("packed %s, line %d is %+v, not %+v", how, i, p.Op(i), op)
				}
				for _, at := range []time.Duration{op.Time, op.Time + 1} {
					if got, want := p.Before(at), sort.Search(len(h.Ops), func(i int) bool { return h.Ops[i].Time >= at }); got != want {
						t.Fatalf("packed %s, %d lines are before %d, not %d", how, got, at, want)
					}
				}
			}
			if n := len(p.Ops); n > 0 && p.Ops[n-1].Index != len(h.Ops)-1 || p.Count() != kept && p.Count() != kept+1 {
				t.Fatalf("packed %s, %d operations of %d were kept, or not the last", how, p.Count(), kept)
			}
			if without := p.WithoutVotes(); without.Len() != 0 || without.Count() != p.Count() {
				t.Fatalf("packed %s, without votes there are %d votes and %d of %d lines", how, without.Len(), without.Count(), p.Count())
			} else {
				for i, op := range without.All() {
					if !reflect.DeepEqual(op, p.OpAt(i)) {
						t.Fatalf("packed %s, without votes position %d is %+v, not %+v", how, i, op, p.OpAt(i))
					}
				}
			}
			looks := slices.Collect(p.Looks())
			for i := range h.Ops {
				s, lists := SnapshotOf(&h.Ops[i])
				if !lists || s.op.F != FSnapshot {
					continue
				}
				if len(looks) == 0 || !sameSnapshot(looks[0], &s) {
					t.Fatalf("packed %s, the look in line %d is not there", how, i)
				}
				looks = looks[1:]
			}
			if len(looks) > 0 {
				t.Fatalf("packed %s, there are looks that no line has: %+v", how, looks)
			}
			for i, op := range p.All() {
				if op.F != FVote && !reflect.DeepEqual(op, &h.Ops[op.Index]) || p.IndexAt(i) != op.Index || p.TimeAt(i) != op.Time {
					t.Fatalf("packed %s, position %d is %+v, not %+v", how, i, op, h.Ops[op.Index])
				}
			}
		}
	})
	if votes == 0 || late == 0 || looked == 0 {
		t.Errorf("%d votes were drawn, %d of them recorded late, and %d looks: all are needed", votes, late, looked)
	}
}

// sameSnapshot reports whether two snapshots say the same.
func sameSnapshot(a, b *Snapshot) bool {
	if a.Master != b.Master || a.Index != b.Index || a.Began() != b.Began() || a.Ended() != b.Ended() || a.HasExpiries() != b.HasExpiries() || !maps.Equal(maps.Collect(a.Tokens()), maps.Collect(b.Tokens())) {
		return false
	}
	for key, token := range a.Tokens() {
		at, mortal := a.Expiry(key)
		bt, also := b.Expiry(key)
		if at != bt || mortal != also || b.Token(key) != token || a.Token(key) != token {
			return false
		}
	}
	return true
}

// TestNoFieldIsLostInPackedLines sets each field of a value, those of tomorrow included, on lines that pack.
func TestNoFieldIsLostInPackedLines(t *testing.T) {
	for i := range reflect.TypeFor[Value]().NumField() {
		v := &Value{Token: "t", ValidUntil: 1}
		f := reflect.ValueOf(v).Elem().Field(i)
		name := reflect.TypeFor[Value]().Field(i).Name
		set(t, name, f)
		ops := []Op{{Process: "c1", Type: OK, F: FAcquire, Key: "k0", Value: v}}
		if v.Keys == nil {
			v = &Value{Keys: map[string]string{"a": "t", "b": "u"}, Expires: map[string]time.Duration{"b": 1}}
			if f := reflect.ValueOf(v).Elem().Field(i); f.IsZero() {
				set(t, name, f)
			}
		}
		ops = append(ops, Op{Process: "m1", Type: Info, F: FSnapshot, Value: v}, Op{Process: "m1", Type: Info, F: FSnapshot, Value: &Value{Keys: map[string]string{}}})
		p := &Packed{}
		for i := range ops {
			if err := p.add(&ops[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i, got := range p.All() {
			if !reflect.DeepEqual(got, &ops[i]) || !reflect.DeepEqual(p.OpAt(i), &ops[i]) {
				t.Errorf("with %s, the packed line is %+v, not %+v", name, *got.Value, *ops[i].Value)
			}
		}
	}
}

// set gives a field a value that is not zero.
func set(t *testing.T, name string, f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Int, reflect.Int64:
		f.SetInt(3)
	case reflect.Float64:
		f.SetFloat(1.5)
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
		set(t, name, f.Elem())
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case reflect.Map:
		f.Set(reflect.MakeMap(f.Type()))
	default:
		t.Fatalf("%s: the test lacks values of this kind", name)
	}
}
