package redlock

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What leaves in one write is put in another order, but what is about one key stays in
// the order in which it was asked: each release behind its own SET, and before the SET
// of whoever asked for the key next.
func TestOrderPerKeyIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.IntRange(1, 600).Draw(rt, "keys")
		m := &redisMasters{names: []string{"master"}}
		p := &pipe{lane: &lane{masters: m}, prune: byHash}
		var asked []*order
		for i := range rapid.IntRange(1, 600).Draw(rt, "commands") {
			key := fmt.Sprintf("k%d", rapid.IntRange(1, keys).Draw(rt, "key"))
			token := fmt.Sprintf("t%d", i)
			cmd := setCommand(key, token, 1000, false)
			switch rapid.IntRange(0, 9).Draw(rt, "kind") {
			case 0:
				cmd = extendCommand(key, token, 1000)
			case 1:
				cmd = releaseCommand(key, token, true)
			case 6: // of another lock than this one
				cmd = Command{Kind: Release, Key: key, Token: token, Args: []any{"del", key}}
			case 2, 3, 4, 5:
				cmd = releaseCommand(key, token, false)
			}
			q := newQuestion(m.Begin(nil).(*redisConversation), cmd, nil, 1, 0)
			q.orders[0].alone = rapid.IntRange(0, 19).Draw(rt, "alone") == 0
			asked = append(asked, &q.orders[0])
			p.push(asked[i])
		}
		p.encode()
		var sent []*order
		for _, r := range p.flight {
			orders := r.orders()
			sent = append(sent, orders...)
			if len(orders) > shareMost {
				rt.Errorf("%d share a script", len(orders))
			}
			seen := map[string]bool{}
			for _, o := range orders {
				if seen[o.q.cmd.Key] {
					rt.Errorf("a script has %s twice", o.q.cmd.Key)
				}
				seen[o.q.cmd.Key] = true
			}
		}
		if n := bytes.Count(p.out, []byte("\r\n*")) + 1; n != len(p.flight) {
			rt.Errorf("%d commands, and %d replies to come", n, len(p.flight))
		}
		if len(sent) != len(asked) {
			rt.Fatalf("%d of %d were sent", len(sent), len(asked))
		}
		perKey := func(orders []*order) map[string][]string {
			by := map[string][]string{}
			for _, o := range orders {
				by[o.q.cmd.Key] = append(by[o.q.cmd.Key], string(o.q.cmd.Kind)+" "+o.q.cmd.Token)
			}
			return by
		}
		want, got := perKey(asked), perKey(sent)
		for key := range want {
			if !slices.Equal(got[key], want[key]) {
				rt.Errorf("%s: sent as %v, asked as %v", key, got[key], want[key])
			}
		}
		at := 0
		for _, o := range sent { // what was written is what the replies stand for
			i := bytes.Index(p.out[at:], []byte("\r\n"+o.q.cmd.Key+"\r\n"))
			if i < 0 {
				rt.Fatalf("%s is not where it should be", o.q.cmd.Key)
			}
			at += i
		}
	})
}

// Releases share scripts, however many SETs are between them.
func TestReleasesShareAScriptAmongSETs(t *testing.T) {
	m := &redisMasters{names: []string{"master"}}
	p := &pipe{lane: &lane{masters: m}, prune: byHash}
	for i := range 50 {
		for _, cmd := range []Command{
			releaseCommand(fmt.Sprintf("k%d", i), "old", false), setCommand(fmt.Sprintf("k%d", i), "new", 1000, false),
		} {
			q := newQuestion(m.Begin(nil).(*redisConversation), cmd, nil, 1, 0)
			p.push(&q.orders[0])
		}
	}
	p.encode()
	if len(p.flight) != 51 {
		t.Errorf("%d commands for 50 releases and 50 SETs, want 51", len(p.flight))
	}
}
