package checker

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// drawVotes adds to a history the votes of five masters on its acquires, extensions and
// releases: some late, some without an answer, some of the wrong token.
func drawVotes(t *rapid.T, ops []history.Op) []history.Op {
	late := rapid.Bool().Draw(t, "late")
	var all []history.Op
	for _, op := range ops {
		token := fmt.Sprintf("f%d", rapid.IntRange(0, 3).Draw(t, "failed"))
		if op.Value != nil && op.Value.Token != "" {
			token = op.Value.Token
		}
		command := map[string]string{history.FAcquire: history.CommandSet, history.FExtend: history.CommandExtend, history.FRelease: history.CommandRelease}[op.F]
		for m := 1; command != "" && op.Type != history.Invoke && m <= 5; m++ {
			v := &history.Value{Client: op.Process, Token: token, Command: command, Yes: rapid.IntRange(0, 4).Draw(t, "yes") > 0,
				Took: time.Duration(rapid.IntRange(0, 3).Draw(t, "took"))}
			if late {
				v.Delay = time.Duration(rapid.IntRange(0, 2).Draw(t, "delay"))
			}
			typ := rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "reply")
			v.Yes = v.Yes && typ == history.OK
			all = append(all, history.Op{Time: op.Time, Process: fmt.Sprintf("m%d", m), Type: typ, F: history.FVote, Key: op.Key, Value: v})
		}
		if rapid.IntRange(0, 5).Draw(t, "look") == 0 {
			keys := map[string]string{"k0": token}
			all = append(all, history.Op{Time: op.Time, Process: "m1", Type: history.Info, F: history.FSnapshot,
				Value: &history.Value{Keys: keys, Expires: map[string]time.Duration{"k0": op.Time + 3}}})
		}
		all = append(all, op)
	}
	for i := range all {
		all[i].Index = i
	}
	return all
}

// TestPackedIsJudgedTheSame checks that a history that is packed while its file is read gets the
// same report as in memory, and each property the same result alone as among all.
func TestPackedIsJudgedTheSame(t *testing.T) {
	violated := map[string]int{}
	wanted := []Property{Quorum, OwnKeys, MutualExclusion, BeliefExclusion}
	allViolated := func() bool {
		return !slices.ContainsFunc(wanted, func(p Property) bool { return violated[p.Name] == 0 })
	}
	checkUntil(t, allViolated, func(t *rapid.T) {
		ops := drawVotes(t, drawRoughHistory(t, &history.Header{}))
		header := history.Header{Driver: "sim", Masters: 5, Quorum: 3, Clients: 3, Keys: 2, TTL: 5, Fencing: rapid.Bool().Draw(t, "fencing"),
			Properties: []string{DeadOnArrival.Name, GhostKeys.Name}}
		var file bytes.Buffer
		now := time.Duration(0)
		r, err := history.NewRecorder(&file, header, func() time.Duration { return now })
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			now = op.Time
			r.Record(op)
		}
		h, err := history.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Skip(err) // a careless history may lack lines or fields that the reader requires
		}
		p, err := history.ReadPacked(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		want := Check(h)
		if got := CheckPacked(p); !reflect.DeepEqual(got, want) {
			t.Fatalf("packed:\n%+v\nin memory:\n%+v", got, want)
		}
		for _, res := range want.Results {
			violated[res.Name] += res.Count
			if alone := CheckPacked(p, propertyOf(res.Name)); !reflect.DeepEqual(*alone.Result(res.Property), res) {
				t.Fatalf("alone:\n%+v\namong all:\n%+v", *alone.Result(res.Property), res)
			}
		}
	})
	for _, p := range wanted {
		if violated[p.Name] == 0 {
			t.Errorf("no history violated %s", p.Name)
		}
	}
}

// TestParallelJudgesSayTheSame checks that properties that are judged at the same time get the same results, to the
// last event of each violation, as one after the other.
func TestParallelJudgesSayTheSame(t *testing.T) {
	violated := false
	checkUntil(t, func() bool { return violated }, func(t *rapid.T) {
		header := history.Header{Driver: "sim", Masters: 5, Quorum: 3, Clients: 3, Keys: 2, TTL: 5}
		h := &history.History{Header: header, Ops: drawVotes(t, drawRoughHistory(t, &header))}
		judge := func(atOnce int) []judged {
			r := newRun(history.Pack(h))
			r.second = second
			return r.judgeAll(Properties, atOnce)
		}
		one, many := judge(1), judge(4)
		if !reflect.DeepEqual(one, many) {
			t.Fatalf("one at a time:\n%+v\nfour at a time:\n%+v", one, many)
		}
		violated = violated || slices.ContainsFunc(one, func(x judged) bool { return x.result.Verdict == Violated })
	})
	if !violated {
		t.Error("no history violated a property")
	}
}

func propertyOf(name string) Property {
	for _, p := range Properties {
		if p.Name == name {
			return p
		}
	}
	return Property{}
}
