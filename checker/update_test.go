package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// updater is a client between the steps of one read-modify-write.
type updater struct {
	token string
	knows int64
	steps []string // the steps that it still has to do
}

// register is a resource with compare-and-set, or, if broken, one that applies any write.
type register struct {
	broken bool
	value  int64
	mark   string
}

// TestUpdateIsLostIfTwoStartFromOneValue checks that, with values that are all different, an update is
// lost if and only if two were computed from the same value. That criterion needs no order of
// events, so it is independent of the checker. If clients store their token in the resource
// before they read the value, and the resource compares, no update is lost in any order of steps.
func TestUpdateIsLostIfTwoStartFromOneValue(t *testing.T) {
	seen := map[string]int{}
	kinds := []string{
		"cas-mark-first, broken false: lost false", "cas-mark-first, broken true: lost true",
		"cas-mark-last, broken false: lost false", "cas-mark-last, broken false: lost true", "cas-mark-last, broken true: lost true",
	}
	all := func() bool {
		return !slices.ContainsFunc(kinds, func(kind string) bool { return seen[kind] == 0 })
	}
	for round := 0; round < 50 && !all(); round++ { // until every kind was drawn
		rapid.Check(t, func(t *rapid.T) {
			protocol := rapid.SampledFrom([]string{"cas-mark-first", "cas-mark-last"}).Draw(t, "protocol")
			res := register{broken: rapid.IntRange(0, 3).Draw(t, "broken") == 0}
			steps := map[string][]string{"cas-mark-first": {"mark", "read", "write"}, "cas-mark-last": {"read", "mark", "write"}}[protocol]
			h := &history.History{Header: history.Header{Resource: protocol}}
			add := func(process string, typ history.Type, f string, v history.Value) {
				h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: time.Duration(len(h.Ops)), Process: process, Type: typ, F: f, Key: "k0", Value: &v})
			}
			clients := make([]updater, rapid.IntRange(1, 4).Draw(t, "clients"))
			from := map[int64]int{} // how many updates were computed from each value
			refused, written := 0, 0
			for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
				n := rapid.IntRange(0, len(clients)-1).Draw(t, "client")
				c := &clients[n]
				if len(c.steps) == 0 { // begin another update, under a new token or the same
					if c.steps = steps; c.token == "" || rapid.Bool().Draw(t, "new lease") {
						c.token = fmt.Sprintf("t%d", i)
					}
				}
				name := fmt.Sprintf("c%d", n+1)
				switch c.steps[0] {
				case "mark":
					res.mark = c.token
					add(history.Resource, history.OK, history.FMark, history.Value{Token: c.token})
				case "read":
					c.knows = res.value
					add(name, history.OK, history.FRead, history.Value{Token: c.token, Value: res.value})
				case "write":
					typ, value := history.Fail, int64(i+1)
					if res.broken || res.mark == c.token {
						typ, res.value = history.OK, value
						from[c.knows]++
						written++
					} else {
						refused++
					}
					add(history.Resource, typ, history.FApply, history.Value{Token: c.token, Value: value})
				}
				c.steps = c.steps[1:]
			}
			lost := false
			for _, n := range from {
				lost = lost || n > 1
			}
			rep := Check(h, NoLostUpdate)
			got := rep.Result(NoLostUpdate)
			switch {
			case got == nil && written+refused == 0:
				seen["nothing written"]++
				return
			case got == nil || (got.Verdict == Violated) != lost || got.Checked != written:
				t.Fatalf("%+v of %d updates, computed from %v", got, written, from)
			}
			if lost && protocol == "cas-mark-first" && !res.broken {
				t.Fatalf("a resource that compares lost an update: %s", got.Why)
			}
			for _, v := range got.Violations {
				if len(v.Reason) == 0 || h.Ops[v.Ops[len(v.Ops)-1]].F != history.FApply {
					t.Fatalf("a violation without a reason, or of no write: %+v", v)
				}
			}
			seen[fmt.Sprintf("%s, broken %v: lost %v", protocol, res.broken, lost)]++
		})
	}
	for _, kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("no history was of the kind %q: %v", kind, seen)
		}
	}
}
