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
