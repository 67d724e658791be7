package goscripts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/cluster/sim"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// TestGoVersionsAnswerAsTheirScripts: on a real master and on a simulated one, the same commands
// get the same votes.
func TestGoVersionsAnswerAsTheirScripts(t *testing.T) {
	if ok, why := process.Available(t.Context()); !ok {
		t.Skip("nothing to compare with: ", why)
	}
	real, err := process.Start(t.Context(), cluster.Config{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { real.Close() })
	link, err := real.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: link.Addr()})
	defer client.Close()
	there, err := redlock.NewMasters([]*redis.Client{client})
	if err != nil {
		t.Fatal(err)
	}
	did := map[string]bool{} // by script: what it is for
	same := func(cmds []protocol.Command) error {
		want := votes(there, cmds)
		var got []protocol.Vote
		world := sim.NewWorld(1)
		here := sim.New(world, cluster.Config{Masters: 1}, sim.Options{})
		if err := world.Run(func() { got = votes(here.ClientMasters("c1"), cmds) }); err != nil {
			return err
		}
		for i, cmd := range cmds {
			if got[i].Reply != want[i].Reply || says(got[i]) != says(want[i]) {
				return fmt.Errorf("%v %v: %d (%q) here, %d (%q) there", cmd.Args, cmd.Script, got[i].Reply, says(got[i]), want[i].Reply, says(want[i]))
			}
			if cmd.Script != nil && (got[i].Yes || got[i].Err != nil) {
				did[cmd.Script.SHA] = true
			}
		}
		return nil
	}
	// Each has something to do after one of these.
	plain := func(words ...any) protocol.Command { return protocol.Command{Kind: "plain", Args: words} }
	for _, x := range all {
		for _, before := range [][]protocol.Command{
			nil,
			{plain("set", "a", "t1")},
			{plain("hset", "a", "t1", "1")},
			{run(workload.FairSet, "a", "t1"), run(workload.FairSet, "a", "t2")},
		} {
			for _, token := range []string{"t1", "t2"} {
				if err := same(append(slices.Clone(before), run(x.script, "a", token))); err != nil {
					t.Error(err)
				}
			}
		}
		if !did[x.script.SHA] {
			t.Errorf("this script never did what it is for:\n%s", x.script.Text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if err := same(rapid.SliceOfN(rapid.Custom(command), 1, 20).Draw(t, "commands")); err != nil {
			t.Fatal(err)
		}
	})
}

// run is a script as it is asked for first.
func run(script *protocol.Script, key, token string) protocol.Command {
	keys := []string{key, key + ":queue", key + ":turn"}
	if script == workload.FairLeave {
		keys = keys[1:2]
	}
	return protocol.Command{Kind: "script", Script: script, Keys: keys, Args: []any{token, 60_000, token, 60_000}}
}

// command draws a script, or what may have happened before it.
func command(t *rapid.T) protocol.Command {
	key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
	token := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "token")
	if plain := rapid.SampledFrom([][]any{nil, nil, nil, {"set", key, token}, {"del", key}, {"del", key + ":turn"}, {"hset", key, token, "1"}, {"persist", key}}).Draw(t, "plain"); plain != nil {
		return protocol.Command{Kind: "plain", Args: plain}
	}
	x := all[rapid.IntRange(0, len(all)-1).Draw(t, "script")]
	cmd := run(x.script, key, token)
	cmd.Args = arguments(t, token)
	return cmd
}

// arguments are a token, a TTL, and for a queue the waiter and for how long its turn lasts.
func arguments(t *rapid.T, token string) []any {
	return []any{token, rapid.SampledFrom([]int{60_000, 3_600_000}).Draw(t, "ttl"), rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "waiter"), 60_000}
}

// votes carries commands out on the one master that there is, from nothing on.
func votes(m protocol.Masters, cmds []protocol.Command) []protocol.Vote {
	var all []protocol.Vote
	talk := m.Begin(func(protocol.Vote) {})
	for _, cmd := range append([]protocol.Command{{Args: []any{"flushall"}}}, cmds...) {
		for v := range talk.Ask(context.Background(), cmd, nil, 10*time.Second) {
			all = append(all, v)
		}
	}
	return all[1:]
}

// says is a master's error without its name.
func says(v protocol.Vote) string {
	if v.Err == nil {
		return ""
	}
	_, text, _ := strings.Cut(v.Err.Error(), ": ")
	return text
}
