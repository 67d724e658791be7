package judge

import (
	"runtime/debug"
	"testing"
)

// TestCollectMore: while several callers want the collector to run more often, the lowest target applies.
// When the last of them has ended, in any order, the target is the original one.
func TestCollectMore(t *testing.T) {
	now := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	want := func(what string, p int) {
		t.Helper()
		if got := now(); got != p {
			t.Errorf("%s: the target is %d, want %d", what, got, p)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(123))
	defer func(room uint64) { heaps.room = room }(heaps.room)
	heaps.room = 0
	a := CollectMore(20)
	want("one", 20)
	b := CollectMore(15)
	want("two", 15)
	c := CollectMore(400)
	want("one that has more room", 15)
	b()
	want("without the least", 20)
	a()
	want("without the first", 123)
	c()
	want("without any", 123)
}

// TestHeapTargetLeavesRoom: a small heap is not collected again after a few megabytes, and no target exceeds that without
// calls of CollectMore.
func TestHeapTargetLeavesRoom(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		what  string
		asked []int
		base  int
		live  uint64
		want  int
	}{
		{"no call", nil, 100, 50 * mb, 100},
		{"a small heap", []int{15}, 100, 5 * mb, 100},
		{"a heap of twice the room", []int{15}, 100, 64 * mb, 50},
		{"a large heap", []int{20, 15}, 100, 1000 * mb, 15},
		{"a lower target than that of the calls", []int{15}, 10, 1000 * mb, 10},
		{"no collections without the calls", []int{15}, -1, 1000 * mb, 15},
	} {
		if got := heapTarget(c.asked, c.base, c.live, 32*mb); got != c.want {
			t.Errorf("%s: the target is %d, want %d", c.what, got, c.want)
		}
	}
}
