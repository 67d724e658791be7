//go:build real

package doctest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// snippets are the languages of docs/logging.md. Each snippet becomes a program that reads lines
// "EVENT TOKEN" and logs them with the snippet's function.
var snippets = []struct {
	kind  string   // of the block
	needs []string // programs
	files func(snippet string) map[string]string
	build []string
	run   []string
}{
	{"python", []string{"python3"}, func(s string) map[string]string {
		return map[string]string{"main.py": s + `
for line in sys.stdin:
    event, token = line.split()
    log_lock(event, "orders", token, time.time() + 60 if event == "acquired" else None)
    print("done", flush=True)
`}
	}, nil, []string{"python3", "main.py"}},
	{"go", []string{"go"}, func(s string) map[string]string {
		return map[string]string{"go.mod": "module example\n\ngo 1.26\n", "locklog/locklog.go": s, "main.go": `package main

import (
	"fmt"
	"os"
	"time"

	"example/locklog"
)

func main() {
	for {
		var event, token string
		if _, err := fmt.Scan(&event, &token); err != nil {
			return
		}
		var until time.Time
		if event == "acquired" {
			until = time.Now().Add(time.Minute)
		}
		locklog.Event(event, "orders", token, fmt.Sprint("worker-", os.Getpid()), until)
		fmt.Println("done")
	}
}
`}
	}, []string{"go", "build", "-o", "program", "."}, []string{"./program"}},
	{"java", []string{"java", "javac"}, func(s string) map[string]string {
		return map[string]string{"LockLog.java": s, "Main.java": `
public class Main {
    public static void main(String[] args) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            LockLog.event(words[0], "orders", words[1], words[0].equals("acquired") ? java.time.Instant.now().plusSeconds(60) : null);
            System.out.println("done");
        }
    }
}
`}
	}, []string{"javac", "Main.java", "LockLog.java"}, []string{"java", "-cp", ".", "Main"}},
	{"js", []string{"node"}, func(s string) map[string]string {
		return map[string]string{"main.js": s + `
require('node:readline').createInterface({input: process.stdin}).on('line', (line) => {
  const [event, token] = line.split(' ');
  logLock(event, 'orders', token, 'job-7', event === 'acquired' ? Date.now() + 60000 : undefined);
  console.log('done');
});
`}
	}, nil, []string{"node", "main.js"}},
	{"php", []string{"php"}, func(s string) map[string]string {
		return map[string]string{"main.php": s + `
while (($line = fgets(STDIN)) !== false) {
    [$event, $token] = explode(' ', trim($line));
    log_lock($event, 'orders', $token, $event === 'acquired' ? microtime(true) + 60 : null);
    echo "done\n";
}
`}
	}, nil, []string{"php", "main.php"}},
}

// TestLoggingSnippetsAreJudged: what the snippets of docs/logging.md write is a log that check
// judges without any --map: two processes that take turns hold the lock one after the other,
// and a violation is found when they do not.
func TestLoggingSnippetsAreJudged(t *testing.T) {
	blocks := blocksOf(t, "docs/logging.md", readLines(t, "docs/logging.md"))
	for _, s := range snippets {
		t.Run(s.kind, func(t *testing.T) {
			for _, p := range s.needs {
				if _, err := exec.LookPath(p); err != nil {
					t.Skipf("needs %s: %v", p, err)
				}
			}
			var text []string
			for _, b := range blocks {
				if b.kind == s.kind {
					text = append(text, b.text...)
				}
			}
			if len(text) == 0 {
				t.Fatalf("docs/logging.md has no block of %s", s.kind)
			}
			dir := t.TempDir()
			for name, content := range s.files(strings.Join(text, "\n") + "\n") {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if s.build != nil {
				build := exec.CommandContext(t.Context(), s.build[0], s.build[1:]...)
				build.Dir = dir
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", s.build, err, out)
				}
			}
			for _, overlap := range []bool{false, true} {
				logged := takeTurns(t, dir, s.run, overlap)
				out, err := exec.CommandContext(t.Context(), binary, append([]string{"check", "--format", "jsonl"}, logged...)...).CombinedOutput()
				code, want := 0, "HOLDS"
				if overlap {
					code, want = 1, "VIOLATED"
				}
				if e, is := err.(*exec.ExitError); err != nil && !is || is && e.ExitCode() != code || !is && code != 0 || !strings.Contains(string(out), want) {
					lines, _ := os.ReadFile(logged[0])
					t.Errorf("overlap %v: %v, want exit %d and %s\n%s\n%.600s", overlap, err, code, want, out, lines)
				}
			}
		})
	}
}

// takeTurns runs a program twice and lets both hold a lock in turn. It returns the files with
// what each of them logged.
func takeTurns(t *testing.T, dir string, run []string, overlap bool) (logged []string) {
	t.Helper()
	var say [2]func(event string, n int)
	for i := range say {
		cmd := exec.CommandContext(t.Context(), run[0], run[1:]...)
		cmd.Dir = dir
		stderr, err := os.Create(filepath.Join(dir, fmt.Sprintf("%v-%d.log", overlap, i)))
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		logged = append(logged, stderr.Name())
		cmd.Stderr = stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v", run, err)
			}
		}()
		out := bufio.NewReader(pipe)
		say[i] = func(event string, n int) {
			_, _ = io.WriteString(in, fmt.Sprintf("%s token-%d\n", event, n))
			if answer, err := out.ReadString('\n'); err != nil || answer != "done\n" {
				t.Fatalf("%v answers %q to %s: %v", run, answer, event, err)
			}
		}
	}
	// A hold must be longer than the last digit of its times, which is a millisecond for some.
	hold := func() { time.Sleep(5 * time.Millisecond) }
	for n := range 24 {
		say[n%2]("acquired", n)
		hold()
		say[n%2]("releasing", n)
		hold()
	}
	if overlap {
		say[0]("acquired", 100)
		say[1]("acquired", 101)
		hold()
		say[0]("releasing", 100)
		say[1]("releasing", 101)
	}
	return logged
}
