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

// foundBy is what search prints as JSON, without what differs from run to run.
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
// halfway and starts it again, and reads what they found: it is what one process finds.
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
	_ = killed.Process.Kill() // at any time: its file goes on where it ends
	_ = killed.Wait()
	for index := range 3 {
		if out, err := job(index).CombinedOutput(); err != nil {
			t.Fatalf("job %d: %v\n%s", index, err, out)
		}
		if index == 1 {
			_, stderr, code := lockpick(t, dir, "search", "part-0.json", "part-1.json", "--no-shrink", "--json")
			if code != exitViolated || !strings.Contains(stderr, "1 shard is missing of 3: 3") {
				t.Errorf("with a shard missing: exit %d\n%s", code, stderr)
			}
		}
	}
	stdout, stderr, code := lockpick(t, dir, "search", "part-2.json", "part-0.json", "part-1.json", "part-2.json", "--no-shrink", "--json")
	if code != exitViolated || !strings.Contains(stderr, "count once: 3") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if got := foundBy(t, stdout); got != want {
		t.Errorf("together:\n%s\nwhole:\n%s", got, want)
	}
	// A part that is complete is not searched again, and files of parts that are joined are again one.
	out, err := job(0).CombinedOutput()
	if err != nil || !strings.Contains(string(out), ": 0 of its schedules to do") {
		t.Errorf("%v\n%s", err, out)
	}
	var joined []byte
	for index := range 3 {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("part-%d.json", index)))
		if err != nil {
			t.Fatal(err)
		}
		joined = append(joined, b...)
	}
	if err := os.WriteFile(filepath.Join(dir, "joined.json"), joined, 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := lockpick(t, dir, "search", "joined.json", "--no-shrink", "--json"); foundBy(t, stdout) != want {
		t.Error("joined files are not the whole")
	}
}

func TestMistakesWithShards(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "not-a-part.json"), []byte(`{"a": 1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "part.json"), []byte(`{"lockpick_part":2,"kind":"situations","units":["quiet"],"shards":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"explore --shard 3/2 --seed 1 --out p.json", "there is no shard 3 of 2"},
		{"explore --shard 1of2 --seed 1 --out p.json", `"1of2" is not a shard: write its index, from 1, and their number, as in 3/64`},
		{"explore --shard 1/2 --seed 1", "add --out"},
		{"explore --shard 1/2 --out p.json", "shards need the same seed"},
		{"explore --shard 1/2 --seed 1 --time-limit 1s --out p.json", "say how many all shards have together"},
		{"explore --shard 1/2 --seed 1 --out not-a-part.json", "not-a-part.json is there and cannot be resumed"},
		{"explore --shard 1/2 --seed 1 --out no/such/folder.json", "no/such/folder.json"},
		{"claims nowhere.json", "nowhere.json"},
		{"claims not-a-part.json", "it does not begin with the job"},
		{"claims part.json", `its units are "situations", not claims`},
		{"audit part.json --seed 3", "--seed cannot be combined with parts: they say what was tried"},
		{"search part.json not-a-part.json", "these parts cannot be read as one job"},
		{"merge part.json", "there is no command merge"},
	} {
		_, stderr, code := lockpick(t, dir, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %s", c.args, code, stderr)
		}
	}
}
