package history

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEndOfOldLeases: histories of the format versions 1 and 2 wrote the end of a lease without an end as 24 h after its
// grant. In later ones a lease that ends in days has that end.
func TestEndOfOldLeases(t *testing.T) {
	for version, want := range map[int][]bool{1: {false, true, true}, 2: {false, true, true}, 3: {false, false, false}} {
		text := fmt.Sprintf("{\"lockpick_history\":%d}\n", version)
		for i, valid := range []time.Duration{11 * time.Hour, 24 * time.Hour, 50 * 24 * time.Hour} {
			text += fmt.Sprintf(`{"index":%d,"time":5,"process":"c%d","type":"ok","f":"acquire","key":"k%d","value":{"token":"t%d","valid_until":%d}}`+"\n", i, i+1, i, i, int64(5+valid))
		}
		h, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := ReadPacked(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		others, _ := packed.Leases(packed.Calls())
		for i, l := range Leases(h.Ops) {
			if got := l.Grants[0].Endless(); got != want[i] {
				t.Errorf("version %d: %v after the run began: without an end: %v", version, l.Until(), got)
			}
			if other := others[i]; other.Until() != l.Until() {
				t.Errorf("version %d: packed, the lease ends at %v and not at %v", version, other.Until(), l.Until())
			}
		}
	}
}

// TestLineThatNamesAnotherKey: a line whose key no lease of the token is on is about the latest lease of the token that
// was not released.
func TestLineThatNamesAnotherKey(t *testing.T) {
	at := func(i int, typ Type, f, key string) Op {
		return Op{Index: i, Time: time.Duration(i), Process: "c1", Type: typ, F: f, Key: key, Value: &Value{Token: "t", ValidUntil: time.Second}}
	}
	leases := Leases([]Op{
		at(0, OK, FAcquire, "a"), at(1, Invoke, FRelease, "x"), // of the only lease
		at(2, OK, FAcquire, "b"), at(3, OK, FAcquire, "c"), at(4, Invoke, FRelease, "x"), at(5, Invoke, FRelease, "y"), // of the latest of several
	})
	for i, want := range []int{1, 5, 4} {
		if got := leases[i].ReleaseIndex; got != want {
			t.Errorf("the lease on %s was released in line %d, want %d", leases[i].Key, got, want)
		}
	}
}
