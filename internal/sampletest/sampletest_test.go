package sampletest

import "testing"

func TestEachCaseIsTriedByAndBy(t *testing.T) {
	tried := map[int]bool{}
	for range 1000 {
		in := Of(t, 3)
		n := 0
		for i := range 6 {
			if in(i) {
				tried[i] = true
				n++
			}
		}
		if want := map[bool]int{false: 2, true: 6}[Whole]; n != want {
			t.Fatalf("%d of 6 cases are tried, want %d", n, want)
		}
	}
	if len(tried) != 6 {
		t.Errorf("only %v are ever tried", tried)
	}
	if got, want := Count(12, 4), map[bool]int{false: 3, true: 12}[Whole]; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
