package workload

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"lockpick/history"
)

// TestFencedCopy: the plain register takes every write, its twin all but those with a
// lower fence than it has seen, and each write is recorded as it is applied.
func TestFencedCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ops []history.Op
		r := NewResource(false, func(op history.Op) history.Op {
			ops = append(ops, op)
			return op
		})
		highest := map[string]int64{}
		for i := range rapid.IntRange(1, 20).Draw(t, "writes") {
			key, fence, value := rapid.SampledFrom([]string{"k0", "k1"}).Draw(t, "key"), int64(rapid.IntRange(0, 4).Draw(t, "fence")), int64(i+1)
			ops = nil
			if err := r.Write(key, "t", fence, value); err != nil {
				t.Fatal(err)
			}
			if got := r.Read(key); got != value {
				t.Fatalf("the plain register of %s is %d, want %d", key, got, value)
			}
			want := []history.Op{{Type: history.OK, Value: &history.Value{Token: "t", Fence: fence, Value: value}}}
			if fence > 0 {
				verdict := history.OK
				if fence < highest[key] {
					verdict = history.Fail
				}
				highest[key] = max(highest[key], fence)
				want = append(want, history.Op{Type: verdict, Value: &history.Value{Token: "t", Fence: fence, Value: value, Fenced: true}})
			}
			if len(ops) != len(want) {
				t.Fatalf("%d records of a write with the fence %d", len(ops), fence)
			}
			for i := range want {
				want[i].Process, want[i].F, want[i].Key = history.Resource, history.FApply, key
				if line(ops[i]) != line(want[i]) {
					t.Fatalf("recorded\n%s, want\n%s", line(ops[i]), line(want[i]))
				}
			}
		}
	})
}

// TestLinearizable: whoever writes at the same time, the records tell one order in
// which each write was applied to both copies at once, and reads agree with it.
func TestLinearizable(t *testing.T) {
	var ops []history.Op // appended under the resource's own mutex
	r := NewResource(false, func(op history.Op) history.Op {
		ops = append(ops, op)
		return op
	})
	const writers, each = 8, 200
	var all sync.WaitGroup
	for w := range int64(writers) {
		all.Go(func() {
			last := int64(0)
			for i := range int64(each) {
				value := (w+1)*1000 + i
				_ = r.Write("k0", "t", 1+(value*7919)%50, value) // it compares nothing
				if got := r.Read("k0"); got/1000 == w+1 && got < last {
					t.Errorf("read its own older write %d after %d", got, last)
				}
				last = value
			}
		})
	}
	all.Wait()
	if len(ops) != 2*writers*each {
		t.Fatalf("%d records of %d writes", len(ops), writers*each)
	}
	highest := int64(0)
	for i := 0; i < len(ops); i += 2 {
		plain, fenced := ops[i].Value, ops[i+1].Value
		if plain.Fenced || !fenced.Fenced || plain.Value != fenced.Value {
			t.Fatalf("records %d and %d are not of one write", i, i+1)
		}
		if applied := ops[i+1].Type == history.OK; applied != (fenced.Fence >= highest) {
			t.Fatalf("the fence %d after %d: applied %v", fenced.Fence, highest, applied)
		}
		highest = max(highest, fenced.Fence)
	}
	if last := ops[len(ops)-2].Value.Value; r.Read("k0") != last {
		t.Errorf("read %d after the last write of %d", r.Read("k0"), last)
	}
}
