package checker

import (
	"testing"

	"lockpick/history"
)

// TestOwnRefusals: a refusal was because of the client's own key only if nothing can have created that key after it, and an
// error is not a refusal.
func TestOwnRefusals(t *testing.T) {
	for between, want := range map[string]int{
		"":                                    1,
		"m1 vote extend no k0 t1 c1 took=1ms": 1,
		"m1 vote extend silent k0 t1 c1 took=1ms": 0,
		"m1 vote extend yes k0 t1 c1 took=1ms":    0,
		"m1 vote set silent k0 t1 c1 took=1ms":    0,
		"error":                                   0,
		"given up before":                         0,
	} {
		before, refusal, next := "", "10ms m1 vote set no k0 t1 c1 took=1ms", ""
		switch between {
		case "":
		case "error":
			refusal += " error=OOM"
		case "given up before":
			before = "5ms m1 vote extend silent k0 t1 c1 took=1ms\n"
		default:
			next = "\n20ms " + between
		}
		h, err := parse(history.Header{Masters: 3}, before+refusal+next+"\n30ms m1 vote release yes k0 t1 c1 took=1ms")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(ownRefusals(h)); got != want {
			t.Errorf("%q: %d refusals, want %d", between, got, want)
		}
	}
}
