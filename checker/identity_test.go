package checker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// drawRoughHistory draws a random history as a careless recorder or lock may make it: some
// invocations are missing, some tokens were granted before, to the same client or another,
// some lines name another key, and some crashes name no token.
func drawRoughHistory(t *rapid.T, h *history.Header) []history.Op {
	var ops []history.Op
	tokens := rapid.IntRange(1, 3).Draw(t, "tokens")
	reuse := rapid.Bool().Draw(t, "reuse")
	for _, op := range drawHistoryOf(t, h) {
		if op.Type == history.Invoke && rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
			continue
		}
		if op.F == history.FRelease && rapid.IntRange(0, 9).Draw(t, "other key") == 0 {
			op.Key = "k9"
		}
		if op.F == history.FCrash && rapid.Bool().Draw(t, "names no token") {
			op.Value = nil
		}
		if op.Value != nil && op.Value.Token != "" && reuse {
			v := *op.Value
			v.Token = string(rune('a' + int(v.Token[len(v.Token)-1])%tokens))
			op.Value = &v
		}
		op.Index = len(ops)
		ops = append(ops, op)
	}
	return ops
}

// TestSweepAgreesWithPorcupineOnCarelessHistories checks that the sweep and porcupine, which share
// no code, identify the same leases and end them at the same times in careless histories.
func TestSweepAgreesWithPorcupineOnCarelessHistories(t *testing.T) {
	legal, illegal := 0, 0
	checkUntil(t, func() bool { return legal > 0 && illegal > 0 }, func(t *rapid.T) {
		header := drawHeader(t)
		ops := drawRoughHistory(t, &header)
		found := sweptIn(&header, ops)
		second := linearizable(history.Pack(&history.History{Header: header, Ops: ops}), time.Minute)
		if why := disagree(setOf(violatedKeys(found)), second); why != "" {
			t.Fatalf("%s\n%s", why, lines(ops))
		}
		if len(found) == 0 {
			legal++
		} else {
			illegal++
		}
	})
	if legal == 0 || illegal == 0 {
		t.Errorf("%d legal and %d illegal histories were drawn: both are needed", legal, illegal)
	}
}

// lines formats the operations as in a history file.
func lines(ops []history.Op) string {
	var b strings.Builder
	for _, op := range ops {
		line, _ := json.Marshal(op)
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func setOf(keys []string) map[string]bool {
	set := map[string]bool{}
	for _, k := range keys {
		set[k] = true
	}
	return set
}

// TestReleaseWithoutInvocationEndsTheHold checks that a log that has only the ends of calls does
// not convict a lock that was released before it was granted again.
func TestReleaseWithoutInvocationEndsTheHold(t *testing.T) {
	lease := func(index int, at time.Duration, client, token string) history.Op {
		return history.Op{Index: index, Time: at, Process: client, Type: history.OK, F: history.FAcquire, Key: "k0", Value: &history.Value{Token: token, ValidUntil: at + 100}}
	}
	ops := []history.Op{
		lease(0, 10, "c1", "a"),
		{Index: 1, Time: 20, Process: "c1", Type: history.Info, F: history.FEnter, Key: "k0", Value: &history.Value{Token: "a"}},
		{Index: 2, Time: 40, Process: "c1", Type: history.OK, F: history.FRelease, Key: "k0", Value: &history.Value{Token: "a"}},
		lease(3, 50, "c2", "b"),
	}
	for _, granted := range []time.Duration{21, 50} { // during the release, and after it
		ops[3].Time = granted
		rep := Check(&history.History{Ops: ops}, MutualExclusion)
		if r := rep.Result(MutualExclusion); r.Count != 0 || rep.Disagreement != "" {
			t.Errorf("granted at %d: %s %s %s", granted, r.Verdict, r.Why, rep.Disagreement)
		}
	}
	ops[3].Time = 15 // certainly before the release began
	if r := Check(&history.History{Ops: ops}, MutualExclusion); r.Results[0].Count != 1 {
		t.Errorf("granted before the release: %+v", r.Results[0])
	}
}
