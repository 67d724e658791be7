package twins

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/redlock"
	"lockpick/workload"
)

// TestTwinsAnswerAsTheirScripts: on a real master and on a simulated one, the same commands
// get the same votes.
func TestTwinsAnswerAsTheirScripts(t *testing.T) {
	if ok, why := cluster.ProcessAvailable(t.Context()); !ok {
		t.Skip("nothing to compare with: ", why)
	}
	real, err := cluster.Process(t.Context(), cluster.Config{Masters: 1})
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
	yes := map[string]int{} // by script
	rapid.Check(t, func(t *rapid.T) {
		cmds := rapid.SliceOfN(rapid.Custom(command), 1, 20).Draw(t, "commands")
		want := votes(there, cmds)
		var got []redlock.Vote
		world := sim.NewWorld(1)
		here := sim.New(world, cluster.Config{Masters: 1}, sim.Options{})
		if err := world.Run(func() { got = votes(here.ClientMasters("c1"), cmds) }); err != nil {
			t.Fatal(err)
		}
		for i, cmd := range cmds {
			if got[i].Reply != want[i].Reply || says(got[i]) != says(want[i]) {
				t.Fatalf("%v %v: %d (%q) here, %d (%q) there", cmd.Args, cmd.Script, got[i].Reply, says(got[i]), want[i].Reply, says(want[i]))
			}
			if cmd.Script != nil && (got[i].Yes || got[i].Err != nil) {
				yes[cmd.Script.SHA]++
			}
		}
	})
	for _, x := range all {
		if yes[x.script.SHA] == 0 {
			t.Errorf("this script never did what it is for:\n%s", x.script.Text)
		}
	}
}

// command draws a script, or what may have happened before it.
func command(t *rapid.T) redlock.Command {
	key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
	token := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "token")
	if plain := rapid.SampledFrom([][]any{nil, nil, nil, {"set", key, token}, {"del", key}, {"hset", key, token, "1"}, {"persist", key}}).Draw(t, "plain"); plain != nil {
		return redlock.Command{Kind: "plain", Args: plain}
	}
	x := all[rapid.IntRange(0, len(all)-1).Draw(t, "script")]
	keys := []string{key, key + ":queue"}
	if x.script == workload.FairLeave {
		keys = keys[1:]
	}
	return redlock.Command{Kind: "script", Script: x.script, Keys: keys, Args: arguments(t, token)}
}

// arguments are a token, a TTL, and for a queue the time and its patience.
func arguments(t *rapid.T, token string) []any {
	return []any{token, rapid.SampledFrom([]int{60_000, 3_600_000}).Draw(t, "ttl"), rapid.Int64Range(0, 3).Draw(t, "now") * 5000, 5000}
}

// votes carries commands out on the one master that there is, from nothing on.
func votes(m redlock.Masters, cmds []redlock.Command) []redlock.Vote {
	var all []redlock.Vote
	talk := m.Begin(func(redlock.Vote) {})
	for _, cmd := range append([]redlock.Command{{Args: []any{"flushall"}}}, cmds...) {
		for v := range talk.Ask(context.Background(), cmd, nil, 10*time.Second) {
			all = append(all, v)
		}
	}
	return all[1:]
}

// says is a master's error without its name.
func says(v redlock.Vote) string {
	if v.Err == nil {
		return ""
	}
	_, text, _ := strings.Cut(v.Err.Error(), ": ")
	return text
}
