package search

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMergeOfAnyBatchesIsTheWhole: however units are shared among shards, shards are repeated, cut
// short and grouped, what is merged is all that was done, in any order and any number of times.
func TestMergeOfAnyBatchesIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var units []string
		for i := range rapid.IntRange(1, 20).Draw(t, "units") {
			units = append(units, fmt.Sprint("u", i))
		}
		n := rapid.IntRange(1, 8).Draw(t, "shards")
		of := map[string]string{"seed": "1"}
		whole := NewBatch[int]("test", of, units, Shard{1, n})
		var parts []*Batch[int]
		for i := range n {
			s := Shard{i + 1, n}
			for range rapid.IntRange(0, 2).Draw(t, "times") {
				p := NewBatch[int]("test", of, units, s)
				mine := p.Left(s)
				for _, u := range mine[:rapid.IntRange(0, len(mine)).Draw(t, "until")] {
					p.Done[u] = slices.Index(units, u)
					whole.Done[u] = slices.Index(units, u)
				}
				parts = append(parts, p)
			}
		}
		if len(parts) == 0 {
			return
		}
		got, _, err := MergeBatches(rapid.Permutation(parts).Draw(t, "order")...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written(t, whole), written(t, got)); diff != "" {
			t.Fatal(diff)
		}
		at := rapid.IntRange(0, len(parts)-1).Draw(t, "group")
		if left := parts[:at]; at > 0 {
			one, _, err := MergeBatches(left...)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err = MergeBatches(append([]*Batch[int]{one, one}, parts[at:]...)...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written(t, whole), written(t, got)); diff != "" {
				t.Fatal(diff)
			}
		}
		back, err := ParseBatch[int]("test", []byte(written(t, whole)))
		if err != nil || written(t, back) != written(t, whole) {
			t.Fatalf("read back: %v", err)
		}
		if complete := len(whole.Done) == len(units); complete != (len(whole.Missing()) == 0) {
			t.Fatalf("%d of %d are done, missing: %v", len(whole.Done), len(units), whole.Missing())
		}
	})
}

func written(t interface{ Fatal(...any) }, b *Batch[int]) string {
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBatchesThatDoNotBelongTogether are refused, each with what differs.
func TestBatchesThatDoNotBelongTogether(t *testing.T) {
	make := func(change func(*Batch[int])) *Batch[int] {
		b := NewBatch[int]("test", map[string]string{"seed": "1"}, []string{"a", "b", "c"}, Shard{1, 3})
		change(b)
		return b
	}
	for want, change := range map[string]func(*Batch[int]){
		"another seed":            func(b *Batch[int]) { b.Of = map[string]string{"seed": "2"} },
		"the version of Lockpick": func(b *Batch[int]) { b.Lockpick = "v0" },
		"the units":               func(b *Batch[int]) { b.Units = []string{"a", "b"} },
		"the number of shards":    func(b *Batch[int]) { b.Shards = 2 },
		"the kind":                func(b *Batch[int]) { b.Kind = "claims" },
		"more options":            func(b *Batch[int]) { b.Of = map[string]string{"seed": "1", "driver": "sim"} },
	} {
		if _, _, err := MergeBatches(make(func(*Batch[int]) {}), make(change)); !errors.Is(err, ErrParts) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, text := range []string{"", "[]", `{"lockpick_part":1,"kind":"other"}`, `{"lockpick_part":2,"kind":"test","units":["a"],"shards":1}`,
		`{"lockpick_part":1,"kind":"test","units":["a"],"shards":1,"done":{"b":1}}`, `{"lockpick_part":1,"kind":"test","units":["a"],"shards":9999999}`} {
		if _, err := ParseBatch[int]("test", []byte(text)); !errors.Is(err, ErrParts) {
			t.Errorf("%s: %v", text, err)
		}
	}
	twice := make(func(b *Batch[int]) { b.Done["b"] = 1 })
	if _, notes, err := MergeBatches(twice, twice); err != nil || len(notes) != 1 || !strings.HasSuffix(notes[0], ": 2") {
		t.Errorf("%q, %v", notes, err)
	}
	other := make(func(b *Batch[int]) { b.Done["b"] = 2 })
	if _, _, err := MergeBatches(twice, other); !errors.Is(err, ErrParts) || !strings.Contains(err.Error(), "shard 2 occurs twice, with different results of b") {
		t.Errorf("two results of one unit: %v", err)
	}
}
