package checker

import (
	"testing"
	"time"

	"lockpick/history"
)

// These histories lie at the bounds of the definitions, which random histories seldom hit.
func TestBounds(t *testing.T) {
	granted := `
0ms    c1 acquire invoke k0
1ms    m1,m2,m3,m4,m5 vote set yes k0 t1 c1
2ms    c1 acquire ok k0 t1 until=1900ms
`
	for _, x := range []struct {
		name     string
		property Property
		history  string
		violated bool
	}{
		{"granted at the bound", DeadlockFree, `
1s     nemesis healed bound=5s
1s     c1 acquire invoke k0
6s     c1 acquire ok k0 t1 until=8s`, false},
		{"granted after the bound", DeadlockFree, `
1s     nemesis healed bound=5s
1s     c1 acquire invoke k0
6001ms c1 acquire ok k0 t1 until=8s`, true},
		{"as patient as allowed", Progress, `
0ms    c1 acquire invoke k0
2200ms c1 acquire ok k0 t1 until=4s`, false},
		{"more patient than allowed", Progress, `
0ms    c1 acquire invoke k0
2201ms c1 acquire ok k0 t1 until=4s`, true},
		{"a quorum within half the TTL", QuorumGranted, `
1s     c1 acquire invoke k0
2s     m1,m2,m3 vote set yes k0 t1 c1 took=1s
3s     c1 acquire fail k0
4s     c1 acquire invoke k0
4s     c1 acquire fail k0`, true},
		{"a quorum after half the TTL", QuorumGranted, `
1s     c1 acquire invoke k0
2001ms m1,m2,m3 vote set yes k0 t1 c1 took=1001ms
3s     c1 acquire fail k0
4s     c1 acquire invoke k0
4s     c1 acquire fail k0`, false},
		{"a snapshot between the release and its answer", OrphanKeys, granted + `
1s     c1 release invoke k0 t1
1001ms m1,m2,m3,m4 vote release yes k0 t1 c1
1002ms c1 release ok k0 t1
1100ms m5 look keys=k0:t1@2s
1500ms m5 vote release yes k0 t1 c1 took=499ms`, false},
		{"a snapshot after the answer", OrphanKeys, granted + `
1s     c1 release invoke k0 t1
1001ms m1,m2,m3,m4,m5 vote release yes k0 t1 c1
1002ms c1 release ok k0 t1
1100ms m5 look keys=k0:t1@2s`, true},
		{"a token that was set again after a release", OrphanKeys, `
0ms    c1 acquire invoke k0
1ms    m1,m2,m3,m4,m5 vote set yes k0 t1 c1
10ms   m1,m2,m3,m4,m5 vote release yes k0 t1 c1
20ms   m1,m2,m3,m4,m5 vote set yes k0 t1 c1
21ms   c1 acquire ok k0 t1 until=1900ms
1s     c1 release invoke k0 t1
1001ms m1,m2,m3,m4 vote release yes k0 t1 c1
1002ms c1 release ok k0 t1
1100ms m5 look keys=k0:t1@2020ms`, false},
		{"an extension within the clock drift and slack after the TTL", Continuity, granted + `
2041ms c1 extend invoke k0 t1
2042ms m1,m2,m3 vote extend yes k0 t1 c1
2043ms c1 extend ok k0 t1 until=4s`, false},
		{"an extension after the clock drift and slack", Continuity, granted + `
2042ms c1 extend invoke k0 t1
2043ms m1,m2,m3 vote extend yes k0 t1 c1
2044ms c1 extend ok k0 t1 until=4s`, true},
		{"an extension of keys that had lapsed", Continuity, granted + `
3s     c1 extend invoke k0 t1
3001ms m1,m2,m3 vote extend yes k0 t1 c1
3002ms c1 extend ok k0 t1 until=5s`, true},
		{"the same where clocks were skewed", Continuity, granted + `
500ms  nemesis clock install 1 m1,m2,m3
3s     c1 extend invoke k0 t1
3001ms m1,m2,m3 vote extend yes k0 t1 c1
3002ms c1 extend ok k0 t1 until=5s`, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			h, err := parse(history.Header{Driver: "sim", Masters: 5, Quorum: 3, TTL: 2 * time.Second, Clients: 1, Keys: 1}, x.history)
			if err != nil {
				t.Fatal(err)
			}
			rep := Check(h, x.property)
			r := rep.Result(x.property)
			if violated := r != nil && r.Verdict == Violated; violated != x.violated {
				t.Errorf("%s is violated: %v, want %v\n%+v", x.property.Name, violated, x.violated, r)
			}
		})
	}
}
