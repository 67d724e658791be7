package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameFindings is JSON output without what differs from run to run: times of this machine, and where
// evidence is kept.
func sameFindings(t *testing.T, stdout string) any {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	var strip func(any)
	strip = func(x any) {
		switch x := x.(type) {
		case map[string]any:
			for _, name := range []string{"folder", "started", "took", "page", "run", "command", "found_after", "after"} {
				delete(x, name)
			}
			for _, v := range x {
				strip(v)
			}
		case []any:
			for _, v := range x {
				strip(v)
			}
		}
	}
	strip(all)
	return all
}

// TestShardsOfClaimsAndAudits: together, they are what one process finds, with the evidence. While one is
// missing nothing is well.
func TestShardsOfClaimsAndAudits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		code    int
		lacking string
	}{
		{"claims --only 1,35,46 --seed 3", exitHolds, "its shard is missing"},
		{"audit --lock redlock-weak-token --only quiet,restart-forgets,paused-masters --most 1 --seed 3", exitViolated, "its shard is missing"},
	} {
		words := strings.Fields(c.command)
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			whole, stderr, code := lockpick(t, dir, append(words, "--json")...)
			if code != c.code {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			var parts []string
			for i := range 2 {
				part := fmt.Sprintf("part-%d.json", i)
				parts = append(parts, part)
				shard := append(words, "--shard", fmt.Sprintf("%d/2", i+1), "--out", part, "--store", fmt.Sprintf("store-%d", i))
				for again := range 2 {
					_, stderr, code := lockpick(t, dir, shard...)
					if code != exitHolds || again == 1 && !strings.Contains(stderr, ": 0 of its ") {
						t.Fatalf("shard %d: exit code %d\n%s", i+1, code, stderr)
					}
				}
			}
			stdout, stderr, code := lockpick(t, dir, words[0], parts[1], "--json", "--store", "some")
			if code == exitHolds || !strings.Contains(stderr, "1 shard is missing of 2: 1") || !strings.Contains(stdout, c.lacking) {
				t.Errorf("without a shard: exit code %d\n%s", code, stderr)
			}
			stdout, stderr, code = lockpick(t, dir, words[0], parts[1], parts[0], parts[1], "--json", "--store", "merged")
			if code != c.code || !strings.Contains(stderr, "count once: 2") {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			if diff := cmp.Diff(sameFindings(t, whole), sameFindings(t, stdout)); diff != "" {
				t.Error(diff)
			}
			runs, err := filepath.Glob(filepath.Join(dir, "merged", "*-"+words[0]+"-*", "*", "report.html"))
			if err != nil || len(runs) < 3 {
				t.Errorf("the evidence is %v, %v", runs, err)
			}
			var replayed struct {
				Situations []struct {
					Cells []struct{ Findings []struct{ Command string } }
				}
			}
			if err := json.Unmarshal([]byte(stdout), &replayed); err != nil {
				t.Fatal(err)
			}
			for _, s := range replayed.Situations {
				for _, cell := range s.Cells {
					for _, f := range cell.Findings {
						if at, ok := strings.CutPrefix(f.Command, "lockpick run "); ok {
							if _, err := os.Stat(filepath.Join(dir, strings.Fields(at)[0])); err != nil {
								t.Errorf("%s: %v", f.Command, err)
							}
						}
					}
				}
			}
			// Without the evidence of a shard, its findings count all the same; other work is refused.
			if err := os.RemoveAll(filepath.Join(dir, "store-0")); err != nil {
				t.Fatal(err)
			}
			if _, stderr, code = lockpick(t, dir, words[0], parts[0], parts[1], "--store", "away"); code != c.code || !strings.Contains(stderr, "are not on this machine") {
				t.Errorf("without evidence: exit code %d\n%s", code, stderr)
			}
			other := strings.ReplaceAll(c.command, "--seed 3", "--seed 4")
			if _, stderr, code = lockpick(t, dir, append(strings.Fields(other), "--shard", "1/2", "--out", parts[0])...); code != exitUsage || !strings.Contains(stderr, "another seed") {
				t.Errorf("another seed: exit code %d\n%s", code, stderr)
			}
		})
	}
}

// TestPartsOfClaimsInConflictAreRefused: neither of two results of a claim is chosen, and the error has both.
func TestPartsOfClaimsInConflictAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, stderr, code := lockpick(t, dir, strings.Fields("claims --only 1 --most 1 --shard 1/1 --out a.json")...); code != exitHolds && code != exitUndecided {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	b, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(b), `"found":"`, `"found":"not `, 1)
	if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"a.json b.json", "b.json a.json"} {
		_, stderr, code := lockpick(t, dir, append([]string{"claims"}, strings.Fields(order)...)...)
		if code != exitUsage || !strings.Contains(stderr, "shard 1 occurs twice, with different results of 1: cases[0].findings[0].found is ") || !strings.Contains(stderr, `"not `) {
			t.Errorf("%s: exit code %d\n%s", order, code, stderr)
		}
	}
}
