package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wholeExploration is what the shards of a test search together.
var wholeExploration = []string{"--seed", "7", "--schedules", "90", "--faults", "kill,partition"}

// foundBy is what merge and explore print as JSON, without what differs from run to run.
func foundBy(t *testing.T, stdout string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	delete(all, "elapsed_ms")
	for _, v := range all["violations"].([]any) {
		delete(v.(map[string]any), "counterexample") // names a folder in the store
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestShardsOfAJobArrayAreTheWhole starts the jobs that Kubernetes would start, kills one of them
// halfway and starts it again, and merges what they found: it is what one process finds.
func TestShardsOfAJobArrayAreTheWhole(t *testing.T) {
	dir := t.TempDir()
	stdout, _, code := lockpick(t, dir, append([]string{"search", "--collect", "--no-shrink", "--json"}, wholeExploration...)...)
	if code != exitViolated {
		t.Fatalf("exit %d", code)
	}
	want := foundBy(t, stdout)
	job := func(index int) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"search", "--workers", "1", "--out", fmt.Sprintf("part-%d.json", index)}, wholeExploration...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index), "LOCKPICK_SHARDS=3")
		return cmd
	}
	killed := job(1)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Process.Kill() // at any time: its file is complete or not there
	_ = killed.Wait()
	for index := range 3 {
		if out, err := job(index).CombinedOutput(); err != nil {
			t.Fatalf("job %d: %v\n%s", index, err, out)
		}
		if index == 1 {
			_, stderr, code := lockpick(t, dir, "merge", "part-0.json", "part-1.json", "--no-shrink", "--json")
			if code != exitViolated {
				t.Errorf("with a shard missing: exit %d\n%s", code, stderr)
			}
		}
	}
	stdout, stderr, code := lockpick(t, dir, "merge", "part-2.json", "part-0.json", "part-1.json", "part-2.json", "--no-shrink", "--json", "--out", "merged.json")
	if code != exitViolated || !strings.Contains(stderr, "count once: 3") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if got := foundBy(t, stdout); got != want {
		t.Errorf("merged:\n%s\nwhole:\n%s", got, want)
	}
	// A part that is complete is not searched again, and merged parts can be merged.
	out, err := job(0).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "part-0.json has 30 of its schedules") {
		t.Errorf("%v\n%s", err, out)
	}
	if stdout, _, _ := lockpick(t, dir, "merge", "merged.json", "--no-shrink", "--json"); foundBy(t, stdout) != want {
		t.Error("what merge wrote does not say what it printed")
	}
}

func TestMistakesWithShards(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "not-a-part.json"), []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"explore --shard 3/2 --seed 1 --out p.json", "there is no shard 3 of 2"},
		{"explore --shard 1of2 --seed 1 --out p.json", `"1of2" is no shard: write its index, from 1, and their number, as in 3/64`},
		{"explore --shard 1/2 --seed 1", "add --out"},
		{"explore --shard 1/2 --out p.json", "shards need the same seed"},
		{"explore --shard 1/2 --seed 1 --time-limit 1s --out p.json", "say how many all shards have together"},
		{"explore --shard 1/2 --seed 1 --out not-a-part.json", "not-a-part.json is there and cannot be resumed"},
		{"merge nowhere.json", "nowhere.json"},
		{"merge not-a-part.json", "the format is 0, and this version reads 1"},
	} {
		_, stderr, code := lockpick(t, dir, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %s", c.args, code, stderr)
		}
	}
}
